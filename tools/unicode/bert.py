#!/usr/bin/env python3
"""Writes src/tokenizers/unicode/bert_characters_table.cpp: the characters that BertNormalizer and
BertPreTokenizer of Hugging Face `tokenizers` treat specially, found by asking the package.

Usage: pip install tokenizers; tools/unicode/bert.py [--check]
"""

from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer

from table_file import array, main, mapped_runs, runs, source_file

NONE = dict(clean_text=False, handle_chinese_chars=False, strip_accents=False, lowercase=False)
ACCESSOR = """\
const BertCharacters& bert_characters() {
  static const BertCharacters kBertTables{kRemoved, kBlank,      kSpace, kPunctuation,
                                          kMarks,   kIdeographs, kLower};
  return kBertTables;
}"""


def changed_to(text: str, **step):
    """True for a character that the step makes this text of, between a and b."""
    return lambda c: BertNormalizer(**(NONE | step)).normalize_str(f"a{c}b") == text.replace("C", c)


def pieces(c: str) -> list[str]:
    return [text for text, _ in BertPreTokenizer().pre_tokenize_str(f"a{c}b")]


def source() -> str:
    lower = BertNormalizer(**(NONE | {"lowercase": True}))
    tables = {
        "kRemoved": runs(changed_to("ab", clean_text=True)),
        "kBlank": runs(changed_to("a b", clean_text=True)),
        "kSpace": runs(lambda c: pieces(c) == ["a", "b"]),
        "kPunctuation": runs(lambda c: len(pieces(c)) == 3),
        "kMarks": runs(changed_to("ab", strip_accents=True)),
        "kIdeographs": runs(changed_to("a C b", handle_chinese_chars=True)),
        "kLower": mapped_runs(lower.normalize_str),
    }
    return source_file("tokenizers/unicode/bert_characters.h", "Written by tools/unicode/bert.py.",
                       "".join(array(*table) + "\n" for table in tables.items()), ACCESSOR)


if __name__ == "__main__":
    main(__doc__, "src/tokenizers/unicode/bert_characters_table.cpp", source)
