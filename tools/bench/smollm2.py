#!/usr/bin/env python3
"""Compares analyses of SmolLM2 in Headlight and in transformers with TransformerLens: time and memory of
whole processes, from opening the model to the answer, in turn, and the losses of both.

usage: smollm2.py MODEL.gguf TEXT [--bytes 30000] [--rounds 3] [--threads 2] [--rows loss,heads,...]
       smollm2.py MODEL.gguf TEXT --whole        (the loss of the whole text alone)

  loss       nats a token, in windows of 1,024
  heads      scores of every head: ours all of `headlight heads`; theirs previous token, first token, same
             token and duplicates on the text, induction on random tokens that repeat
  attention  the weights of every head on a sentence, as numbers in a file
  without    the loss of texts of random words that are read twice, without the five strongest induction heads

transformers opens what `headlight export --to hf` writes of the model, TransformerLens the same folder (a
TransformerBridge; no network). Needs transformer-lens 4, which tools/peers.sh installs.
HEADLIGHT: the program (default build/release/headlight).
"""

import argparse
import json
import os
import platform
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

HEADLIGHT = os.environ.get("HEADLIGHT", "build/release/headlight")
STRONGEST = ["18.6", "17.3", "17.4", "18.7", "17.5"]
SENTENCE = " Mina has a red kite and a blue boat. Mina has a red kite and a blue"
WINDOW = 1024
ROWS = ["loss", "heads", "attention", "without"]


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
    return {"loss": total / count, "tokens": count}


def their_loss(folder, work):
    import torch
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    return mean_loss(lambda ids: model(ids, use_cache=False).logits, [read_ids(work / "text.ids")[0]])


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
    return {"strongest": [f"{i // induction.shape[1]}.{i % induction.shape[1]}" for i in best]}


def their_attention(folder, work):
    import numpy as np
    import torch

    bridge = open_bridge(folder)
    patterns = patterns_of(bridge, torch.tensor([read_ids(work / "sentence.ids")[0]]))
    np.savez(work / "theirs.npz", *[pattern.numpy() for pattern in patterns])
    ours = np.load(work / "maps/attention.npz")
    names = [f"blocks.{layer}.attn.hook_pattern" for layer in range(len(patterns))]
    differences = [np.abs(ours[name][0] - pattern.numpy()).max() for name, pattern in zip(names, patterns)]
    return {"largest difference": float(max(differences))}


def their_without(folder, work):
    bridge = open_bridge(folder)
    heads = {}
    for name in STRONGEST:
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


def read_ids(path):
    return [[int(id) for id in line.split()] for line in path.read_text().splitlines()]


def run_theirs(row, folder, work, threads):
    import torch

    torch.set_num_threads(threads)
    with torch.inference_mode():
        print(json.dumps({"loss": their_loss, "heads": their_heads, "attention": their_attention,
                          "without": their_without}[row](Path(folder), Path(work))))


def our_command(row, model, work, threads):
    commands = {
        "loss": ["eval", model, "--data", work / "text.txt"],
        "heads": ["heads", model, "--data", work / "text.txt"],
        "attention": ["attention", model, "--text", SENTENCE, "--format", "npz", "--out", work / "maps"],
        "without": ["eval", model, "--data", work / "repeated.jsonl", "--intervene", "off " + ", ".join(STRONGEST)],
    }
    return [HEADLIGHT, *map(str, commands[row]), "--json", "--threads", str(threads)]


def measured(command, threads):
    """Runs a process; returns its output, its seconds and its peak memory in MB."""
    script = ("import json, os, resource, subprocess, sys, time\n"
              "begin = time.perf_counter()\n"
              "done = subprocess.run(sys.argv[1:], capture_output=True, text=True)\n"
              "seconds = time.perf_counter() - begin\n"
              "peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1000\n"
              "print(json.dumps([done.returncode, done.stdout, done.stderr, seconds, peak]))\n")
    environment = os.environ | {"OMP_NUM_THREADS": str(threads), "TOKENIZERS_PARALLELISM": "false"}
    done = subprocess.run([sys.executable, "-c", script, *command], env=environment, capture_output=True, text=True)
    code, out, error, seconds, peak = json.loads(done.stdout)
    if code != 0:
        sys.exit(f"{' '.join(command)}: {error.strip().splitlines()[-1]}")
    return out, seconds, peak


def prepare(options, work):
    """Writes the model for transformers, the texts, and their ids, one text a line."""
    subprocess.run([HEADLIGHT, "export", options.model, "--to", "hf", "--out", work / "hf"], check=True,
                   capture_output=True)
    text = Path(options.text).read_bytes()
    text = (text if options.whole else text[:options.bytes]).decode("utf-8", errors="ignore")
    (work / "text.txt").write_text(text, encoding="utf-8")
    (work / "sentence.txt").write_text(SENTENCE, encoding="utf-8")
    words, generator = sorted(set(re.findall("[a-z]{3,}", Path(options.text).read_text(encoding="utf-8")))), random.Random(1)
    drawn = [" " + " ".join(generator.sample(words, 60)) for _ in range(24)]
    (work / "repeated.jsonl").write_text("".join(json.dumps({"text": text + text}) + "\n" for text in drawn))
    for source, ids in (("text.txt", "text.ids"), ("sentence.txt", "sentence.ids"), ("repeated.jsonl", "repeated.ids")):
        done = subprocess.run([HEADLIGHT, "tokenizer", "encode", options.model, work / source], check=True,
                              capture_output=True, text=True)
        (work / ids).write_text(done.stdout)
    # headlight puts an end-of-text token before and after each document.
    end = json.loads((work / "hf/config.json").read_text())["eos_token_id"]
    lines = (work / "repeated.ids").read_text().splitlines()
    (work / "repeated.ids").write_text("".join(f"{end} {line} {end}\n" for line in lines))


def row_of(row, options, work):
    theirs = [sys.executable, __file__, options.model, options.text, "--theirs", row, "--folder", str(work)]
    theirs += ["--threads", str(options.threads)]
    times, results = ([], []), [None, None]
    for _ in range(options.rounds):
        for side, command in enumerate([our_command(row, options.model, work, options.threads), theirs]):
            out, seconds, peak = measured(command, options.threads)
            results[side] = json.loads(out.strip().splitlines()[-1])
            times[side].append((seconds, peak))
    cells = [f"{median(t for t, _ in side):.1f} s, {max(p for _, p in side):,.0f} MB" for side in times]
    ratios = [theirs[0] / ours[0] for ours, theirs in zip(*times)]
    answer = "; ".join(str(result[key]) for result in results for key in ("loss", "strongest", "largest difference")
                       if result and key in result)
    print(f"| {row} | {cells[0]} | {cells[1]} | {median(ratios):.1f} ({min(ratios):.1f} to {max(ratios):.1f}) | {answer} |",
          flush=True)


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("model")
    parser.add_argument("text")
    parser.add_argument("--bytes", type=int, default=30000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rows", default=",".join(ROWS))
    parser.add_argument("--whole", action="store_true")
    parser.add_argument("--theirs", choices=ROWS)
    parser.add_argument("--folder")
    options = parser.parse_args()
    if options.theirs:
        run_theirs(options.theirs, Path(options.folder) / "hf", options.folder, options.threads)
        return
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        prepare(options, work)
        if options.whole:
            options.rounds = 1
            options.rows = "loss"
        processor = re.search("model name.*: (.*)", Path("/proc/cpuinfo").read_text())
        print(f"{processor.group(1) if processor else platform.machine()}, {options.threads} threads\n")
        print("| | Headlight | theirs | times as long, median and extremes | answers |\n| --- | ---: | ---: | ---: | --- |",
              flush=True)
        for row in options.rows.split(","):
            row_of(row, options, work)


if __name__ == "__main__":
    main()
