#!/usr/bin/env python3
"""Writes src/tokenizers/unicode/nfc_table.cpp: what Unicode's normalisation form C needs.

Ids depend on it, so the table belongs to the Unicode version that the normalizer NFC of Hugging Face
`tokenizers` has, 9.0, and not to that of a library on some system. Normalisation is stable: later
versions only add characters, which are left out here.

  pip install unicodedata2==16.0.0
  tools/unicode/nfc.py [--check]
"""

import itertools
import textwrap

import unicodedata2

from table_file import main, source_file

UNICODE = "16.0.0"
# Characters with a combining class or a decomposition that are newer than Unicode 9.0.
LATER = [
    (0x7FD, 0x7FD), (0x897, 0x89F), (0x8CA, 0x8D3), (0x9FE, 0x9FE), (0xC3C, 0xC3C), (0xD3B, 0xD3C), (0xEBA, 0xEBA),
    (0x1715, 0x1715), (0x1ABF, 0x1ACE), (0x1DF6, 0x1DFA), (0xA82C, 0xA82C), (0x105C9, 0x105C9), (0x105E4, 0x105E4),
    (0x10D24, 0x10D27), (0x10D69, 0x10D6D), (0x10EAB, 0x10EAC), (0x10EFD, 0x10EFF), (0x10F46, 0x10F50),
    (0x10F82, 0x10F85), (0x11070, 0x11070), (0x1133B, 0x1133B), (0x11383, 0x11383), (0x11385, 0x11385),
    (0x1138E, 0x1138E), (0x11391, 0x11391), (0x113C5, 0x113C5), (0x113C7, 0x113C8), (0x113CE, 0x113D0),
    (0x1145E, 0x1145E), (0x11839, 0x1183A), (0x11938, 0x11938), (0x1193D, 0x1193E), (0x11943, 0x11943),
    (0x119E0, 0x119E0), (0x11A34, 0x11A34), (0x11A47, 0x11A47), (0x11A99, 0x11A99), (0x11D42, 0x11D42),
    (0x11D44, 0x11D45), (0x11D97, 0x11D97), (0x11F41, 0x11F42), (0x16121, 0x16128), (0x1612F, 0x1612F),
    (0x16D68, 0x16D6A), (0x16FF0, 0x16FF1), (0x1E08F, 0x1E08F), (0x1E130, 0x1E136), (0x1E2AE, 0x1E2AE),
    (0x1E2EC, 0x1E2EF), (0x1E4EC, 0x1E4EF), (0x1E5EE, 0x1E5EF),
]

ACCESSOR = """\
const NfcData& nfc_data() {
  static constexpr NfcData kData{kClasses, kSingles, kPairs, kExclusions};
  return kData;
}"""


def is_later(code_point):
    return any(first <= code_point <= last for first, last in LATER)


def table(name, numbers):
    text = textwrap.fill(" ".join(f"0x{number:X}," for number in numbers), 100)
    return f"constexpr std::uint32_t {name}[] = {{\n{text}\n}};\n"


def class_runs():
    """Yields the first code point of each run of one class, times 256, plus the class."""
    last = 0
    for code_point in range(0x110000):
        combining = 0 if is_later(code_point) else unicodedata2.combining(chr(code_point))
        if combining != last:
            yield code_point * 256 + combining
            last = combining


def runs_of_singles(singles):
    """Yields, for each run of adjacent code points, the first, the count and their targets."""
    run = []
    for code_point, target in singles:
        if run and code_point != first + len(run):
            yield from (first, len(run), *run)
            run = []
        first = code_point if not run else first
        run.append(target)
    yield from (first, len(run), *run)


def source():
    singles, groups, exclusions = [], {}, []
    for code_point in itertools.filterfalse(is_later, range(0x110000)):
        character = chr(code_point)
        mapping = unicodedata2.decomposition(character)
        if not mapping or mapping.startswith("<"):
            continue
        first, *second = (int(part, 16) for part in mapping.split())
        if not second:
            singles.append((code_point, first))
            continue
        groups.setdefault(second[0], []).append((code_point, first))
        if unicodedata2.normalize("NFC", character) != character:
            exclusions.append(code_point)
    pairs = []
    for second, group in groups.items():
        pairs += [second, len(group), *(number for entry in group for number in entry)]
    tables = {"kClasses": class_runs(), "kSingles": runs_of_singles(singles), "kPairs": pairs, "kExclusions": exclusions}
    return source_file("tokenizers/unicode/nfc.h", "Unicode 9.0, written by tools/unicode/nfc.py.",
                       "".join(table(name, numbers) for name, numbers in tables.items()), ACCESSOR)


if __name__ == "__main__":
    main(__doc__, "src/tokenizers/unicode/nfc_table.cpp", source, unicodedata2.unidata_version, UNICODE)
