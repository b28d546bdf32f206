#!/usr/bin/env python3
"""Writes src/tokenizers/regex/newer_characters_table.cpp: older characters in the place of younger ones.

PCRE2 classes characters by the Unicode version that it was built with, at least 14; patterns of
tokenizers mean version 16 (see tools/unicode/classes.py). Each character that has another category in 16
is given to PCRE2 as the nearest one that has this category in both, with as many bytes in UTF-8.

  python3.11 -m pip install unicodedata2==16.0.0   (Python 3.11 itself has Unicode 14)
  python3.11 tools/unicode/newer_characters.py [--check]
"""

import sys
import unicodedata

import unicodedata2

from table_file import main, source_file

OLD, NEW = "14.0.0", "16.0.0"
LAST = 0x10FFFF
PER_LINE = 3

NOTE = f"""Categories that Unicode {NEW} has and {OLD} has not, written by
// tools/unicode/newer_characters.py."""


def old(code_point):
    return unicodedata.category(chr(code_point))


def new(code_point):
    return unicodedata2.category(chr(code_point))


def length(code_point):
    return 2 if code_point < 0x800 else 3 if code_point < 0x10000 else 4


def runs():
    """First and last code point of each run of one category."""
    result = []
    for c in range(0x80, LAST + 1):
        if old(c) == new(c):
            continue
        last = result[-1] if result else None
        if last and last[1] == c - 1 and new(last[0]) == new(c) and length(last[0]) == length(c):
            last[1] = c
        else:
            result.append([c, c])
    return result


def stand_in(first):
    """Distances grow until one fits."""
    for distance in range(1, LAST):
        for c in (first - distance, first + distance):
            valid = 0x80 <= c <= LAST and not 0xD800 <= c <= 0xDFFF
            if valid and old(c) == new(c) == new(first) and length(c) == length(first):
                return c
    sys.exit(f"no character is like U+{first:04X}")


def source():
    texts = [f"{{0x{first:X}, 0x{last:X}, 0x{stand_in(first):X}}}," for first, last in runs()]
    rows = [" ".join(texts[i : i + PER_LINE]) for i in range(0, len(texts), PER_LINE)]
    return source_file("tokenizers/regex/newer_characters.h", "",
                       "constexpr NewerCharacterRun kRuns[] = {\n" + "\n".join(rows) + "\n};\n",
                       "std::span<const NewerCharacterRun> newer_character_runs() { return kRuns; }", before=NOTE)


if __name__ == "__main__":
    main(__doc__, "src/tokenizers/regex/newer_characters_table.cpp", source,
         f"{unicodedata.unidata_version}, {unicodedata2.unidata_version}", f"{OLD}, {NEW}")
