#!/usr/bin/env python3
"""A byte-level BPE tokenizer that Hugging Face's tokenizers trained on examples/korean-colloquial.txt, and what it
makes of some texts:  tests/golden/bpe/make.py  (tokenizers 0.22.2)
"""
import json
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

HERE = Path(__file__).resolve().parent
CORPUS = HERE.parent.parent.parent / "examples/korean-colloquial.txt"

tokenizer = Tokenizer(models.BPE())
tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
tokenizer.decoder = decoders.ByteLevel()
tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
tokenizer.train([str(CORPUS)], trainers.BpeTrainer(
    vocab_size=900, min_frequency=2, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
tokenizer.add_special_tokens(["<|endoftext|>"])
tokenizer.save(str(HERE / "tokenizer.json"), pretty=False)

texts = CORPUS.read_text(encoding="utf-8").splitlines()[:12]
texts += ["", " ", "I've  got\n\n2 things!", "a<|endoftext|>b <|endoftext|>", "다\u1112\u1161\u11ab글 😀"]
rows = []
for text in texts:
    plain = tokenizer.encode(text)
    rows.append({"text": text, "ids": plain.ids, "tokens": plain.tokens})
tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
for row in rows:
    row["prefix_ids"] = tokenizer.encode(row["text"]).ids
with open(HERE / "rows.jsonl", "w", encoding="utf-8") as out:
    for row in rows:
        out.write(json.dumps(row, ensure_ascii=False) + "\n")
