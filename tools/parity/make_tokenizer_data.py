#!/usr/bin/env python3
"""Writes files of tests/tokenizers/data with Hugging Face `tokenizers`:

- pipeline_tokenizers.json: small tokenizers of several kinds, and the ids that the library gives some texts;
- bpe_tokenizer.json and bpe_expected.json: a small byte-level BPE, and what it encodes some texts to: with its special
  tokens read out of the text ("special") and as plain text ("plain").

  pip install tokenizers==0.23.3
  tools/parity/make_tokenizer_data.py
"""

import json

from tokenizers import AddedToken

import tokenizer_kinds
from checker import ROOT

TARGET = ROOT / "tests/tokenizers/data"

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
SPECIAL = ["<|endoftext|>", "<|end|>", "<|end|>of"]
BPE_LINES = [
    "안녕하세요, 나는 오늘 학교에 갔습니다. 나는 나의 친구를 만났다.",
    "東京は今日も雨でした。 猫が好きです。",
    "They're sure it's what we'll do; I've said I'm not, you'd say they don't.",
]
BPE_TEXTS = [
    "",
    "a",
    "Hello!! I'm Andrej Karpathy. It's 2022. w00t :D 🤗",
    "It'S THEY'RE don't 's ''s 'll'd",
    "  two  blanks   and\ttabs\n\n lines \r\n end   ",
    "\u00a0nbsp\u3000wide\u2028line\u0085next\u200bzero\u180evowel",
    "나는 오늘 학교에 갔습니다. 한글123 자모 ㄱㅏ e\u0301 é",
    "東京は雨。ﾊﾝｶｸ 中文，标点",
    "مرحبا بالعالم ١٢٣ नमस्ते १२ ก็",
    "👩‍👩‍👧‍👦 🏳️‍🌈 🇰🇷 ❤️ 𝔘𝔫𝔦 𝟙𝟚 Ⅷ ½ ²",
    "\u1c89\U000105c0 \U00013460 \U0002ebf0\U000323af \U0001ccf0 \ufffd\uffff\U0010ffff\x00\x7f",
    "int main() { return x->y[10] += 0x1F; }  // ok\n\tif (a != b) {}\n",
    "<|endoftext|><|end|> of <|end|>of<|end|>off <|endoftext| > <|end",
    "word <|end|>  two  <|end|>\n",
]


def write_kinds():
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
    (TARGET / "pipeline_tokenizers.json").write_text("[\n" + ",\n".join(entries) + "\n]\n")


def write_bpe():
    lines = (ROOT / "data/toy.txt").read_text(encoding="utf-8").splitlines()[:300]
    special = [AddedToken(name, normalized=False) for name in SPECIAL]
    tokenizer = tokenizer_kinds.byte_bpe(lines + BPE_LINES * 20, 420, special)
    (TARGET / "bpe_tokenizer.json").write_text(tokenizer.to_str(pretty=False) + "\n")
    cases = [{"text": text, "special": tokenizer.encode(text).ids} for text in BPE_TEXTS]
    tokenizer.encode_special_tokens = True  # encode their names as plain text
    for case in cases:
        case["plain"] = tokenizer.encode(case["text"]).ids
    rows = ",\n".join(json.dumps(case, separators=(",", ":")) for case in cases)
    (TARGET / "bpe_expected.json").write_text(f"[\n{rows}\n]\n")


if __name__ == "__main__":
    write_kinds()
    write_bpe()
