#!/usr/bin/env python3
"""Trims reference models with recorded values (random weights, made with transformers 5.24.0 and torch 2.9.1, dropout
off) to what the tests compare: make_models.py FOLDER_OF_MODELS, from this folder. Each model gives <name>/config.json
and <name>/reference.safetensors with parameters ("model/<name>"), inputs, outputs and gradients of the loss, and
<name>/adamw3.safetensors with the parameters after three AdamW steps on the same batch and the losses before each of
them and after the last (lr 1e-3, betas 0.9 and 0.999, eps 1e-8, decay 0.01 but for biases and layer norms).
tf1_names.json has the TensorFlow names, shapes and their Hugging Face names of one BERT and one GPT-2 model."""
import json, pathlib, shutil, sys
from safetensors.numpy import load_file, save_file

source = pathlib.Path(sys.argv[1])
for name in ["bert_mlm", "bert_pretraining", "gpt2_lm", "electra_small_disc", "electra_base_disc",
             "electra_small_gen", "electra_base_gen", "electra_seqcls_multilabel"]:
    pathlib.Path(name).mkdir(exist_ok=True)
    shutil.copyfile(source / name / "config.json", f"{name}/config.json")
    tensors = {f"model/{k}": v for k, v in load_file(source / name / "model.safetensors").items()}
    tensors |= {k: v for k, v in load_file(source / name / "reference.safetensors").items()
                if k.startswith(("input/", "output/", "grad/")) and not k.endswith("f64")}
    save_file(tensors, f"{name}/reference.safetensors")
    save_file({k: v for k, v in load_file(source / name / "reference.safetensors").items() if k.startswith("adamw")},
              f"{name}/adamw3.safetensors")

names = {}
for model, source_model in [("tf1_bert_pretraining", "bert_pretraining"), ("tf1_gpt2", "gpt2_lm")]:
    names[model] = json.loads((source / model / "meta.json").read_text())["map"]
pathlib.Path("tf1_names.json").write_text(json.dumps(names, indent=1) + "\n")
