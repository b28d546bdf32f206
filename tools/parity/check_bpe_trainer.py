"""Compares the results of `headlight tokenizer train` with Hugging Face `tokenizers`: every merge in its
order and every id. The corpora are a file, line by line and as a whole, and random texts whose few
letters make many ties; each is learned with several vocabulary sizes.
"""

import json
import os
import pathlib
import random

os.environ["TOKENIZERS_PARALLELISM"] = "false"

from checker import Headlight, Table, note
from texts import CORPUS, END
from tokenizer_kinds import byte_bpe

ALPHABETS = ["ab", "abc", "ab ", "aé한 \n", "abcdef   \n", "aaaab'sll 12", "あいう、。 🤗👍🏽", "\t\n x=(){};"]
SIZES = [257, 258, 300, 400, 1000, 20000]


def in_one_form(path_or_text) -> dict:
    """Returns the ids, and the merges as text, whichever of the two forms the file has."""
    model = json.loads(path_or_text)["model"]
    return {"merges": [m if isinstance(m, str) else " ".join(m) for m in model["merges"]], "vocab": model["vocab"]}


def describe(expected, got):
    for rank, (left, right) in enumerate(zip(expected["merges"], got["merges"], strict=False)):
        if left != right:
            return f"merge {rank}: tokenizers {left!r}, headlight {right!r}"
    lengths = len(expected["merges"]), len(got["merges"])
    return f"merges: {lengths[0]} and {lengths[1]}" if lengths[0] != lengths[1] else "the ids differ"


def compare(table: Table, what: str, program: Headlight, files: list, sequences: str, size: int, least=0,
            specials=(END,)) -> None:
    """Learns from files line by line, or as whole texts."""
    texts = [path.read_bytes().decode("utf-8") for path in files]
    expected = in_one_form(byte_bpe(texts, size, specials, files if sequences == "line" else None,
                                    min_frequency=least).to_str())
    program.run("tokenizer", "train", "--vocab_size", size, "--min_frequency", least, "--special_names",
                ",".join(specials), "--sequences", sequences, "--out", program.folder / "learned", "--force", "--data",
                *files)
    got = in_one_form((program.folder / "learned/tokenizer.json").read_text())
    table.good(f"learned merges and ids: {what}", expected == got, describe(expected, got) if expected != got else "")
    merged = len({merge.replace(" ", "") for merge in got["merges"]})
    if merged < len(got["merges"]):
        note(f"{what}: {len(got['merges']) - merged} tokens with two merges")


def random_text(generator):
    letters = generator.choice(ALPHABETS)
    words = []
    for _ in range(generator.choice([3, 30, 300])):
        word = "".join(generator.choice(letters) for _ in range(generator.randint(1, 30)))
        words += [word, word + word[::-1]] if generator.random() < 0.3 else [word]
    return " ".join(words)


def check(table: Table, program: Headlight, options) -> None:
    for what, sequences in (("corpus, line by line", "line"), ("corpus as a whole", "text")):
        for size in SIZES:
            compare(table, what, program, options.corpus, sequences, size + 1)
            compare(table, what, program, options.corpus, sequences, size + 1, 5, (END, "<|pad|>"))
    generator = random.Random(options.seed)
    for _ in range(options.texts):
        path = program.folder / "random.txt"
        path.write_bytes(random_text(generator).encode())
        size = generator.choice(SIZES)
        compare(table, "random texts", program, [path], generator.choice(["line", "text"]), size)


OPTIONS = {"corpus": dict(nargs="*", type=pathlib.Path, default=[CORPUS]),
           "--texts": dict(type=int, default=40, help="random texts [40]")}
