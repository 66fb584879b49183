#!/usr/bin/env python3
"""Makes what tests/generate compares with (torch 2.9.1, transformers 4.57.6):

  model/            a GPT-2 of random weights for the tokenizer of tests/golden/bpe (a copy is in it)
  generated.json    tokens by transformers' generate(), greedy and with a repetition penalty, of that model and of
                    tests/golden/convert/gpt2_lm
  processors.json   logits before and after transformers' logits processors; null is minus infinity

Run in this folder: make.py
"""
import json
import os
import shutil
from pathlib import Path

os.environ |= {"HF_HUB_OFFLINE": "1", "USE_TF": "0", "CUDA_VISIBLE_DEVICES": ""}
import torch
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast
from transformers.generation import logits_process as lp

HERE = Path(__file__).resolve().parent
GOLDEN = HERE.parent
torch.set_num_threads(1)
torch.manual_seed(3)

(HERE / "model").mkdir(exist_ok=True)
shutil.copyfile(GOLDEN / "bpe/tokenizer.json", HERE / "model/tokenizer.json")
tokenizer = PreTrainedTokenizerFast(tokenizer_file=str(HERE / "model/tokenizer.json"), eos_token="<|endoftext|>")
end = tokenizer.eos_token_id
model = GPT2LMHeadModel(GPT2Config(vocab_size=len(tokenizer), n_positions=96, n_embd=16, n_layer=2, n_head=2,
                                   bos_token_id=end, eos_token_id=end)).eval()
with torch.no_grad():
    for name, p in model.named_parameters():
        if p.dim() == 2:
            p.copy_(torch.randn(p.shape) * (0.6 if "wte" in name or "wpe" in name else 0.25))
        elif "ln_" not in name:
            p.copy_(torch.randn(p.shape) * 0.1)
model.save_pretrained(HERE / "model")

cases = []


def write(name, rows):
    lines = ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    (HERE / name).write_text(f"[\n{lines}\n]\n", encoding="utf-8")


def generate(folder, ids, new, penalty=1.0, text=None):
    net = GPT2LMHeadModel.from_pretrained(folder).eval()
    out = net.generate(torch.tensor([ids]), attention_mask=torch.ones(1, len(ids), dtype=torch.long),
                       max_new_tokens=new, do_sample=False, repetition_penalty=penalty,
                       pad_token_id=net.generation_config.eos_token_id)[0, len(ids):].tolist()
    stopped = out[-1] == net.generation_config.eos_token_id
    with torch.no_grad():
        logits = net(torch.tensor([ids])).logits[0, -1]
    cases.append({"model": os.path.relpath(folder, GOLDEN), "prompt": text, "prompt_ids": ids, "max_new_tokens": new,
                  "repetition_penalty": penalty, "ids": out[:-1] if stopped else out, "stopped": stopped,
                  "text": tokenizer.decode(out[:-1] if stopped else out, clean_up_tokenization_spaces=False)
                          if text is not None else None,
                  "first_logits": [round(float(x), 6) for x in logits[:8]]})


for text in ["안녕하세요", "오늘은 날씨가", "x", ""]:
    ids = tokenizer.encode(text) or [end]
    for penalty in [1.0, 1.3]:
        generate(HERE / "model", ids, 40, penalty, text)
fixture = GOLDEN / "convert/gpt2_lm"
for ids in [[5], [7, 8, 9, 10, 11], list(range(1, 18)), list(range(100, 123))]:
    for penalty in [1.0, 1.2, 0.8]:
        generate(fixture, ids, 24 - len(ids), penalty)
# Prompts of every length around a block of 32 tokens.
ids = tokenizer.encode("오늘은 정말 좋은 날이에요. 그런데 내일은 비가 온다고 해요. 우산을 꼭 챙기세요! 안 그러면 감기에 걸려요.")
for length in [1, 2, 31, 32, 33, 34, 64, 65]:
    generate(HERE / "model", (ids * 4)[:length], 12)
write("generated.json", cases)

V = 48
plain = torch.randn(V) * 3
ties = torch.randint(-3, 4, (V,)).float()
tests = []


def rounded(logits):
    return [None if x == float("-inf") else float(f"{x:.7g}") for x in logits.tolist()]


def processed(name, logits, processor, ids=(0,), **options):
    out = processor(torch.tensor([list(ids)]), logits.clone()[None])[0]
    tests.append({"processor": name, **options, "tokens": list(ids), "before": rounded(logits), "after": rounded(out)})


for logits in [plain, ties, torch.zeros(V)]:
    for penalty in [1.5, 0.7]:
        processed("repetition_penalty", logits, lp.RepetitionPenaltyLogitsProcessor(penalty), [3, 1, 4, 1, 5, 9, 2, 6, 5],
                  value=penalty)
    for temperature in [0.3, 1.7]:
        processed("temperature", logits, lp.TemperatureLogitsWarper(temperature), value=temperature)
    for k in [1, 5, 20, V, V + 5]:
        processed("top_k", logits, lp.TopKLogitsWarper(k), value=k)
    for p in [0.0, 0.05, 0.5, 0.9, 0.999]:
        processed("top_p", logits, lp.TopPLogitsWarper(p), value=p)
    chain = lp.LogitsProcessorList([lp.RepetitionPenaltyLogitsProcessor(1.2), lp.TemperatureLogitsWarper(0.8),
                                    lp.TopKLogitsWarper(17), lp.TopPLogitsWarper(0.85)])
    processed("all", logits, chain, [7, 7, 40, 2], repetition_penalty=1.2, temperature=0.8, top_k=17, top_p=0.85)
write("processors.json", tests)
