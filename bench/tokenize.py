#!/usr/bin/env python3
"""Tokenisation against Hugging Face tokenizers: alternating runs, ratio of medians.

  bench/tokenize.py [--model wordpiece|bpe] [--mb 20] [--rounds 5] [--threads 1] [--vocab FILE] [--input FILE] [--python PYTHON]

Needs build/bench/bench/tokenize_bench (cmake --workflow is not needed: cmake --preset bench, then
ninja -C build/bench tokenize_bench), the shared folder ($HW_SHARED, or ../shared beside the
repository) with vocabularies and the WordPiece peer's script, and a Python that has `tokenizers`. Without --input the
text is the first --mb megabytes of the film reviews in the shared folder. --vocab is a vocab.txt; for bpe a folder with
GPT-2's two files.
"""
import argparse
import json
import lzma
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SHARED = Path(os.environ.get("HW_SHARED", ROOT.parent / "shared"))


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--mb", type=float, default=20)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--lower", action="store_true")
    parser.add_argument("--model", choices=["wordpiece", "bpe"], default="wordpiece")
    parser.add_argument("--vocab")
    parser.add_argument("--input")
    parser.add_argument("--python", default=sys.executable, help="a Python with tokenizers")
    parser.add_argument("--program", default=ROOT / "build/bench/bench/tokenize_bench")
    return parser.parse_args()


def reviews(megabytes, folder):
    """Texts of the reviews, without their ratings."""
    path = Path(folder) / "reviews.txt"
    left = int(megabytes * 1e6)
    with lzma.open(SHARED / "data/nsmc/reviews.tsv.xz", "rt", encoding="utf-8") as source, \
            open(path, "w", encoding="utf-8") as out:
        for line in source:
            text = line.split("\t", 1)[1]
            left -= len(text.encode())
            if left < 0:
                break
            out.write(text)
    return path


def run(command, cwd=None):
    done = subprocess.run([str(c) for c in command], cwd=cwd, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


def main():
    a = arguments()
    with tempfile.TemporaryDirectory() as folder:
        text = Path(a.input).resolve() if a.input else reviews(a.mb, folder)
        lower = ["--lower"] if a.lower else []
        vocabs = SHARED / "fixtures/tokenizers/vocabs"
        default = vocabs / ("gpt2" if a.model == "bpe" else "koelectra-v1/vocab.txt")
        common = ["--vocab", Path(a.vocab or default).resolve(), "--input", text, "--threads", a.threads, *lower]
        script = ROOT / "bench/tokenize_bpe_peer.py" if a.model == "bpe" else "tokenize_peer.py"
        peer = [a.python, script, "--reps", 1, *common]
        sides = {
            "headwater": lambda: run([a.program, "--reps", 5, "--hf", *common]),
            "headwater, offsets": lambda: run([a.program, "--reps", 1, "--hf", "--offsets", *common]),
            "tokenizers encode_batch_fast": lambda: run(peer + ["--lib", "hfids"], SHARED / "bench"),
            "tokenizers encode_batch": lambda: run(peer + ["--lib", "hf"], SHARED / "bench"),
        }
        results = {name: [] for name in sides}
        for _ in range(a.rounds):
            for name, side in sides.items():
                results[name].append(side())
                print(json.dumps({"side": name, **results[name][-1]}, ensure_ascii=False), flush=True)
    ours = statistics.median(r["mb_per_cpu_s"] for r in results["headwater"])
    print(f"\n{'':32}{'MB/s':>9}{'MB per CPU s':>14}{'headwater is':>14}   load {os.getloadavg()[0]:.1f}")
    for name, rows in results.items():
        wall = statistics.median(r["mb_per_s"] for r in rows)
        cpu = statistics.median(r["mb_per_cpu_s"] for r in rows)
        print(f"{name:32}{wall:9.2f}{cpu:14.2f}{ours / cpu:13.1f}x")


if __name__ == "__main__":
    main()
