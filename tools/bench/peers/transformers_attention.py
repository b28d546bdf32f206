"""Times a forward pass of transformers' GPT-2 that gives the attention weights of every head.

Prints JSON with the fastest of several runs, as `headlight bench attention` does: with the weights
(eager attention, output_attentions=True) and without (scaled_dot_product_attention).
"""

import argparse
import json
import time

import torch
from shapes import load_shape, peak_rss_mib
from transformers_models import random_model


@torch.inference_mode()
def fastest(model, ids, budget: float, **options) -> float:
    model(ids, **options)
    times, begin = [], time.perf_counter()
    while len(times) < 3 or time.perf_counter() - begin < budget:
        start = time.perf_counter()
        model(ids, use_cache=False, **options)
        times.append(time.perf_counter() - start)
    return 1e3 * min(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("config")
    parser.add_argument("--length", type=int, required=True)
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()

    torch.set_num_threads(arguments.threads)
    shape = load_shape(arguments.config)
    ids = torch.randint(shape.vocab_size, (1, arguments.length))
    plain = fastest(random_model(shape, arguments.length), ids, 0.5)
    recorded = fastest(
        random_model(shape, arguments.length, "eager"), ids, 0.5, output_attentions=True
    )
    report = {"model_ms": plain, "model_recorded_ms": recorded, "peak_rss_mib": peak_rss_mib()}
    print(json.dumps(report))


if __name__ == "__main__":
    main()
