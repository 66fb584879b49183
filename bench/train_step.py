#!/usr/bin/env python3
"""A training step against PyTorch eager: alternating runs, ratio of medians.

  bench/train_step.py [--case electra-small-gather|electra-base-gather|gpt2] [--rounds 5] [--threads 2] [--steps 7] [--python PYTHON]

Needs build/bench/bench/train_step_bench (cmake --preset bench, then ninja -C build/bench
train_step_bench), the shared folder ($HW_SHARED, or ../shared beside the repository) with the
peers' scripts, and a Python that has torch and transformers. electra-small: 32 sequences of 128
tokens, vocabulary 35,000, float32, dropout on, generator logits at the masked positions only. gpt2:
124M parameters, 2 sequences of 256 tokens.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SHARED = Path(os.environ.get("HW_SHARED", ROOT.parent / "shared"))


def run(command, cwd=None):
    done = subprocess.run([str(c) for c in command], cwd=cwd, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    return json.loads(next(line for line in reversed(done.stdout.splitlines()) if line.startswith("{")))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--case", default="electra-small-gather")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--steps", type=int, default=7)
    parser.add_argument("--python", default=sys.executable, help="a Python with torch and transformers")
    parser.add_argument("--program", default=ROOT / "build/bench/bench/train_step_bench")
    a = parser.parse_args()
    common = ["--case", a.case, "--threads", a.threads, "--steps", a.steps]
    sides = {
        "headwater": lambda: run([a.program, *common]),
        "PyTorch eager": lambda: run([a.python, "torch_steps.py", *common],
                                     SHARED / "bench"),
    }
    results = {name: [] for name in sides}
    for _ in range(a.rounds):
        for name, side in sides.items():
            results[name].append(side())
            print(json.dumps({"side": name, **results[name][-1]}), flush=True)

    def median(name, key):
        return statistics.median(row[key] for row in results[name])

    print(f"\n{'':16}{'tokens/s':>10}{'peak MB':>10}   load {os.getloadavg()[0]:.1f}")
    for name in sides:
        print(f"{name:16}{median(name, 'tokens_per_s'):10.0f}{median(name, 'peak_mb'):10.0f}")
    ours, peer = sides
    print(f"{'ratio':16}{median(ours, 'tokens_per_s') / median(peer, 'tokens_per_s'):10.2f}"
          f"{median(ours, 'peak_mb') / median(peer, 'peak_mb'):10.2f}")


if __name__ == "__main__":
    main()
