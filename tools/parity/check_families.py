#!/usr/bin/env python3
"""Opens models of the families in family_models.py with Headlight, writes them back, and compares.

usage: check_families.py PATH_OF_HEADLIGHT [NAME...]

Compared are token ids, logits, loss, attention weights and greedy text with transformers, before and after
`export --to hf`, and the weights that Headlight reads from both directories, bit for bit. NAME: only
families that begin so. Exit code 1 when a comparison fails.
"""

import sys
import tempfile
from pathlib import Path

import safetensors.torch
import torch
from transformers import AutoTokenizer

import checker
from check_hf import LOGIT_LIMIT, Headlight, Table, compare, lively, save_with_tokenizer
from family_models import FAMILIES


def sizes_of(vocabulary: int, heads: int = 3, key_heads: int | None = None) -> dict:
    return dict(vocab_size=vocabulary + 2, max_position_embeddings=233, hidden_size=8 * heads,
                intermediate_size=37, num_hidden_layers=3, num_attention_heads=heads,
                num_key_value_heads=key_heads or heads, bos_token_id=0, eos_token_id=0)


def weights(program: Headlight, directory: Path) -> dict:
    out = directory.with_suffix(".safetensors")
    program.run("export", directory, "--to", "safetensors", "--out", out)
    return safetensors.torch.load_file(out)


def check(table: Table, program: Headlight, tokenizer: Path, number: int, config) -> None:
    directory = save_with_tokenizer(program.folder / f"family{number}", lively(config), tokenizer)
    model = compare(table, "more families: transformers -> headlight", program, directory)
    back = program.folder / f"back{number}"
    program.run("export", directory, "--to", "hf", "--out", back)
    again = compare(table, "more families: headlight -> transformers", program, back)
    before, after = weights(program, directory), weights(program, back)
    table.add("more families: tensors that differ when written back",
              len(before.keys() ^ after.keys())
              + sum(not torch.equal(before[name], after[name]) for name in before.keys() & after.keys()), 0)
    tokens = torch.arange(model.config.vocab_size)[None, :200]
    with torch.no_grad():
        table.add("more families: logits of transformers, before and after",
                  (model(tokens).logits - again(tokens).logits).abs().max(), LOGIT_LIMIT)


def main() -> int:
    parser = checker.parser(__doc__)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    torch.set_num_threads(1)
    table = Table()
    with tempfile.TemporaryDirectory() as folder:
        program = Headlight(options.program, Path(folder))
        tokenizer = program.train("tokenizer", "char", n_layer=1, n_head=1, n_embd=8, block_size=32)
        vocabulary = len(AutoTokenizer.from_pretrained(tokenizer))
        for number, (name, sizes, make) in enumerate(FAMILIES):
            if name.startswith(tuple(options.names) or ""):
                check(table, program, tokenizer, number, make(sizes_of(vocabulary, **sizes)))
    return 1 if table.show() else 0


if __name__ == "__main__":
    sys.exit(main())
