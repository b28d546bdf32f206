#!/usr/bin/env python3
"""Checks that a corpus larger than memory stays on the disk. Trains a small model for a few updates on token files of
two sizes, with every batching method, and prints the largest anonymous memory (RssAnon of /proc/PID/status) and the
seconds of each. The ids are a sparse file of zeros with an index of documents of 100 to 899 tokens beside it, so 20 GB
of ids take 0.4 GB of disk.

usage: corpus_memory.py FOLDER [--gigabytes 0.02 20] [--batching packed,padded,bucketed] [--updates 5]
HEADLIGHT: the program (default build/release/headlight). Needs plain Python.
"""

import argparse
import os
import re
import shutil
import struct
import subprocess
import sys
import time
from array import array
from pathlib import Path

HEADLIGHT = os.environ.get("HEADLIGHT", "build/release/headlight")
CYCLE = [100 + i * 37 % 800 for i in range(800)]


def write_corpus(prefix, size):
    """Writes PREFIX.bin of about `size` bytes of 16-bit zeros, and PREFIX.idx as Megatron-LM writes it."""
    cycles = max(1, size // 2 // sum(CYCLE))
    count = cycles * len(CYCLE)
    with open(f"{prefix}.bin", "wb") as ids:
        ids.truncate(2 * cycles * sum(CYCLE))
    with open(f"{prefix}.idx", "wb") as index:
        index.write(b"MMIDIDX\0\0" + struct.pack("<QBQQ", 1, 8, count, count + 1))
        for _ in range(cycles):
            array("i", CYCLE).tofile(index)
        begin = 0
        for _ in range(cycles):
            begins = array("q")
            for length in CYCLE:
                begins.append(begin)
                begin += 2 * length
            begins.tofile(index)
        for first in range(0, count + 1, 1 << 20):
            array("q", range(first, min(first + (1 << 20), count + 1))).tofile(index)
    return count


def train(corpus, batching, options):
    """Trains; returns the largest RssAnon in MB and the seconds."""
    command = [HEADLIGHT, "train", "--data", f"{corpus}.bin", "--out_dir", str(options.folder / "run"),
               "--tokenizer", "byte", "--batching", batching, "--n_layer", "1", "--n_head", "1", "--n_embd", "16",
               "--block_size", "64", "--batch_size", "2", "--max_iters", str(options.updates), "--eval_iters", "1",
               "--log_interval", "1"]
    shutil.rmtree(options.folder / "run", ignore_errors=True)
    begin, largest = time.perf_counter(), 0
    with open(options.folder / "log.txt", "w") as log:
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
        while process.poll() is None:
            try:
                status = Path(f"/proc/{process.pid}/status").read_text()
            except OSError:
                break
            found = re.search(r"RssAnon:\s+(\d+)", status)
            largest = max(largest, int(found.group(1)) if found else 0)
            time.sleep(0.02)
    if process.wait() != 0:
        sys.exit((options.folder / "log.txt").read_text().strip().splitlines()[-1])
    return largest / 1000, time.perf_counter() - begin


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--gigabytes", type=float, nargs="+", default=[0.02, 20])
    parser.add_argument("--batching", default="packed,padded,bucketed")
    parser.add_argument("--updates", type=int, default=5)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    print("| GB of ids | documents | batching | RssAnon MB | s |\n| ---: | ---: | --- | ---: | ---: |")
    for size in options.gigabytes:
        corpus = options.folder / f"corpus_{size:g}"
        count = write_corpus(corpus, int(size * 1e9))
        for batching in options.batching.split(","):
            memory, seconds = train(corpus, batching, options)
            print(f"| {size:g} | {count:,} | {batching} | {memory:.1f} | {seconds:.1f} |", flush=True)
        for suffix in ("bin", "idx"):
            os.remove(f"{corpus}.{suffix}")


if __name__ == "__main__":
    main()
