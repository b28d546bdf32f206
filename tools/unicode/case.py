#!/usr/bin/env python3
"""Writes src/formats/jinja/case_table.cpp: the letter cases of Python's texts, which chat templates use.

Usage: tools/unicode/case.py [--check]      (Python 3.11)
"""

from table_file import ALL, array, main, mapped_runs, runs, source_file


def texts(change, has) -> list[int]:
    """Each character that `has`, the count of characters that it becomes, and these."""
    result = []
    for letter in filter(has, ALL):
        result += [ord(letter), len(change(letter)), *map(ord, change(letter))]
    return result


def source() -> str:
    tables = {
        "kUpper": mapped_runs(str.upper),
        "kLower": mapped_runs(str.lower),
        "kLongUpper": texts(str.upper, lambda c: len(c.upper()) > 1),
        "kTitle": texts(str.title, lambda c: c.title() != c.upper()),
        "kOnlyLower": runs(lambda c: c.islower() and c.upper() == c),
        "kOnlyUpper": runs(lambda c: c.isupper() and c.lower() == c),
    }
    accessor = ("const CaseTable& case_table() {\n  static constexpr CaseTable kTable{" + ", ".join(tables)
                + "};\n  return kTable;\n}")
    return source_file("formats/jinja/text_case.h", "Written by tools/unicode/case.py.",
                       "".join(array(*table) + "\n" for table in tables.items()), accessor, "headlight::jinja")


if __name__ == "__main__":
    main(__doc__, "src/formats/jinja/case_table.cpp", source)
