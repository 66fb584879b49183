#!/usr/bin/env python3
"""A TensorFlow checkpoint of KoELECTRA-Base's size to Hugging Face directories, against transformers.

  bench/convert.py --input PREFIX [--rounds 5] [--python PYTHON]

PREFIX is a checkpoint as tf_ckpt_to_pytorch.py of the peers' scripts makes it (it does so when the
prefix does not exist); PYTHON has tensorflow, torch and transformers 4. Processor seconds of the
whole conversion of ours (without the forward check), and of transformers' loading alone.
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
SHARED = Path(os.environ.get("HW_SHARED", ROOT.parent / "shared"))


def children():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime, usage.ru_stime


def ours(program, prefix):
    with tempfile.TemporaryDirectory() as folder:
        before, start = children(), time.perf_counter()
        done = subprocess.run([program, "convert", "--from", prefix, "--to", "hf", "--output-dir", folder + "/hf",
                               "--no-check"], capture_output=True, text=True)
        wall = time.perf_counter() - start
        if done.returncode:
            sys.exit(done.stderr)
        after = children()
    return {"user_s": after[0] - before[0], "system_s": after[1] - before[1], "wall_s": wall}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--input", required=True)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--program", default=ROOT / "build/release/headwater")
    a = parser.parse_args()
    peer = subprocess.run([a.python, "tf_ckpt_to_pytorch.py", "--input", a.input, "--reps", str(a.rounds)],
                          cwd=SHARED / "bench", capture_output=True, text=True)
    print(([line for line in peer.stdout.splitlines() if line.startswith("{")] or [peer.stderr[-300:]])[-1])
    rows = [ours(str(a.program), a.input) for _ in range(a.rounds)]
    print(json.dumps({key: round(statistics.median(row[key] for row in rows), 3) for key in rows[0]}
                     | {"cpu_s": round(statistics.median(r["user_s"] + r["system_s"] for r in rows), 3),
                        "load": round(os.getloadavg()[0], 1)}))


if __name__ == "__main__":
    main()
