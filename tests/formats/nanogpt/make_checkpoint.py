#!/usr/bin/env python3
"""Writes ckpt.pt as nanoGPT's train.py does, with its optimizer, and prints the logits of the ids 0 to 2.

usage: make_checkpoint.py CKPT     (needs torch; ckpt.pt in this folder is from torch 2.13)
"""

import sys
from collections import OrderedDict

import torch
from torch.nn import functional as F

ARGUMENTS = dict(n_layer=1, n_head=2, n_embd=4, block_size=3, bias=False, vocab_size=3, dropout=0.0)


def linear(outputs, inputs):
    return torch.nn.Parameter(torch.randn(outputs, inputs))


def weights():
    """Returns nanoGPT's parameters; the head is the token embedding."""
    block, width = "transformer.h.0.", ARGUMENTS["n_embd"]
    result = {"transformer.wte.weight": linear(ARGUMENTS["vocab_size"], width),
              "transformer.wpe.weight": linear(ARGUMENTS["block_size"], width),
              block + "ln_1.weight": torch.nn.Parameter(torch.randn(width)),
              block + "attn.c_attn.weight": linear(3 * width, width),
              block + "attn.c_proj.weight": linear(width, width),
              block + "ln_2.weight": torch.nn.Parameter(torch.randn(width)),
              block + "mlp.c_fc.weight": linear(4 * width, width),
              block + "mlp.c_proj.weight": linear(width, 4 * width),
              "transformer.ln_f.weight": torch.nn.Parameter(torch.randn(width))}
    return result | {"lm_head.weight": result["transformer.wte.weight"]}


def logits(w, ids):
    block, width, heads = "transformer.h.0.", ARGUMENTS["n_embd"], ARGUMENTS["n_head"]
    norm = lambda x, name: F.layer_norm(x, (width,), w[name + ".weight"], None, 1e-5)
    x = w["transformer.wte.weight"][ids] + w["transformer.wpe.weight"][:len(ids)]
    q, k, v = (part.view(len(ids), heads, -1).transpose(0, 1) for part in
               F.linear(norm(x, block + "ln_1"), w[block + "attn.c_attn.weight"]).split(width, -1))
    y = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(0, 1).reshape(len(ids), -1)
    x = x + F.linear(y, w[block + "attn.c_proj.weight"])
    inner = F.gelu(F.linear(norm(x, block + "ln_2"), w[block + "mlp.c_fc.weight"]))
    x = x + F.linear(inner, w[block + "mlp.c_proj.weight"])
    return F.linear(norm(x, "transformer.ln_f"), w["lm_head.weight"])


def main():
    torch.manual_seed(1)
    parameters = weights()
    optimizer = torch.optim.AdamW(list(parameters.values())[:-1], lr=1e-3, betas=(0.9, 0.95))
    ids = torch.tensor([0, 1, 2])
    loss = F.cross_entropy(logits(parameters, ids)[:-1], ids[1:])
    loss.backward()
    optimizer.step()
    model = OrderedDict(("_orig_mod." + name, value.detach()) for name, value in parameters.items())
    model._metadata = OrderedDict({"": {"version": 1}})  # as state_dict() adds it
    torch.save({"model": model, "optimizer": optimizer.state_dict(), "model_args": ARGUMENTS, "iter_num": 1,
                "best_val_loss": loss.detach(),
                "config": {"out_dir": "out", "dataset": "letters", "learning_rate": 1e-3,
                           "compile": True, "wandb_log": False}}, sys.argv[1])
    with torch.no_grad():
        print(logits(parameters, ids))


if __name__ == "__main__":
    torch.set_printoptions(precision=8)
    main()
