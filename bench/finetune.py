#!/usr/bin/env python3
"""Fine-tuning throughput on KOTE-length texts against PyTorch: alternating runs, ratio of medians of real tokens per second.

  bench/finetune.py [--rounds 3] [--threads 2] [--size base|small] [--batch 32] [--order grouped|random] [--steps 12] [--python PYTHON]

Needs build/release/headwater, the shared folder ($HW_SHARED, or ../shared beside the repository) with KOTE and KoELECTRA's
vocabulary, and a Python with torch, transformers and tokenizers for the other side (bench/torch_finetune.py there: the same
model and batch, float32, dynamic padding, batches grouped by length or random). Ours has its default: grouped batches. The
first steps are not counted on either side; what evaluation and loading take is in neither.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SHARED = Path(os.environ.get("HW_SHARED", ROOT.parent / "shared"))
VOCABULARY = SHARED / "fixtures/tokenizers/vocabs/koelectra-v3/vocab.txt"
DATA = SHARED / "data/kote/val.tsv"
SIZES = {"base": (768, 768, 12, 3072), "small": (128, 256, 4, 1024)}


def run(command):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    return done.stdout


def ours(args, folder, round_number):
    embedding, hidden, heads, inner = SIZES[args.size]
    config = dict(architectures=["ElectraForPreTraining"], model_type="electra", vocab_size=35000, embedding_size=embedding,
                  hidden_size=hidden, num_hidden_layers=12, num_attention_heads=heads, intermediate_size=inner,
                  max_position_embeddings=512)
    model = Path(folder) / "config.json"
    model.write_text(json.dumps(config))
    output = Path(folder) / f"run{round_number}"
    run([args.program, "finetune", "--task", "kote", "--model", model, "--tokenizer", VOCABULARY, "--train", DATA,
         "--output-dir", output, "--batch-size", args.batch, "--max-steps", args.steps + 2, "--log-steps", 1,
         "--learning-rate", "2e-5", "--threads", args.threads, "--seed", round_number])
    lines = [json.loads(line) for line in (output / "metrics.jsonl").read_text().splitlines()]
    steps = [line for line in lines if line["split"] == "train"][2:]
    # Steps differ in their number of tokens: the whole's rate is tokens over seconds, not the mean of rates.
    tokens = [line["tokens_per_second"] for line in steps]
    return statistics.harmonic_mean(tokens)


def theirs(args):
    printed = run([args.python, SHARED / "bench/torch_finetune.py", "--input", DATA, "--vocab", VOCABULARY, "--size", args.size,
                   "--batch", args.batch, "--order", args.order, "--threads", args.threads, "--batches", args.steps])
    return json.loads(printed.splitlines()[-1])["real_tokens_per_s"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--size", choices=SIZES, default="base")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--order", choices=["grouped", "random"], default="grouped", help="of the other side's batches")
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--program", default=ROOT / "build/release/headwater")
    args = parser.parse_args()
    mine, other = [], []
    with tempfile.TemporaryDirectory() as folder:
        for i in range(args.rounds):
            mine.append(ours(args, folder, i + 1))
            other.append(theirs(args))
            print(f"round {i + 1}: {mine[-1]:.0f} against {other[-1]:.0f} real tokens/s", flush=True)
    print(json.dumps(dict(case=f"finetune-{args.size}", order=args.order, threads=args.threads, batch=args.batch,
                          ours=round(statistics.median(mine), 1), torch=round(statistics.median(other), 1),
                          ratio=round(statistics.median(mine) / statistics.median(other), 3), load=os.getloadavg()[0])))


if __name__ == "__main__":
    main()
