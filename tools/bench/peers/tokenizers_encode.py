#!/usr/bin/env python3
"""Encodes a file with Hugging Face `tokenizers` and prints the seconds and tokens as JSON.

Times the fastest call of the library, encode_batch_fast on parts of the text, without reading the
files and importing the library. The parts begin between pieces, so the ids are those of the whole
text; RAYON_NUM_THREADS sets how many are encoded at once.
"""

import argparse
import hashlib
import json
import re
import time
from pathlib import Path

import numpy
from tokenizers import Tokenizer

PART = 1 << 16  # characters


def parts_of(text: str) -> list[str]:
    """Splits the text before line breaks that follow a non-blank, where a piece always begins."""
    breaks = [match.start() + 1 for match in re.finditer(r"[!-~]\n", text)]
    parts, begin = [], 0
    for end in breaks:
        if end - begin >= PART:
            parts.append(text[begin:end])
            begin = end
    return parts + [text[begin:]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tokenizer", type=Path, help="folder with a tokenizer.json")
    parser.add_argument("file", type=Path)
    options = parser.parse_args()
    tokenizer = Tokenizer.from_file(str(options.tokenizer / "tokenizer.json"))
    text = options.file.read_bytes().decode("utf-8")
    parts = parts_of(text)
    start = time.perf_counter()
    encodings = tokenizer.encode_batch_fast(parts, add_special_tokens=False)
    seconds = time.perf_counter() - start
    ids = numpy.concatenate([numpy.array(encoding.ids, dtype="<u2") for encoding in encodings])
    digest = hashlib.sha256(ids.tobytes()).hexdigest()
    print(json.dumps({"seconds": seconds, "tokens": len(ids), "sha256": digest}))


if __name__ == "__main__":
    main()
