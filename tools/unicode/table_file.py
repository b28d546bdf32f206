"""What the makers of Unicode tables share: runs of characters, numbers as C++ arrays, and writing or checking a file."""

import argparse
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ALL = [chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000]


def runs(has: Callable[[str], bool]) -> list[int]:
    """First and count of each run of the characters that `has`."""
    result = []
    for c in map(ord, filter(has, ALL)):
        if result and result[-2] + result[-1] == c:
            result[-1] += 1
        else:
            result += [c, 1]
    return result


def mapped_runs(change: Callable[[str], str]) -> list[int]:
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


def array(name: str, numbers: Iterable[int]) -> str:
    """A C++ array in lines of at most 100 characters."""
    lines, line = [], ""
    for number in numbers:
        word = f"{number:#X}, ".replace("0X", "0x")
        if len(line) + len(word) > 100:
            lines.append(line.rstrip())
            line = ""
        line += word
    return f"constexpr std::uint32_t {name}[] = {{\n" + "\n".join([*lines, line.rstrip().rstrip(",")]) + "};\n"


def source_file(header: str, note: str, tables: str, accessor: str, namespace: str = "headlight", before: str = "") -> str:
    """The text of a source file: a note, arrays, and the function that gives them. `before`: the note at the first array."""
    note, before = (f"// {text}\n" if text else "" for text in (note, before))
    return (f'#include "{header}"\n\n{note}namespace {namespace} {{\nnamespace {{\n\n{before}// clang-format off\n'
            f"{tables}// clang-format on\n\n}}  // namespace\n\n{accessor}\n\n}}  // namespace {namespace}\n")


def main(doc: str, target: str, source: Callable[[], str], found: str = "", expected: str = "") -> None:
    """Writes the file of the source tree; with --check only compares. `found` and `expected`: versions of Unicode."""
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    is_check, path = parser.parse_args().check, ROOT / target
    if found != expected:
        sys.exit(f"expected Unicode {expected}, found {found}")
    if not is_check:
        path.write_text(source())
    elif path.read_text() != source():
        sys.exit(f"{path} is out of date")
