#!/usr/bin/env python3
"""Compares the Python package with transformers and TransformerLens on one model, in turn.

usage: python_package.py MODEL [--rounds N] [--tokens T] [--no_lens]
       python_package.py --toy RUN       (what a call and a hook cost beside the C++ program; RUN: of configs/toy.toml)

MODEL: a Hugging Face folder of a Llama, such as an export of SmolLM2. Each measurement is a process of its own, so
that its memory counts alone. Prints medians and ratios. Needs headlight, torch, transformers and transformer_lens.
HEADLIGHT: the program (default build/release/headlight).
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import time

TEXT = "When Mary and John went to the store, John gave a drink to "


def timed(work, repeats):
    work()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


class Headlight:
    def __init__(self, path):
        import headlight as hl

        hl.set_thread_count(2)
        self.model = hl.load(path)
        self.metric = hl.logit_difference(1, 2)

    def ids(self, count):
        return (list(self.model.tokenizer.encode(TEXT)) * count)[:count]

    def cache(self, ids):
        return self.model.run_with_cache(ids, ["pattern", "resid_pre", "resid_post"])

    def sweep(self, clean, corrupt):
        return self.model.patch(clean, corrupt, metric=self.metric, point="resid_pre")


class Transformers:
    def __init__(self, path):
        import torch
        import transformers

        torch.set_num_threads(2)
        self.torch = torch
        self.model = transformers.AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32, attn_implementation="eager")
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(path)

    def ids(self, count):
        return (self.tokenizer.encode(TEXT) * count)[:count]

    def cache(self, ids):
        with self.torch.no_grad():
            return self.model(self.torch.tensor([ids]), output_attentions=True, output_hidden_states=True, use_cache=False)

    def sweep(self, clean, corrupt):
        """Patches the input of every layer at every position, as many rows at a time as positions."""
        torch = self.torch
        with torch.no_grad():
            states = self.model(torch.tensor([clean]), output_hidden_states=True, use_cache=False).hidden_states
            rows = torch.tensor([corrupt]).repeat(len(clean), 1)
            places = torch.arange(len(clean))
            results = []
            for layer, module in enumerate(self.model.model.layers):

                def patch(module, args, layer=layer):
                    stream = args[0].clone()
                    stream[places, places] = states[layer][0]
                    return (stream, *args[1:])

                handle = module.register_forward_pre_hook(patch)
                logits = self.model(rows, use_cache=False, logits_to_keep=1).logits[:, -1]
                handle.remove()
                results.append(logits[:, 1] - logits[:, 2])
            return results


class TransformerLens:
    def __init__(self, path):
        import torch
        from transformer_lens.model_bridge import TransformerBridge

        torch.set_num_threads(2)
        self.torch = torch
        self.model = TransformerBridge.boot_transformers(path, device="cpu", dtype=torch.float32)
        self.model.enable_compatibility_mode(no_processing=True)

    def ids(self, count):
        return (self.model.tokenizer.encode(TEXT) * count)[:count]

    def cache(self, ids):
        wanted = ("hook_pattern", "hook_resid_pre", "hook_resid_post")
        with self.torch.no_grad():
            return self.model.run_with_cache(self.torch.tensor([ids]), names_filter=lambda name: name.endswith(wanted))

    def sweep(self, clean, corrupt):
        torch = self.torch
        with torch.no_grad():
            _, cache = self.model.run_with_cache(torch.tensor([clean]), names_filter=lambda name: name.endswith("hook_resid_pre"))
            rows = torch.tensor([corrupt]).repeat(len(clean), 1)
            places = torch.arange(len(clean))
            results = []
            for layer in range(self.model.cfg.n_layers):
                name = f"blocks.{layer}.hook_resid_pre"

                def patch(stream, hook, name=name):
                    stream[places, places] = cache[name][0]
                    return stream

                logits = self.model.run_with_hooks(rows, fwd_hooks=[(name, patch)])[:, -1]
                results.append(logits[:, 1] - logits[:, 2])
            return results


KINDS = {"headlight": Headlight, "transformers": Transformers, "transformer_lens": TransformerLens}


def measure(kind, work, path, tokens):
    """Seconds and memory of one kind of work in this process."""
    if work == "import":
        start = time.perf_counter()
        __import__(kind)
        seconds = time.perf_counter() - start
    else:
        engine = KINDS[kind](path)
        ids = engine.ids(tokens if work == "cache" else 15)
        if work == "cache":
            seconds = timed(lambda: engine.cache(ids), 5)
        else:
            other = [*ids[:9], ids[1], *ids[10:]]
            seconds = timed(lambda: engine.sweep(ids, other), 2)
    print(json.dumps({"seconds": seconds, "mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}))


def microseconds(work, repeats=3000):
    """The fastest of many calls, as `headlight bench attention` measures."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return 1e6 * min(times)


def print_overheads(run, rounds):
    import headlight as hl

    hl.set_thread_count(2)
    model = hl.load(run)
    ids = list(range(5, 21))
    program = os.environ.get("HEADLIGHT", "build/release/headlight")
    bench = [program, "bench", "attention", "--config", "configs/toy.toml", "--lengths", str(len(ids)), "--json"]
    hooks = {"none": None, "that returns None": lambda array, point: None, "that returns an array": lambda array, point: 2 * array}
    rows = []
    for _ in range(rounds):
        row = {"C++": 1e3 * json.loads(subprocess.run(bench, check=True, capture_output=True).stdout)["rows"][0]["model_ms"]}
        for name, hook in hooks.items():
            with model.hooks({"blocks.1.hook_resid_post": hook} if hook else {}):
                row[f"Python, hook: {name}"] = microseconds(lambda: model(ids))
        rows.append(row)
    for name in rows[0]:
        print(f"{name:35} {statistics.median(row[name] for row in rows):6.1f} us a pass of {len(ids)} tokens")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", nargs="?")
    parser.add_argument("--toy", metavar="RUN")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--tokens", type=int, default=256)
    parser.add_argument("--no_lens", action="store_true")
    parser.add_argument("--measure", nargs=2, metavar=("KIND", "WORK"), help="for the processes that this program starts")
    args = parser.parse_args()
    if args.measure:
        measure(*args.measure, args.model, args.tokens)
        return
    if args.toy:
        print_overheads(args.toy, args.rounds)
        return
    kinds = [kind for kind in KINDS if kind != "transformer_lens" or not args.no_lens]
    for work in ("import", "cache", "sweep"):
        found = {kind: [] for kind in kinds}
        for _ in range(args.rounds):
            for kind in kinds:
                command = [sys.executable, __file__, args.model, "--tokens", str(args.tokens), "--measure", kind, work]
                done = subprocess.run(command, check=True, capture_output=True, text=True)
                found[kind].append(json.loads(done.stdout.splitlines()[-1]))
        for kind in kinds:
            seconds, mib = (statistics.median(row[key] for row in found[kind]) for key in ("seconds", "mib"))
            base = [statistics.median(row[key] for row in found["headlight"]) for key in ("seconds", "mib")]
            print(f"{work:7} {kind:17} {1000 * seconds:9.1f} ms ({seconds / base[0]:5.2f} x), {mib:6.0f} MiB ({mib / base[1]:.2f} x)")


if __name__ == "__main__":
    main()
