#!/usr/bin/env bash
# tokenizers 0.23.3: a Unigram model reads the name of its unknown token in a text, or writes its bytes, by what is
# beside it.
#
# With encode_special_tokens = True, names of special tokens are text. "<unk>" is a piece of the vocabulary, so the
# model matches it, and its id is the one for unknown characters. Alone it stays this one token. Beside an unknown
# character, or beside itself, the matched piece and the unknown characters become one piece ("<unk>é") that is not in
# the vocabulary, and byte_fallback writes the bytes of the whole. SentencePiece never matches this name in a text.
#
# Output seen:
#   <unk>: <unk>
#   a<unk>b: a <unk> b
#   é: <0xC3> <0xA9>
#   <unk>é: <0x3C> <0x75> <0x6E> <0x6B> <0x3E> <0xC3> <0xA9>
#   <unk><unk>: <0x3C> <0x75> <0x6E> <0x6B> <0x3E> <0x3C> <0x75> <0x6E> <0x6B> <0x3E>
# Ends with 1 if the output differs.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q tokenizers==0.23.3
cat >"$folder/tokens.py" <<'PYTHON'
import json

from tokenizers import Tokenizer

pieces = [["<unk>", 0.0], *([f"<0x{byte:02X}>", -9.0] for byte in range(256)), ["a", -1.0], ["b", -1.5]]
unknown = {"id": 0, "content": "<unk>", "single_word": False, "lstrip": False, "rstrip": False, "normalized": False,
           "special": True}
tokenizer = Tokenizer.from_str(json.dumps({
    "version": "1.0", "added_tokens": [unknown], "normalizer": None, "pre_tokenizer": None, "post_processor": None,
    "decoder": None, "model": {"type": "Unigram", "unk_id": 0, "vocab": pieces, "byte_fallback": True}}))
tokenizer.encode_special_tokens = True
for text in ("<unk>", "a<unk>b", "é", "<unk>é", "<unk><unk>"):
    print(f"{text}:", *tokenizer.encode(text).tokens)
PYTHON
PYTHONUTF8=1 "$folder/venv/bin/python" "$folder/tokens.py" >"$folder/output"
cat "$folder/output"
diff "$folder/output" - <<'EXPECTED'
<unk>: <unk>
a<unk>b: a <unk> b
é: <0xC3> <0xA9>
<unk>é: <0x3C> <0x75> <0x6E> <0x6B> <0x3E> <0xC3> <0xA9>
<unk><unk>: <0x3C> <0x75> <0x6E> <0x6B> <0x3E> <0x3C> <0x75> <0x6E> <0x6B> <0x3E>
EXPECTED
