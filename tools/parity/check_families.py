"""Opens models of the families in family_models.py with Headlight, writes them back, and compares.

Compared are token ids, logits, loss, attention weights and greedy text with transformers, before and after
`export --to hf`, and the weights that Headlight reads from both directories, bit for bit. NAME: only
families that begin so.
"""

import torch

from checker import Headlight, Table
from family_models import MODELS, MORE_MODELS
from models import LOGIT_LIMIT, char_tokenizer, compare_both_ways, differing, exported, lively, save_with_tokenizer


def sizes_of(vocabulary: int, heads: int = 3, key_heads: int | None = None) -> dict:
    return dict(vocab_size=vocabulary + 2, max_position_embeddings=233, hidden_size=8 * heads,
                intermediate_size=37, num_hidden_layers=3, num_attention_heads=heads,
                num_key_value_heads=key_heads or heads, bos_token_id=0, eos_token_id=0)


def check(table: Table, program: Headlight, options) -> None:
    tokenizer, vocabulary = char_tokenizer(program)
    for number, (name, sizes, make) in enumerate(MODELS + MORE_MODELS):
        if not name.startswith(tuple(options.names) or ""):
            continue
        config = make(sizes_of(vocabulary, **sizes))
        directory = save_with_tokenizer(program.folder / f"family{number}", lively(config), tokenizer)
        model, again, back = compare_both_ways(table, "families", program, directory)
        table.add("families: tensors that differ when written back",
                  differing(exported(program, directory), exported(program, back)))
        tokens = torch.arange(model.config.vocab_size)[None, :200]
        with torch.no_grad():
            table.add("families: logits of transformers, before and after",
                      (model(tokens).logits - again(tokens).logits).abs().max(), LOGIT_LIMIT)


OPTIONS = {"names": dict(nargs="*")}
