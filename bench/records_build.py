#!/usr/bin/env python3
"""`records build` against google-research/electra's builder: alternating runs, ratio of medians.

  bench/records_build.py --repo CHECKOUT --vocab FILE --input TEXT [--mb 2] [--ours-mb 40] [--rounds 5]
                         [--threads 1] [--python PYTHON]

CHECKOUT is a copy of google-research/electra; PYTHON has tensorflow. The original gets the first --mb
megabytes of the text; ours is given --ours-mb (the text over and over), as the same piece would be
done before the clock has ticked. Rates are megabytes of text per second of wall and of processor
time, start-up included on both sides. One JSON line.
"""
import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--repo", required=True)
    parser.add_argument("--vocab", required=True)
    parser.add_argument("--input", required=True)
    parser.add_argument("--mb", type=float, default=2)
    parser.add_argument("--ours-mb", type=float, default=40)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--max-seq-length", type=int, default=128)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--program", default=ROOT / "build/release/headwater")
    return parser.parse_args()


def rates(command, megabytes, env):
    """Megabytes per second of wall and of processor time."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.monotonic()
    done = subprocess.run([str(c) for c in command], env=env, capture_output=True, text=True)
    wall = time.monotonic() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        sys.exit(done.stderr)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return megabytes / wall, megabytes / cpu


def write_corpus(folder, lines, megabytes):
    folder.mkdir()
    left = int(megabytes * 1e6)
    with open(folder / "text.txt", "wb") as out:
        while left > 0:
            for line in lines:
                out.write(line)
                left -= len(line)
                if left <= 0:
                    break
    return (folder / "text.txt").stat().st_size / 1e6


def main():
    a = arguments()
    lines = Path(a.input).read_bytes().splitlines(keepends=True)
    env = dict(os.environ, PYTHONPATH=str(a.repo), TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="")
    theirs, ours = [], []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        mb = write_corpus(folder / "theirs", lines, a.mb)
        ours_mb = write_corpus(folder / "ours", lines, a.ours_mb)
        options = ["--vocab-file", a.vocab, "--max-seq-length", a.max_seq_length, "--no-lower-case",
                   "--no-strip-accents", "--num-processes", a.threads]
        original = [a.python, Path(a.repo) / "build_pretraining_dataset.py", "--corpus-dir",
                    folder / "theirs", "--output-dir", folder / "out-theirs"] + options
        program = [a.program, "records", "build", "--corpus-dir", folder / "ours", "--output-dir",
                   folder / "out-ours", "--overwrite"] + options
        for _ in range(a.rounds):
            theirs.append(rates(original, mb, env))
            ours.append(rates(program, ours_mb, env))

    def median(runs, i):
        return round(statistics.median(run[i] for run in runs), 3)

    print(json.dumps({
        "bench": "records_build", "threads": a.threads, "rounds": a.rounds,
        "theirs_mb_per_s": median(theirs, 0), "ours_mb_per_s": median(ours, 0),
        "theirs_mb_per_cpu_s": median(theirs, 1), "ours_mb_per_cpu_s": median(ours, 1),
        "ratio_wall": round(median(ours, 0) / median(theirs, 0), 1),
        "ratio_cpu": round(median(ours, 1) / median(theirs, 1), 1),
        "load_average": os.getloadavg()[0]}))


if __name__ == "__main__":
    main()
