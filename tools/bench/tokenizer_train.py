#!/usr/bin/env python3
"""Times learning a byte-level BPE vocabulary in Headlight and Hugging Face `tokenizers`: the two in
turn, each run a process of its own, medians of the time from the first byte read to the last merge
learned. With one thread each and with all threads each.

  pip install tokenizers
  tools/bench/tokenizer_train.py CORPUS [--vocab_size 4096] [--rounds 5]
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
from statistics import median

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SCRIPT = """
import json, sys, time
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
tokenizer = Tokenizer(models.BPE())
tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
trainer = trainers.BpeTrainer(vocab_size=int(sys.argv[2]), special_tokens=["<|endoftext|>"],
    initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False)
begin = time.perf_counter()
tokenizer.train([sys.argv[1]], trainer)
print(json.dumps({"seconds": time.perf_counter() - begin, "vocab_size": tokenizer.get_vocab_size()}))
"""


def report(command, threads):
    environment = os.environ | {
        "OMP_NUM_THREADS": str(threads),
        "RAYON_NUM_THREADS": str(threads),
        "TOKENIZERS_PARALLELISM": "true" if threads > 1 else "false",
    }
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def contenders(options, folder, threads):
    size = str(options.vocab_size)
    headlight = [str(options.program), "tokenizer", "train", "--data", str(options.corpus), "--json"]
    headlight += ["--vocab_size", size, "--out", folder, "--force", "--threads", str(threads)]
    return {
        "Headlight": headlight,
        "tokenizers": [sys.executable, "-c", SCRIPT, str(options.corpus), size],
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.split(":")[0])
    parser.add_argument("corpus", type=pathlib.Path)
    parser.add_argument("--vocab_size", type=int, default=4096)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--program", default=ROOT / "build/release/headlight")
    options = parser.parse_args()
    megabytes = options.corpus.stat().st_size / 1e6
    print(f"{options.corpus.name}: {megabytes:.1f} MB, {options.vocab_size} tokens, {options.rounds} rounds")
    with tempfile.TemporaryDirectory() as folder:
        for threads in sorted({1, len(os.sched_getaffinity(0))}):
            commands = contenders(options, folder, threads)
            seconds = {name: [] for name in commands}
            sizes = set()
            for _ in range(options.rounds):
                for name, command in commands.items():
                    result = report(command, threads)
                    seconds[name].append(result["seconds"])
                    sizes.add(result["vocab_size"])
            if len(sizes) != 1:
                sys.exit(f"vocabularies of different sizes: {sorted(sizes)}")
            ratios = [t / h for h, t in zip(seconds["Headlight"], seconds["tokenizers"], strict=True)]
            times = ", ".join(
                f"{name} {median(values):.3f} s [{min(values):.3f} ... {max(values):.3f}]"
                for name, values in seconds.items()
            )
            print(f"{threads} threads: {times}: {median(ratios):.1f} times as fast")


if __name__ == "__main__":
    main()
