#!/usr/bin/env bash
# transformers 5.24.0 with tokenizers 0.23.3: AutoTokenizer gives other ids than the tokenizer.json in the folder.
#
# Input: a tokenizer.json of byte-level BPE whose pre-tokenizer first cuts digits (Digits, individual_digits =
# true, then ByteLevel), beside a tokenizer_config.json with "tokenizer_class": "GPT2Tokenizer".
# Seen: `tokenizers` reads "it's 42!" as it 's Ġ 4 2 !, as the file says. AutoTokenizer builds GPT2Tokenizer,
# which takes only vocabulary, merges and post-processor from the file and sets its own pre-tokenizer: the step
# Digits is gone, nothing is said, and "42" is one token.
# With "tokenizer_class": "TokenizersBackend" the ids are those of the file.
# Exit code: 0 if this is still so, 1 if not.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q transformers==5.24.0 tokenizers==0.23.3
HF_HUB_OFFLINE=1 "$folder/venv/bin/python" - "$folder" <<'EOF'
import json
import pathlib
import sys

from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import AutoTokenizer

folder = pathlib.Path(sys.argv[1])
alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
vocabulary = {token: id for id, token in enumerate([*alphabet, "42", "Ġ42", "it", "'s"])}
merges = [("4", "2"), ("Ġ", "42"), ("i", "t"), ("'", "s")]
tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=merges))
tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
    [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)])
tokenizer.decoder = decoders.ByteLevel()
tokenizer.save(str(folder / "tokenizer.json"))
(folder / "config.json").write_text('{"model_type": "llama"}')


def tokens_of(name):
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": name}))
    return AutoTokenizer.from_pretrained(folder).tokenize("it's 42!")


file = tokenizer.encode("it's 42!").tokens
own, plain = tokens_of("GPT2Tokenizer"), tokens_of("TokenizersBackend")
print("tokenizer.json:   ", file)
print("GPT2Tokenizer:    ", own)
print("TokenizersBackend:", plain)
sys.exit(0 if file == plain == ["it", "'s", "Ġ", "4", "2", "!"] and own == ["it", "'s", "Ġ42", "!"] else 1)
EOF
