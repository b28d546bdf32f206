"""Measures the Python package, transformers or TransformerLens on one model; prints JSON.

usage: python_package.py MODEL --measure headlight|transformers|transformer_lens import|cache|sweep
       python_package.py RUN --overhead no_hook|none|array      (a pass of 16 tokens; RUN: of configs/toy.toml)

MODEL: a Hugging Face folder of a Llama, such as an export of SmolLM2. The rows "Python" of rows.py run it.
"""

import argparse
import json
import statistics
import time

from shapes import peak_rss_mib

TOKENS = 256
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
HOOKS = {"no_hook": None, "none": lambda array, point: None, "array": lambda array, point: 2 * array}


def measured(path, kind, work):
    """Seconds of one kind of work in this process."""
    if work == "import":
        start = time.perf_counter()
        __import__(kind)
        return time.perf_counter() - start
    engine = KINDS[kind](path)
    ids = engine.ids(TOKENS if work == "cache" else 15)
    if work == "cache":
        return timed(lambda: engine.cache(ids), 5)
    other = [*ids[:9], ids[1], *ids[10:]]
    return timed(lambda: engine.sweep(ids, other), 2)


def overhead(run, name, repeats=3000):
    """The fastest of many calls, as `headlight bench attention` measures."""
    model, ids, times = Headlight(run).model, list(range(5, 21)), []
    with model.hooks({"blocks.1.hook_resid_post": HOOKS[name]} if HOOKS[name] else {}):
        for _ in range(repeats):
            start = time.perf_counter()
            model(ids)
            times.append(time.perf_counter() - start)
    return min(times)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("--measure", nargs=2, metavar=("KIND", "WORK"))
    parser.add_argument("--overhead", choices=HOOKS)
    args = parser.parse_args()
    seconds = overhead(args.model, args.overhead) if args.overhead else measured(args.model, *args.measure)
    print(json.dumps({"ms": 1e3 * seconds, "us": 1e6 * seconds, "peak_rss_mib": peak_rss_mib()}))


if __name__ == "__main__":
    main()
