#!/usr/bin/env python3
"""Throughput of Hugging Face's byte-level BPE, one JSON line: the counterpart of tokenize_bench. Lines are read once;
only tokenisation is timed, after one run to warm up (which fills its cache of words).

  bench/tokenize_bpe_peer.py --lib hf|hfids --vocab FOLDER --input FILE [--threads N] [--reps N]
"""
import argparse
import json
import os
import resource
import statistics
import time
from pathlib import Path

BATCH = 4096


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lib", choices=["hf", "hfids"], required=True, help="with offsets, or ids only")
    parser.add_argument("--vocab", type=Path, required=True)
    parser.add_argument("--input", required=True)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--reps", type=int, default=5)
    return parser.parse_args()


def cpu_seconds():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def main():
    a = arguments()
    os.environ["RAYON_NUM_THREADS"] = str(a.threads)
    os.environ["TOKENIZERS_PARALLELISM"] = "true" if a.threads > 1 else "false"
    import tokenizers

    names = [("vocab.json", "merges.txt"), ("encoder.json", "vocab.bpe")]
    files = next(n for n in names if (a.vocab / n[0]).exists())
    tokenizer = tokenizers.ByteLevelBPETokenizer(*(str(a.vocab / name) for name in files))
    encode = tokenizer.encode_batch if a.lib == "hf" else tokenizer._tokenizer.encode_batch_fast
    content = Path(a.input).read_text(encoding="utf-8")
    lines = [line for line in content.split("\n") if line]
    batches = [lines[i:i + BATCH] for i in range(0, len(lines), BATCH)]

    def run():
        return sum(len(e.ids) for batch in batches for e in encode(batch))

    tokens = run()
    walls, cpus = [], []
    for _ in range(a.reps):
        cpu, start = cpu_seconds(), time.perf_counter()
        run()
        walls.append(time.perf_counter() - start)
        cpus.append(cpu_seconds() - cpu)
    megabytes = len(content.encode()) / 1e6
    print(json.dumps({
        "bench": "tokenize", "lib": a.lib, "version": tokenizers.__version__, "threads": a.threads,
        "mb": round(megabytes, 3), "lines": len(lines), "tokens": tokens,
        "mb_per_s": round(megabytes / statistics.median(walls), 3),
        "mb_per_cpu_s": round(megabytes / statistics.median(cpus), 3)}))


if __name__ == "__main__":
    main()
