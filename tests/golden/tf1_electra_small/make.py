"""Makes the golden files of this folder from recorded runs of google-research/electra.

Usage: make.py FIXTURES   (the folder that holds tf1_electra_small and tf1_electra_small_expected)

weights.safetensors            the variables after three steps under TensorFlow's names, without slots
hf_*/model.safetensors         what transformers 4.57.6 made of them
step0.safetensors              initial variables, and inputs and outputs of the first step
"""
import os
import shutil
import sys

from safetensors.numpy import load_file, save_file

fixtures, here = sys.argv[1], os.path.dirname(os.path.abspath(__file__))
expected = os.path.join(fixtures, "tf1_electra_small_expected")

after = load_file(os.path.join(expected, "after3.safetensors"))
slots = ("/adam_m", "/adam_v")
save_file({n: v for n, v in after.items() if not n.endswith(slots) and n != "global_step"},
          os.path.join(here, "weights.safetensors"))

for network in ("hf_discriminator", "hf_generator"):
    os.makedirs(os.path.join(here, network), exist_ok=True)
    for name in ("model.safetensors", "config.json"):
        shutil.copyfile(os.path.join(expected, network, name), os.path.join(here, network, name))

trace = load_file(os.path.join(fixtures, "tf1_electra_small", "trace.safetensors"))
keep = ("in/input_mask", "in/segment_ids", "masked_input_ids", "masked_lm_positions", "mlm_logits",
        "fake_input_ids", "disc_probs")
save_file({n: v for n, v in trace.items()
           if n.startswith("init/") or n in ["step0/" + k for k in keep]},
          os.path.join(here, "step0.safetensors"))
