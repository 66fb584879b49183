#!/usr/bin/env python3
"""Tiny models with the heads of token classification and question answering (random weights, dropout off), with what
transformers gives: make_heads.py, from this folder. Files are as make_models.py writes them, without optimizer steps. Rows
of questions are not padded: transformers lets padding take part in that loss, and we do not."""
import json, pathlib
import torch
from safetensors.torch import save_file
from transformers import (BertConfig, BertForQuestionAnswering, BertForTokenClassification, ElectraConfig,
                          ElectraForQuestionAnswering, ElectraForTokenClassification)

sizes = dict(vocab_size=40, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=24,
             max_position_embeddings=12, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, attn_implementation="eager")
tags = {0: "O", 1: "B-PER", 2: "I-PER"}
for name, kind, config in [
        ("electra_tokens", ElectraForTokenClassification, ElectraConfig(embedding_size=8, id2label=tags, **sizes)),
        ("bert_tokens", BertForTokenClassification, BertConfig(id2label=tags, **sizes)),
        ("electra_questions", ElectraForQuestionAnswering, ElectraConfig(embedding_size=8, **sizes)),
        ("bert_questions", BertForQuestionAnswering, BertConfig(**sizes))]:
    torch.manual_seed(len(name))
    model = kind(config).eval()
    for key, p in model.named_parameters():
        spread = 0.3 * torch.randn_like(p)
        p.data = 1 + spread if key.endswith("LayerNorm.weight") else spread
    tokens = name.endswith("tokens")
    ids = torch.randint(5, 40, (2, 10)); mask = torch.ones_like(ids)
    types = torch.zeros_like(ids); types[:, 5:] = 1
    inputs = dict(input_ids=ids, attention_mask=mask, token_type_ids=types)
    if tokens:
        ids[1, 7:] = 0; mask[1, 7:] = 0
        labels = torch.randint(0, 3, (2, 10)); labels[:, 0] = -100; labels[:, 3] = -100; labels[1, 7:] = -100
        out = model(**inputs, labels=labels); logits = out.logits
    else:
        labels = torch.tensor([[3, 5], [0, 9]])
        out = model(**inputs, start_positions=labels[:, 0], end_positions=labels[:, 1])
        logits = torch.stack([out.start_logits, out.end_logits], -1)
    out.loss.backward()
    tensors = {f"model/{k}": p.detach().clone() for k, p in model.named_parameters()}
    tensors |= {f"grad/{k}": p.grad for k, p in model.named_parameters()}
    tensors |= {f"input/{k}": v for k, v in inputs.items()} | {"input/labels": labels}
    tensors |= {"output/logits": logits.detach(), "output/loss": out.loss.detach().reshape(1)}
    pathlib.Path(name).mkdir(exist_ok=True)
    save_file({k: v.contiguous() for k, v in tensors.items()}, f"{name}/reference.safetensors")
    text = config.to_dict() | {"architectures": [kind.__name__]}
    pathlib.Path(f"{name}/config.json").write_text(json.dumps(text, indent=1) + "\n")
