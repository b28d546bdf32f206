#!/usr/bin/env python3
"""Writes src/tokenizers/unicode/bert_characters_table.cpp: the characters that BertNormalizer and
BertPreTokenizer of Hugging Face `tokenizers` treat specially, found by asking the package.

Usage: pip install tokenizers; tools/unicode/bert.py > src/tokenizers/unicode/bert_characters_table.cpp
"""

from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer

ALL = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
NONE = dict(clean_text=False, handle_chinese_chars=False, strip_accents=False, lowercase=False)


def normalized(text: str, **step) -> str:
    return BertNormalizer(**(NONE | step)).normalize_str(text)


def runs(points: list[int]) -> list[int]:
    """First and count of each run of consecutive code points."""
    result = []
    for c in points:
        if result and result[-2] + result[-1] == c:
            result[-1] += 1
        else:
            result += [c, 1]
    return result


def lower_runs() -> list[int]:
    """First, count, step, and the distance to the lower-case character."""
    result = []
    for c in ALL:
        lower = normalized(chr(c), lowercase=True)
        if lower == chr(c) or len(lower) != 1:
            continue
        distance = (ord(lower) - c) % 2**32
        if result and result[-1] == distance and result[-3] == 1 and c - result[-4] in (1, 2):
            result[-2] = c - result[-4]
            result[-3] = 2
        elif (result and result[-1] == distance and result[-3] > 1
              and result[-4] + result[-3] * result[-2] == c):
            result[-3] += 1
        else:
            result += [c, 1, 1, distance]
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


cut = {c: [text for text, _ in BertPreTokenizer().pre_tokenize_str(f"a{chr(c)}b")] for c in ALL}
tables = {
    "kRemoved": runs([c for c in ALL if normalized(f"a{chr(c)}b", clean_text=True) == "ab"]),
    "kBlank": runs([c for c in ALL if normalized(f"a{chr(c)}b", clean_text=True) == "a b"]),
    "kSpace": runs([c for c in ALL if cut[c] == ["a", "b"]]),
    "kPunctuation": runs([c for c in ALL if len(cut[c]) == 3]),
    "kMarks": runs([c for c in ALL if normalized(f"a{chr(c)}b", strip_accents=True) == "ab"]),
    "kIdeographs": runs([c for c in ALL
                         if normalized(f"a{chr(c)}b", handle_chinese_chars=True) == f"a {chr(c)} b"]),
    "kLower": lower_runs(),
}
print('#include "tokenizers/unicode/bert_characters.h"\n\n// Written by tools/unicode/bert.py.\n'
      "namespace headlight {\nnamespace {\n\n// clang-format off")
print("\n".join(table(name, numbers) for name, numbers in tables.items()))
print("// clang-format on\n\n}  // namespace\n\nconst BertCharacters& bert_characters() {\n"
      "  static const BertCharacters kBertTables{" + ",\n                                          ".join(tables)
      + "};\n  return kBertTables;\n}\n\n"
      "}  // namespace headlight")
