"""Answers of transformers and TransformerLens (a TransformerBridge, no network) to the questions of analyses.py.

usage: lens.py QUESTION FOLDER THREADS STRONGEST      (FOLDER: that of analyses.py, with the model and the ids)
"""

import json
import os
import sys
from pathlib import Path

WINDOW = 1024


def open_bridge(folder):
    os.environ["HF_HUB_OFFLINE"] = "1"
    import torch
    from transformer_lens.model_bridge import TransformerBridge
    from transformers import PreTrainedTokenizerFast

    tokenizer = PreTrainedTokenizerFast.from_pretrained(folder)
    return TransformerBridge.boot_transformers(str(folder), dtype=torch.float32, tokenizer=tokenizer, device="cpu")


def sum_of_losses(logits, targets):
    import torch

    return float(torch.nn.functional.cross_entropy(logits, targets, reduction="none").double().sum())


def mean_loss(logits_of, documents):
    """Every token but the first is predicted once, in windows that begin where the last one ended."""
    import torch

    total = count = 0
    for ids in documents:
        for begin in range(0, len(ids) - 1, WINDOW):
            inputs = ids[begin:begin + WINDOW][:len(ids) - 1 - begin]
            targets = torch.tensor(ids[begin + 1:begin + 1 + len(inputs)])
            total += sum_of_losses(logits_of(torch.tensor([inputs]))[0], targets)
            count += len(inputs)
    return {"answer": total / count}


def their_loss(folder, work, name="text"):
    import torch
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    return mean_loss(lambda ids: model(ids, use_cache=False).logits, [read_ids(work / f"{name}.ids")[0]])


def patterns_of(bridge, ids):
    _, cache = bridge.run_with_cache(ids, names_filter=lambda name: name.endswith("attn.hook_pattern"))
    return [cache[f"blocks.{layer}.attn.hook_pattern"][0] for layer in range(bridge.cfg.n_layers)]


def their_heads(folder, work):
    import torch

    bridge, sums, rows = open_bridge(folder), {}, 0
    ids = read_ids(work / "text.ids")[0]
    for begin in range(0, len(ids) - 1, WINDOW):
        part = torch.tensor([ids[begin:begin + WINDOW]])
        length = part.shape[1]
        same = (part[0][:, None] == part[0][None, :]).float().tril(-1)
        for layer, pattern in enumerate(patterns_of(bridge, part)):
            scores = {"previous_token": pattern.diagonal(-1, 1, 2).sum(1), "first_token": pattern[:, :, 0].sum(1),
                      "same_token": pattern.diagonal(0, 1, 2).sum(1), "duplicate_token": (pattern * same).sum((1, 2))}
            for name, score in scores.items():
                sums[name, layer] = sums.get((name, layer), 0) + score
        rows += length
    generator = torch.Generator().manual_seed(1)
    half = torch.randint(bridge.cfg.d_vocab, (1, 256), generator=generator)
    repeated = patterns_of(bridge, torch.cat([half, half], 1))
    induction = torch.stack([p.diagonal(-255, 1, 2)[:, 1:].mean(1) for p in repeated])
    best = induction.flatten().argsort(descending=True)[:6].tolist()
    return {"answer": [f"{i // induction.shape[1]}.{i % induction.shape[1]}" for i in best]}


def their_attention(folder, work):
    import numpy as np
    import torch

    bridge = open_bridge(folder)
    patterns = patterns_of(bridge, torch.tensor([read_ids(work / "sentence.ids")[0]]))
    np.savez(work / "theirs.npz", *[pattern.numpy() for pattern in patterns])
    ours = np.load(work / "maps/attention.npz")
    names = [f"blocks.{layer}.attn.hook_pattern" for layer in range(len(patterns))]
    differences = [np.abs(ours[name][0] - pattern.numpy()).max() for name, pattern in zip(names, patterns)]
    return {"answer": float(max(differences))}


def their_without(folder, work, strongest):
    bridge = open_bridge(folder)
    heads = {}
    for name in strongest:
        layer, head = map(int, name.split("."))
        heads.setdefault(layer, []).append(head)

    def silence(layer):
        def hook(value, hook):
            shape = value.shape
            value = value.reshape(*shape[:2], bridge.cfg.n_heads, -1).clone()
            value[:, :, heads[layer]] = 0
            return value.reshape(shape)
        return hook

    hooks = [(f"blocks.{layer}.attn.hook_z", silence(layer)) for layer in heads]
    return mean_loss(lambda ids: bridge.run_with_hooks(ids, fwd_hooks=hooks), read_ids(work / "repeated.ids"))


def their_patch(folder, work, point):
    """Patches a value of the clean text into a pass of the other one, each layer and position or head in its own pass."""
    bridge = open_bridge(folder)
    clean, corrupt, (answer,), (wrong,) = read_ids(work / "pair.ids")
    names = [f"blocks.{layer}.{point}" for layer in range(bridge.cfg.n_layers)]
    clean, corrupt = torch_ids(clean), torch_ids(corrupt)

    def difference(logits):
        return float(logits[0, -1, answer] - logits[0, -1, wrong])

    logits, cache = bridge.run_with_cache(clean, names_filter=lambda name: name in names)
    low, whole = difference(bridge(corrupt)), difference(logits)
    best = -1e9
    for name in names:
        shape = cache[name].shape
        width = shape[-1] // (bridge.cfg.n_heads if len(shape) == 3 and "attn" in name else 1)
        for part in range(bridge.cfg.n_heads if "attn" in name else shape[1]):
            def patch(value, hook):
                value, source = value.clone(), cache[name].reshape(value.shape)
                if "attn" not in name:
                    value[:, part] = source[:, part]
                elif value.ndim == 4:
                    value[:, :, part] = source[:, :, part]
                else:
                    value[..., part * width:(part + 1) * width] = source[..., part * width:(part + 1) * width]
                return value

            patched = difference(bridge.run_with_hooks(corrupt, fwd_hooks=[(name, patch)]))
            best = max(best, (patched - low) / (whole - low))
    return {"answer": best}


def their_ablation(folder, work):
    """The loss without each head: zeros in its part of the input of the output projection."""
    import torch
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    documents, rises = read_ids(work / "three.ids"), {}
    width = model.config.hidden_size // model.config.num_attention_heads
    loss = mean_loss(lambda ids: model(ids, use_cache=False).logits, documents)["answer"]
    for layer, block in enumerate(model.model.layers):
        for head in range(model.config.num_attention_heads):
            def silence(module, inputs):
                value = inputs[0].clone()
                value[..., head * width:(head + 1) * width] = 0
                return (value,)

            handle = block.self_attn.o_proj.register_forward_pre_hook(silence)
            rises[f"{layer}.{head}"] = mean_loss(lambda ids: model(ids, use_cache=False).logits, documents)["answer"] - loss
            handle.remove()
    return {"answer": max(rises, key=rises.get)}


def torch_ids(ids):
    import torch

    return torch.tensor([ids])


def read_ids(path):
    return [[int(id) for id in line.split()] for line in path.read_text().splitlines()]


def main():
    import torch

    question, work, threads, strongest = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), sys.argv[4].split(",")
    answers = {"loss": their_loss, "loss_of_the_whole_text": lambda *places: their_loss(*places, "whole"),
               "heads": their_heads, "attention": their_attention, "ablate": their_ablation,
               "patch_positions": lambda *places: their_patch(*places, "hook_resid_pre"),
               "patch_heads": lambda *places: their_patch(*places, "attn.hook_z"),
               "without": lambda *places: their_without(*places, strongest)}
    torch.set_num_threads(threads)
    with torch.inference_mode():
        print(json.dumps(answers[question](work / "hf", work)))


if __name__ == "__main__":
    main()
