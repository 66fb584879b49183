#!/usr/bin/env python3
"""Greedy generation with a GPT-2 of 124 million random weights against transformers: alternating runs, ratio of medians.

  bench/generate.py [--rounds 3] [--threads 2] [--tokens 64] [--prompt-tokens 64] [--python PYTHON]

Needs build/release/headwater, the shared folder ($HW_SHARED, or ../shared beside the repository) with GPT-2's
vocabulary, and a Python that has torch and transformers. Both keep keys and values, in float32. Loading is not
counted; the prompt is told apart.
"""
import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SHARED = Path(os.environ.get("HW_SHARED", ROOT.parent / "shared"))
VOCABULARY = SHARED / "fixtures/tokenizers/vocabs/gpt2"

PEER = """
import json, sys, time, torch
from transformers import GPT2Config, GPT2LMHeadModel
folder, threads, tokens, prompt_tokens, make = sys.argv[1], *map(int, sys.argv[2:6])
torch.set_num_threads(threads)
if make:
    torch.manual_seed(1)
    GPT2LMHeadModel(GPT2Config()).save_pretrained(folder)
    sys.exit()
model = GPT2LMHeadModel.from_pretrained(folder).eval()
prompt = torch.full((1, prompt_tokens), 262)
def run(n):
    start = time.perf_counter()
    model.generate(prompt, attention_mask=torch.ones_like(prompt), do_sample=False, max_new_tokens=n, min_new_tokens=n,
                   pad_token_id=50256)
    return time.perf_counter() - start
run(2)
first = run(1)
print(json.dumps({"prompt_tokens_per_s": prompt_tokens / first, "tokens_per_s": (tokens - 1) / (run(tokens) - first)}))
"""


def run(command):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    return done


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--prompt-tokens", type=int, default=64)
    parser.add_argument("--python", default=sys.executable, help="a Python with torch and transformers")
    parser.add_argument("--program", default=ROOT / "build/release/headwater")
    a = parser.parse_args()

    with tempfile.TemporaryDirectory() as folder:
        peer = [a.python, "-c", PEER, folder, a.threads, a.tokens, a.prompt_tokens]
        run([*peer, 1])

        def ours():
            text = run([a.program, "generate", "--model", folder, "--tokenizer", VOCABULARY, "--threads", a.threads,
                        "--max-new-tokens", a.tokens, "--no-stop", "--prompt", " the" * a.prompt_tokens]).stderr
            found = re.search(r"(\d+) prompt tokens in ([\d.]+) s, (\d+) new tokens in ([\d.]+) s", text)
            prompt, prompt_s, new, new_s = map(float, found.groups())
            return {"prompt_tokens_per_s": prompt / prompt_s, "tokens_per_s": new / new_s}

        sides = {"headwater": ours, "transformers": lambda: json.loads(run([*peer, 0]).stdout.splitlines()[-1])}
        results = {name: [] for name in sides}
        for _ in range(a.rounds):
            for name, side in sides.items():
                results[name].append(side())
                print(json.dumps({"side": name, **results[name][-1]}), flush=True)

    def median(name, key):
        return statistics.median(row[key] for row in results[name])

    keys = ["prompt_tokens_per_s", "tokens_per_s"]
    print(f"\n{'':16}{'prompt/s':>10}{'new/s':>10}   load {os.getloadavg()[0]:.1f}")
    for name in sides:
        print(f"{name:16}" + "".join(f"{median(name, key):10.1f}" for key in keys))
    print(f"{'ratio':16}" + "".join(f"{median('headwater', key) / median('transformers', key):10.2f}" for key in keys))


main()
