#!/usr/bin/env python3
"""Writes tests/tokenizers/data/pipeline_tokenizers.json: small tokenizers of several kinds, and the ids
that Hugging Face `tokenizers` gives some texts.

  pip install tokenizers
  tools/parity/make_tokenizer_data.py
"""

import json
import pathlib

import tokenizer_kinds

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
CORPUS = "Once upon a time there was a key. They're sure: it's 42!\n\n  The end, at last.\n" * 3
KINDS = ["GPT-NeoX", "blank first", "Llama 3", "Qwen2", "SmolLM2", "Llama 2", "Mistral", "Gemma 3"]
KINDS += ["Metaspace always", "Metaspace never, unknown", "BERT", "BERT, cased"]
KINDS += ["T5", "converted from SentencePiece", "words"]
BERT_TEXTS = [
    "The [MASK] isn't na\u00efve: \u00c9t\u00e9 \u0130I, \ud55c\uae00\u4e16\u754c.",
    "a\x00b\x07c\ufffd\x7fd\u200de\u00ad \u2028\u3000key\u00b7key\u2019s $5+5=10 ^_`",
    "Zz\u0301\u0327 \u1e9e\u00df \u03a3\u03a3 \U00010400 " + "k" * 101 + " " + "e" * 100,
    "[CLS]time[SEP][sep] [UNK]",
]
TEXTS = [
    "",
    "They're SURE'S it's 12345!\r\n\n  The end",
    " a  time\u00a0there \t\n",
    "e\u0301 \u1112\u1161\u11ab \u0344 \u212b",
    "\ud55c\U0001f917\u2581\u2581x",
    "a<mask> b<r>  key keys \u00e9 <think>",
    "</s>time<s> <|endoftext|>\n\n\n<td>   xyzzy",
]


def main():
    tokenizer_kinds.VOCABULARY = 300
    entries = []
    for kind in KINDS:
        tokenizer = tokenizer_kinds.KINDS[kind](CORPUS)
        cases = []
        for text in TEXTS + (BERT_TEXTS if kind.startswith("BERT") else []):
            ids = tokenizer.encode(text, add_special_tokens=False).ids
            cases.append({"text": text, "ids": ids, "decoded": tokenizer.decode(ids)})
        entry = {"kind": kind, "tokenizer": json.loads(tokenizer.to_str()), "cases": cases}
        entry["prompt"] = tokenizer.encode("The end").ids
        entries.append(json.dumps(entry, ensure_ascii=False))
    target = ROOT / "tests/tokenizers/data/pipeline_tokenizers.json"
    target.write_text("[\n" + ",\n".join(entries) + "\n]\n")


if __name__ == "__main__":
    main()
