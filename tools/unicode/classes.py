#!/usr/bin/env python3
"""Writes src/tokenizers/unicode/unicode_class_table.cpp: the code points that are letters, numbers, white space and parts
of words.

Byte-level BPE splits text by Unicode's general categories L and N and by White_Space; added tokens
that must be single words heed what a word is. The ids of a
model depend on them, so the table belongs to one Unicode version, that of the regular expressions
in Hugging Face `tokenizers`, and not to the version of whatever library a system has installed.

  pip install unicodedata2==16.0.0
  tools/unicode/classes.py [--check]
"""

import itertools
import textwrap

import unicodedata2

from table_file import main, source_file

UNICODE = "16.0.0"
OTHER, LETTER, NUMBER, SPACE = range(4)
WORD = 4
LAST = 0x10FFFF
COLUMNS = 100
ALPHABETIC_SYMBOLS = [(0x24B6, 0x24E9), (0x1F130, 0x1F149), (0x1F150, 0x1F169), (0x1F170, 0x1F189)]

NOTE = f"""Unicode {UNICODE}, written by tools/unicode/classes.py. Each entry is a run of characters of one
// kind, in the order of code points: 8 times its length, plus 4 for word characters, plus the class
// (0 other, 1 letter, 2 number, 3 white space)."""


def class_of(code_point):
    """White_Space is the separators Z and the controls 9-13 and 0x85 (PropList.txt)."""
    category = unicodedata2.category(chr(code_point))
    if category[0] == "L":
        return LETTER
    if category[0] == "N":
        return NUMBER
    if category[0] == "Z" or 9 <= code_point <= 13 or code_point == 0x85:
        return SPACE
    return OTHER


def is_word(code_point):
    """Other_Alphabetic (PropList.txt) is marks and four rows of symbols."""
    category = unicodedata2.category(chr(code_point))
    symbols = any(first <= code_point <= last for first, last in ALPHABETIC_SYMBOLS)
    joiner = code_point in (0x200C, 0x200D)
    return category[0] in "LM" or category in ("Nd", "Nl", "Pc") or symbols or joiner


def kind_of(code_point):
    return class_of(code_point) + (WORD if is_word(code_point) else 0)


def source():
    runs = [(kind, len(list(run))) for kind, run in itertools.groupby(range(LAST + 1), kind_of)]
    entries = " ".join(f"{8 * length + kind}," for kind, length in runs[:-1])
    return source_file("tokenizers/unicode/unicode_class.h", "",
                       f"constexpr std::uint32_t kRuns[] = {{\n{textwrap.fill(entries, COLUMNS)}\n}};\n",
                       "std::span<const std::uint32_t> unicode_runs() { return kRuns; }", before=NOTE)


if __name__ == "__main__":
    main(__doc__, "src/tokenizers/unicode/unicode_class_table.cpp", source, unicodedata2.unidata_version, UNICODE)
