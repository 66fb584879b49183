"""Loads an exported ELECTRA pair with transformers and compares it with recorded outputs.

Usage: export_check.py EXPORT STEP0 TEXTS
  EXPORT  the directory that holds discriminator/ and generator/
  STEP0   safetensors file with inputs and outputs of the same weights (tests/golden/tf1_electra_small)
  TEXTS   JSON: {"texts": [...], "ids": [[...]]}, what our tokenizer made of them
Fails on any warning while loading, on a missing or unexpected weight, on outputs that differ by more
than 1e-5 and on other token ids.
"""
import json
import logging
import os
import sys
import warnings

os.environ.update(HF_HUB_OFFLINE="1", USE_TF="0", USE_FLAX="0")  # neither network nor TensorFlow
import tokenizers
import torch
import transformers
from safetensors.torch import load_file

export, step0_path, texts_path = sys.argv[1:4]
heard = []


class Listener(logging.Handler):
    def emit(self, record):
        heard.append(record.getMessage())


transformers.logging.set_verbosity_warning()
logging.getLogger("transformers").addHandler(Listener(level=logging.WARNING))
warnings.showwarning = lambda message, *args, **kwargs: heard.append(str(message))


def load(cls, name):
    model, info = cls.from_pretrained(os.path.join(export, name), output_loading_info=True)
    for kind, keys in info.items():
        assert not keys, f"{name}: {kind} {keys}"
    return model.eval()


def differ(name, ours, recorded):
    worst = (ours - recorded).abs().max().item()
    assert worst <= 1e-5, f"{name} differs by {worst}"
    return worst


step0 = {key[len("step0/"):]: value for key, value in load_file(step0_path).items()
         if key.startswith("step0/")}
mask = step0["in/input_mask"].long()
inputs = {"attention_mask": mask, "token_type_ids": step0["in/segment_ids"].long()}

discriminator = load(transformers.ElectraForPreTraining, "discriminator")
generator = load(transformers.ElectraForMaskedLM, "generator")
with torch.no_grad():
    probabilities = discriminator(input_ids=step0["fake_input_ids"].long(), **inputs).logits.sigmoid()
    logits = generator(input_ids=step0["masked_input_ids"].long(), **inputs).logits
real = mask.bool()
worst_discriminator = differ("discriminator", probabilities[real], step0["disc_probs"][real])
slots = step0["masked_lm_positions"].long().unsqueeze(-1).expand(-1, -1, logits.shape[-1])
worst_generator = differ("generator", logits.gather(1, slots), step0["mlm_logits"])

with open(texts_path, encoding="utf-8") as file:
    sample = json.load(file)
for name in ("discriminator", "generator"):
    directory = os.path.join(export, name)
    automatic = transformers.AutoTokenizer.from_pretrained(directory)
    assert automatic.is_fast
    plain = tokenizers.Tokenizer.from_file(os.path.join(directory, "tokenizer.json"))
    got = [plain.encode(text, add_special_tokens=False).ids for text in sample["texts"]]
    assert got == sample["ids"], f"{name}: tokenizer.json gives {got}"
    for tokenizer in (automatic, transformers.BertTokenizer.from_pretrained(directory)):
        got = [tokenizer(text, add_special_tokens=False)["input_ids"] for text in sample["texts"]]
        assert got == sample["ids"], f"{name}: {type(tokenizer).__name__} gives {got}"
    pair = automatic("a", "b")
    assert pair["token_type_ids"] == [0, 0, 0, 1, 1], pair
    assert automatic.model_max_length == discriminator.config.max_position_embeddings
assert not heard, heard
print(f"transformers {transformers.__version__}: discriminator within {worst_discriminator:.1e}, "
      f"generator within {worst_generator:.1e}, {len(sample['texts'])} texts")
