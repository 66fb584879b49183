"""A fine-tuned model in the hands of transformers: finetune_check.py RUN TEST_FILE KIND. Probabilities (or values) of the
test file computed from RUN/model must be those of RUN/predictions.jsonl within 1e-5."""
import json, sys, warnings
import torch
from transformers import (AutoModelForSequenceClassification, AutoModelForTokenClassification, AutoTokenizer)

warnings.filterwarnings("ignore")
run, path, kind = sys.argv[1:4]
torch.set_num_threads(1)
lines = [json.loads(l) for l in open(f"{run}/predictions.jsonl", encoding="utf-8")]
tokenizer = AutoTokenizer.from_pretrained(f"{run}/model")
auto = AutoModelForTokenClassification if kind == "tokens" else AutoModelForSequenceClassification
model, info = auto.from_pretrained(f"{run}/model", output_loading_info=True)
assert not info["missing_keys"] and not info["unexpected_keys"], info
model.eval()
worst = 0.0
if kind == "tokens":
    texts = [[l.split("\t")[0] for l in s.split("\n") if l] for s in open(path, encoding="utf-8").read().split("\n\n") if s.strip()]
else:
    texts = [l.split("\t")[0] for l in open(path, encoding="utf-8").read().split("\n")[1:] if l]
assert len(texts) == len(lines), (len(texts), len(lines))
for text, line in zip(texts, lines):
    batch = tokenizer(text, return_tensors="pt", is_split_into_words=kind == "tokens", truncation=True,
                      max_length=model.config.headwater_task["max_seq_length"])
    with torch.no_grad(): logits = model(**batch).logits[0]
    if kind == "regression":
        found, expected = logits, [line["predicted"]]
    elif kind == "multi":
        found, expected = logits.sigmoid(), line["probabilities"]
    elif kind == "single":
        found, expected = logits.softmax(-1), line["probabilities"]
    else:
        words = batch.word_ids()
        first = [i for i, w in enumerate(words) if w is not None and (i == 0 or words[i - 1] != w)]
        found, expected = logits.softmax(-1).max(-1).values[first], line["probabilities"]
    worst = max(worst, (found - torch.tensor(expected)).abs().max().item())
print("largest difference", worst)
assert worst < 1e-5, worst
