"""Loads what `convert` wrote with the programs that it is for.

Usage: convert_check.py FOLDER
  FOLDER/tf/*             directories with a TensorFlow checkpoint: TensorFlow finds and reads every variable
  FOLDER/hf/NAME          directories of Hugging Face (a pair: discriminator/ and generator/ below)
  FOLDER/reference/NAME   where it exists, the same model as transformers itself wrote it
transformers loads each with the class that its config.json names. Fails on any warning, on a missing or
unexpected weight, and where outputs differ from the reference's by anything.
"""
import json
import logging
import os
import sys
import warnings
from pathlib import Path

os.environ.update(HF_HUB_OFFLINE="1", USE_TF="0", USE_FLAX="0", TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="")
import tensorflow as tf
import torch
import transformers

heard = []


class Listener(logging.Handler):
    def emit(self, record):
        heard.append(record.getMessage())


transformers.logging.set_verbosity_warning()
logging.getLogger("transformers").addHandler(Listener(level=logging.WARNING))
warnings.showwarning = lambda message, *args, **kwargs: heard.append(str(message))


def load(directory):
    architecture = json.loads((directory / "config.json").read_text())["architectures"][0]
    model, info = getattr(transformers, architecture).from_pretrained(directory, output_loading_info=True)
    for kind, keys in info.items():
        assert not keys, f"{directory}: {kind} {keys}"
    assert not heard, f"{directory}: {heard}"
    return model.eval()


def logits(model):
    ids = torch.arange(24).reshape(2, 12) % model.config.vocab_size
    with torch.no_grad():
        outputs = model(input_ids=ids, attention_mask=torch.ones_like(ids))
    return [value for value in outputs.to_tuple() if torch.is_tensor(value)]


folder = Path(sys.argv[1])
loaded = compared = variables = 0
for config in sorted((folder / "hf").glob("**/config.json")):
    model = load(config.parent)
    loaded += 1
    reference = folder / "reference" / config.parent.relative_to(folder / "hf")
    if not reference.is_dir():
        continue
    expected = load(reference)
    for ours, theirs in zip(logits(model), logits(expected), strict=True):
        assert torch.equal(ours, theirs), f"{config.parent}: outputs differ"
    compared += 1
for directory in sorted((folder / "tf").iterdir()):
    latest = tf.train.latest_checkpoint(str(directory))
    assert latest, f"{directory}: no latest checkpoint"
    reader = tf.train.load_checkpoint(latest)
    for name, shape in reader.get_variable_to_shape_map().items():
        assert list(reader.get_tensor(name).shape) == shape, name
        variables += 1
print(f"transformers {transformers.__version__} loaded {loaded} directories, {compared} with equal outputs; "
      f"TensorFlow {tf.__version__} read {variables} variables")
