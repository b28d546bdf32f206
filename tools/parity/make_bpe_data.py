#!/usr/bin/env python3
"""Writes tests/tokenizers/data/bpe_tokenizer.json and bpe_expected.json with Hugging Face `tokenizers`.

The first is a small byte-level BPE in the words of that library, the second what it encodes some
texts to: with its special tokens read out of the text ("special") and as plain text ("plain").

  pip install tokenizers==0.23.3
  tools/parity/make_bpe_data.py
"""

import json
import pathlib

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TARGET = ROOT / "tests/tokenizers/data"
SPECIAL = ["<|endoftext|>", "<|end|>", "<|end|>of"]
LINES = [
    "안녕하세요, 나는 오늘 학교에 갔습니다. 나는 나의 친구를 만났다.",
    "東京は今日も雨でした。 猫が好きです。",
    "They're sure it's what we'll do; I've said I'm not, you'd say they don't.",
]
TEXTS = [
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


def train():
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=420,
        special_tokens=[AddedToken(name, normalized=False) for name in SPECIAL],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    lines = (ROOT / "data/toy.txt").read_text(encoding="utf-8").splitlines()[:300]
    tokenizer.train_from_iterator(lines + LINES * 20, trainer)
    return tokenizer


def main():
    tokenizer = train()
    TARGET.mkdir(exist_ok=True)
    TARGET.joinpath("bpe_tokenizer.json").write_text(tokenizer.to_str(pretty=False) + "\n")
    cases = [{"text": text, "special": tokenizer.encode(text).ids} for text in TEXTS]
    tokenizer.encode_special_tokens = True  # encode their names as plain text
    for case in cases:
        case["plain"] = tokenizer.encode(case["text"]).ids
    rows = ",\n".join(json.dumps(case, separators=(",", ":")) for case in cases)
    TARGET.joinpath("bpe_expected.json").write_text(f"[\n{rows}\n]\n")


if __name__ == "__main__":
    main()
