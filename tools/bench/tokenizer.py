#!/usr/bin/env python3
"""Times byte-level BPE encoding by `headlight tokenizer encode` and Hugging Face `tokenizers`.

  pip install tokenizers numpy
  tools/bench/tokenizer.py TOKENIZER CORPUS [--megabytes 8] [--rounds 5]

TOKENIZER is a folder with a tokenizer.json of at most 65,536 tokens. Every measurement is a process
of its own; in each round both take turns, with one thread and with all. Headlight's time is that of
the whole process, from reading the corpus to writing the ids, less that of a process which encodes
one letter; that of `tokenizers` is the library's call alone. The ids must be the same.
"""

import argparse
import hashlib
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from process import run_json

HERE = Path(__file__).resolve().parent
PROGRAM = HERE.parent.parent / "build/release/headlight"


def headlight(program: Path, tokenizer: Path, file: Path, threads: int) -> dict:
    with tempfile.TemporaryDirectory() as folder:
        ids = Path(folder) / "ids.bin"
        command = [program, "tokenizer", "encode", tokenizer, "--file", file, "--out", ids]
        command += ["--special_tokens=off", "--threads", threads]
        start = time.perf_counter()
        subprocess.run(list(map(str, command)), check=True, stdout=subprocess.DEVNULL)
        seconds = time.perf_counter() - start
        return {"seconds": seconds, "sha256": hashlib.sha256(ids.read_bytes()).hexdigest()}


def tokenizers(tokenizer: Path, file: Path, threads: int) -> dict:
    script = str(HERE / "tokenizers_encode.py")
    parallel = "true" if threads > 1 else "false"
    environment = [f"RAYON_NUM_THREADS={threads}", f"TOKENIZERS_PARALLELISM={parallel}"]
    command = ["env", *environment, sys.executable, script, str(tokenizer), str(file)]
    return run_json(command, threads)


def beginning(corpus: Path, megabytes: float) -> bytes:
    """Returns the beginning of the corpus, cut where a character ends."""
    with corpus.open("rb") as file:
        return file.read(int(megabytes * 1e6)).decode("utf-8", errors="ignore").encode()


def measure(options: argparse.Namespace, folder: Path, threads: int) -> tuple[list, list]:
    text, letter = folder / "text", folder / "letter"
    text.write_bytes(beginning(options.corpus, options.megabytes))
    letter.write_bytes(b"a")
    megabytes = text.stat().st_size / 1e6
    ours, theirs = [], []
    for _ in range(options.rounds):
        start_up = headlight(options.program, options.tokenizer, letter, threads)["seconds"]
        one = headlight(options.program, options.tokenizer, text, threads)
        other = tokenizers(options.tokenizer, text, threads)
        if one["sha256"] != other["sha256"]:
            sys.exit("the ids differ")
        ours.append(megabytes / max(one["seconds"] - start_up, 1e-9))
        theirs.append(megabytes / other["seconds"])
    return ours, theirs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tokenizer", type=Path)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--megabytes", type=float, default=8)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--program", type=Path, default=PROGRAM)
    options = parser.parse_args()
    print("| threads | Headlight, MB/s | tokenizers, MB/s | times as fast (range) |")
    print("| ---: | ---: | ---: | ---: |")
    with tempfile.TemporaryDirectory() as folder:
        for threads in sorted({1, os.cpu_count() or 1}):
            ours, theirs = measure(options, Path(folder), threads)
            ratios = [a / b for a, b in zip(ours, theirs)]
            print(
                f"| {threads} | {statistics.median(ours):.1f} | {statistics.median(theirs):.2f} "
                f"| {statistics.median(ratios):.1f} ({min(ratios):.1f} - {max(ratios):.1f}) |"
            )


if __name__ == "__main__":
    main()
