#!/usr/bin/env python3
"""Writes src/formats/jinja/case_table.cpp: the letter cases of Python's texts, which chat templates use, where they
do not follow from the lower case of newer Unicode in src/tokenizers/unicode/bert_characters_table.cpp.

Usage: tools/unicode/case.py [--check]      (Python 3.11)
"""

import re

from table_file import ALL, ROOT, array, main, runs, source_file


def newer_lower() -> dict[str, str]:
    """The lower case of each letter that has another one, in ascending order."""
    text = (ROOT / "src/tokenizers/unicode/bert_characters_table.cpp").read_text()
    numbers = [int(n, 16) for n in re.findall(r"0x\w+", text.partition("kLower[] = {")[2].partition("}")[0])]
    lower = {}
    for first, count, step, distance in zip(*(numbers[i::4] for i in range(4))):
        for letter in range(first, first + count * step, step):
            lower[chr(letter)] = chr((letter + distance) % 2**32)
    return lower


def texts(change, rule) -> list[int]:
    """Each character that `change` makes another text of than `rule`, the length of the text, and its characters."""
    result = []
    for letter in ALL:
        if change(letter) != rule(letter):
            result += [ord(letter), len(change(letter)), *map(ord, change(letter))]
    return result


def source() -> str:
    newer = newer_lower()
    raised = {}
    for letter, lower in newer.items():
        if letter.lower() == lower:
            raised.setdefault(lower, letter)
    assert all(c.lower() == newer.get(c, c) or c == "\u0130" or (c in newer and c.lower() == c) for c in ALL)

    def has_own_title(c):
        return c.title() == c and c.upper() != c

    tables = {
        "kNewer": runs(lambda c: c in newer and c.lower() == c),
        "kUpper": texts(str.upper, lambda c: raised.get(c, c)),
        "kTitle": texts(str.title, lambda c: c if has_own_title(c) else raised.get(c) or c.upper()),
        "kOwnTitle": runs(has_own_title),
        "kOnlyLower": runs(lambda c: c.islower() and c.upper() == c),
        "kOnlyUpper": runs(lambda c: c.isupper() and c.lower() == c),
    }
    accessor = ("const CaseTable& case_table() {\n  static constexpr CaseTable kTable{" + ", ".join(tables)
                + "};\n  return kTable;\n}")
    return source_file("formats/jinja/text_case.h", "Written by tools/unicode/case.py.",
                       "".join(array(*table) + "\n" for table in tables.items()), accessor, "headlight::jinja")


if __name__ == "__main__":
    main(__doc__, "src/formats/jinja/case_table.cpp", source)
