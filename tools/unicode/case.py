#!/usr/bin/env python3
"""Writes src/formats/jinja/case_table.cpp: the letter cases of Python's texts, which chat templates
use.

Usage: tools/unicode/case.py > src/formats/jinja/case_table.cpp
"""

ALL = [chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000]


def mapped_runs(change) -> list[int]:
    """First, count, step, and the distance to the one character that `change` gives."""
    result = []
    for letter in ALL:
        c, other = ord(letter), change(letter)
        if other == letter or len(other) != 1:
            continue
        distance = (ord(other) - c) % 2**32
        last = result[-4:]
        if last and last[3] == distance and last[1] == 1 and c - last[0] in (1, 2):
            result[-3:] = [2, c - last[0], distance]
        elif last and last[3] == distance and last[1] > 1 and last[0] + last[2] * last[1] == c:
            result[-3] += 1
        else:
            result += [c, 1, 1, distance]
    return result


def runs(has) -> list[int]:
    """First and count of each run of characters."""
    result = []
    for c in (ord(letter) for letter in ALL if has(letter)):
        if result and result[-2] + result[-1] == c:
            result[-1] += 1
        else:
            result += [c, 1]
    return result


def texts(change, has) -> list[int]:
    """Each character that `has`, the count of characters that it becomes, and these."""
    result = []
    for letter in filter(has, ALL):
        result += [ord(letter), len(change(letter))] + [ord(one) for one in change(letter)]
    return result


def table(name: str, numbers: list[int]) -> str:
    lines, line = [], ""
    for number in numbers:
        word = f"{number:#X}, ".replace("0X", "0x")
        if len(line) + len(word) > 100:
            lines.append(line.rstrip())
            line = ""
        line += word
    lines.append(line.rstrip().rstrip(","))
    return f"constexpr std::uint32_t {name}[] = {{\n" + "\n".join(lines) + "};\n"


tables = {
    "kUpper": mapped_runs(str.upper),
    "kLower": mapped_runs(str.lower),
    "kLongUpper": texts(str.upper, lambda c: len(c.upper()) > 1),
    "kTitle": texts(str.title, lambda c: c.title() != c.upper()),
    "kOnlyLower": runs(lambda c: c.islower() and c.upper() == c),
    "kOnlyUpper": runs(lambda c: c.isupper() and c.lower() == c),
}
print('#include "formats/jinja/text_case.h"\n\n// Written by tools/unicode/case.py.\n'
      "namespace headlight::jinja {\nnamespace {\n\n// clang-format off")
print("\n".join(table(name, numbers) for name, numbers in tables.items()))
print("// clang-format on\n\n}  // namespace\n\nconst CaseTable& case_table() {\n"
      "  static constexpr CaseTable kTable{" + ", ".join(tables) + "};\n  return kTable;\n}\n\n"
      "}  // namespace headlight::jinja")
