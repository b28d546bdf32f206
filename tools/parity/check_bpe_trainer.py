#!/usr/bin/env python3
"""Compares the results of `headlight tokenizer train` with Hugging Face `tokenizers`: every merge in its
order and every id. The corpora are a file, line by line and as a whole, and random texts whose few
letters make many ties; each is learned with several vocabulary sizes. Prints what was compared, the
cases, the differences and a verdict; the exit code is 1 when something differs.

  pip install tokenizers
  tools/parity/check_bpe_trainer.py HEADLIGHT [CORPUS ...] [--texts 40]
"""

import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

os.environ["TOKENIZERS_PARALLELISM"] = "false"

from tokenizers import Tokenizer, models, pre_tokenizers, trainers  # noqa: E402

import checker  # noqa: E402
import table  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
END = "<|endoftext|>"
ALPHABETS = ["ab", "abc", "ab ", "aé한 \n", "abcdef   \n", "aaaab'sll 12", "あいう、。 🤗👍🏽", "\t\n x=(){};"]
SIZES = [257, 258, 300, 400, 1000, 20000]


def learned(files, texts, size, least, specials):
    """Returns the model part of a tokenizer.json learned from files line by line, or from whole texts."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        min_frequency=least,
        special_tokens=specials,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    if files:
        tokenizer.train([str(path) for path in files], trainer)
    else:
        tokenizer.train_from_iterator(texts, trainer)
    return json.loads(tokenizer.to_str())["model"]


def headlight(program, files, size, least, specials, sequences):
    with tempfile.TemporaryDirectory() as folder:
        command = [program, "tokenizer", "train", "--vocab_size", size, "--min_frequency", least]
        command += ["--special_tokens", ",".join(specials), "--sequences", sequences]
        command += ["--out", folder, "--log_level", "error", "--data", *files]
        run = subprocess.run(list(map(str, command)), capture_output=True, text=True)
        if run.returncode != 0:
            sys.exit(run.stderr.strip())
        return json.loads((pathlib.Path(folder) / "tokenizer.json").read_text())["model"]


def in_one_form(model):
    """Returns the merges as text, whichever of the two forms the file has."""
    merges = [m if isinstance(m, str) else " ".join(m) for m in model["merges"]]
    return {"merges": merges, "vocab": model["vocab"]}


def describe(expected, got):
    for rank, (left, right) in enumerate(zip(expected["merges"], got["merges"], strict=False)):
        if left != right:
            return f"merge {rank}: tokenizers {left!r}, headlight {right!r}"
    lengths = len(expected["merges"]), len(got["merges"])
    return f"merges: {lengths[0]} and {lengths[1]}" if lengths[0] != lengths[1] else "the ids differ"


def row(name, cases):
    """Runs the cases, each a pair of models to be equal; prints a line; returns the differences."""
    count = wrong = merges = same_token = 0
    first = ""
    for expected, got in cases:
        expected, got = in_one_form(expected), in_one_form(got)
        count += 1
        merges += len(got["merges"])
        tokens = {merge.replace(" ", "") for merge in got["merges"]}
        same_token += len(tokens) < len(got["merges"])
        if expected != got:
            wrong += 1
            first = first or describe(expected, got)
    note = f", {same_token} with two merges for one token" if same_token else ""
    print(table.row(f"learned merges and ids: {name}", count, wrong, 0, not wrong))
    print(f"{name}: {merges} merges{note}{'; first: ' + first if first else ''}", file=sys.stderr)
    return wrong


def file_cases(program, files, sequences):
    texts = [path.read_bytes().decode("utf-8") for path in files]
    for size in SIZES:
        for least in (0, 5):
            specials = [END] if least == 0 else [END, "<|pad|>"]
            yield (
                learned(files if sequences == "line" else None, texts, size + 1, least, specials),
                headlight(program, files, size + 1, least, specials, sequences),
            )


def random_text(generator):
    letters = generator.choice(ALPHABETS)
    words = []
    for _ in range(generator.choice([3, 30, 300])):
        word = "".join(generator.choice(letters) for _ in range(generator.randint(1, 30)))
        words += [word, word + word[::-1]] if generator.random() < 0.3 else [word]
    return " ".join(words)


def random_cases(program, count, seed):
    generator = random.Random(seed)
    for _ in range(count):
        text = random_text(generator)
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            size = generator.choice(SIZES)
            sequences = generator.choice(["line", "text"])
            path = pathlib.Path(file.name)
            files = [path] if sequences == "line" else None
            yield (
                learned(files, [text], size, 0, [END]),
                headlight(program, [path], size, 0, [END], sequences),
            )


def main():
    parser = checker.parser(__doc__)
    parser.add_argument("corpus", nargs="*", type=pathlib.Path, default=[ROOT / "data/toy.txt"])
    parser.add_argument("--texts", type=int, default=40, help="random texts [40]")
    options = parser.parse_args()
    wrong = row("corpus, line by line", file_cases(options.program, options.corpus, "line"))
    wrong += row("corpus as a whole", file_cases(options.program, options.corpus, "text"))
    wrong += row("random texts", random_cases(options.program, options.texts, options.seed))
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
