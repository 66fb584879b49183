#!/usr/bin/env python3
"""Full name lists of BERT-base (pre-training) and GPT-2 small: make_full_names.py FOLDER_OF_MODELS, from this folder.
Hugging Face names and shapes come from transformers' own classes; TensorFlow names are those of the small fixtures
(tf1_bert_pretraining, tf1_gpt2: read back by transformers 4.57.6's TensorFlow loaders), continued to all layers.
Rows: [TensorFlow name, shape, Hugging Face name, shape]."""
import json, pathlib, re, sys
import torch
from transformers import BertConfig, BertForPreTraining, GPT2Config, GPT2LMHeadModel

source = pathlib.Path(sys.argv[1])
for output, folder, cls, config in [
    ("bert_base.json", "tf1_bert_pretraining", BertForPreTraining, BertConfig()),
    ("gpt2_small.json", "tf1_gpt2", GPT2LMHeadModel, GPT2Config())]:
    fixture = json.loads((source / folder / "meta.json").read_text())["map"]
    with torch.device("meta"):
        model = cls(config)
    shapes = {name: list(p.shape) for name, p in model.named_parameters()}
    tf_of = {}
    for tf, hf in fixture.items():
        for i in range(12):
            tf_of[re.sub(r"\.0\.", f".{i}.", hf)] = re.sub(r"(layer_|/h)0/", rf"\g<1>{i}/", tf)
    rows = []
    for hf, shape in shapes.items():
        tf = tf_of[hf]
        tf_shape = shape[::-1] if tf.endswith("/kernel") else [1] + shape if tf.endswith("/w") else shape
        rows.append([tf, tf_shape, hf, shape])
    pathlib.Path(output).write_text("[\n" + ",\n".join(json.dumps(r) for r in rows) + "\n]\n")
    print(output, len(rows), sum(torch.Size(r[3]).numel() for r in rows))
