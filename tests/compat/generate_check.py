"""Compares what `headwater generate --format jsonl` wrote with transformers' greedy generation, token for token.

Usage: generate_check.py MODEL_DIRECTORY FILE.jsonl REPETITION_PENALTY MAX_NEW_TOKENS
"""
import json
import os
import sys

os.environ.update(HF_HUB_OFFLINE="1", USE_TF="0", USE_FLAX="0", CUDA_VISIBLE_DEVICES="")
import torch
import transformers

folder, lines, penalty, new = sys.argv[1], sys.argv[2], float(sys.argv[3]), int(sys.argv[4])
model = transformers.AutoModelForCausalLM.from_pretrained(folder).eval()
tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
end = tokenizer.convert_tokens_to_ids("<|endoftext|>")
compared = 0
for line in open(lines, encoding="utf-8"):
    ours = json.loads(line)
    prompt = tokenizer(ours["prompt"], return_tensors="pt")
    size = prompt.input_ids.shape[1]
    room = min(new, model.config.n_positions - size)
    theirs = model.generate(prompt.input_ids, attention_mask=prompt.attention_mask, do_sample=False, max_new_tokens=room,
                            repetition_penalty=penalty, eos_token_id=end, pad_token_id=end)[0, size:].tolist()
    if ours["finish_reason"] == "stop":
        assert theirs.pop() == end, f"{ours['prompt']}: transformers does not stop"
    assert ours["ids"] == theirs, f"{ours['prompt']}: {ours['ids']} and {theirs}"
    assert ours["text"] == tokenizer.decode(theirs, clean_up_tokenization_spaces=False), ours["prompt"]
    compared += len(theirs)
print(f"transformers {transformers.__version__}: {compared} tokens are the same")
