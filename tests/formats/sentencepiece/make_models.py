#!/usr/bin/env python3
"""Trains small models of SentencePiece, and writes the ids and the decoded text of some texts.

usage: make_models.py FOLDER     (needs sentencepiece; the files in this folder are from version 0.2.3)
"""

import io
import json
import pathlib
import sys

import sentencepiece

CORPUS = ["the cat sat on the mat", "a dog and a cat", "the end", "안녕 세상", "a b c d e f g"] * 5
# Rules of the normalizer: hexadecimal code points, and their replacements.
RULES = "41\t61\nE9\t65\n3000\t20\n41 42\t78 79\n200B\t\nFB01\t66 69\n"
IDENTITY = {"normalization_rule_name": "identity"}
MODELS = {
    "unigram": {"vocab_size": 50, **IDENTITY},
    "unigram_rules": {"vocab_size": 50, "user_defined_symbols": ["<sep>", "ab"]},
    "unigram_bytes": {"vocab_size": 310, "byte_fallback": True, **IDENTITY},
    "bpe_llama": {"vocab_size": 310, "byte_fallback": True, "remove_extra_whitespaces": False, **IDENTITY},
    "bpe_rules": {"vocab_size": 60, "user_defined_symbols": ["<sep>", "▁▁"], "control_symbols": ["<c>"]},
    "bpe_gemma": {"vocab_size": 60, "add_dummy_prefix": False, "remove_extra_whitespaces": False,
                  "split_by_whitespace": False, "allow_whitespace_only_pieces": True, **IDENTITY},
}
TEXTS = ["", " ", "the cat", "  the  cat ", "the mat\nand a dog", "안녕 세상 안녕하세요", "AB Aé\u3000ﬁ\u200bab",
         "x<sep>ab <sep> ab<s>", "aaaaaaa   bbbbb", "▁the▁▁cat", "👩‍👧 ☃☃ q", "thethethe end"]


def main():
    folder = pathlib.Path(sys.argv[1])
    rules = folder / "rules.tsv"
    rules.write_text(RULES, encoding="utf-8")
    for name, settings in MODELS.items():
        if "normalization_rule_name" not in settings:
            settings = {"normalization_rule_tsv": str(rules), **settings}
        model = io.BytesIO()
        kind = name.split("_")[0]
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(CORPUS), model_writer=model, model_type=kind, hard_vocab_limit=False,
            num_threads=1, minloglevel=2, **settings)
        (folder / f"{name}.model").write_bytes(model.getvalue())
        processor = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
        cases = [{"text": text, "ids": processor.encode(text), "decoded": processor.decode(processor.encode(text))}
                 for text in TEXTS]
        (folder / f"{name}.json").write_text(json.dumps(cases, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    rules.unlink()


if __name__ == "__main__":
    main()
