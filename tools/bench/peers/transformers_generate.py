"""Times greedy decoding with transformers' GPT-2; prints JSON like `headlight bench generate`.

The loop calls the model itself with its key/value cache, which is faster than generate().
"""

import argparse
import json
import statistics
import time

import torch
from shapes import load_shape, peak_rss_mib
from transformers import DynamicCache
from transformers_models import random_model


@torch.inference_mode()
def token_times(model, prompt: torch.Tensor, count: int) -> list[float]:
    """Returns the seconds of every token, the first one with its prompt."""
    cache, ids, seconds = DynamicCache(config=model.config), prompt, []
    for _ in range(count):
        start = time.perf_counter()
        logits = model(ids, past_key_values=cache, use_cache=True, logits_to_keep=1).logits
        ids = logits[:, -1:].argmax(-1)
        ids.item()
        seconds.append(time.perf_counter() - start)
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("config")
    parser.add_argument("--dtype", choices=["float32", "bfloat16"], default="float32")
    parser.add_argument("--prompt_tokens", type=int, default=16)
    parser.add_argument("--new_tokens", type=int, default=48)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()

    torch.set_num_threads(arguments.threads)
    shape = load_shape(arguments.config)
    model = random_model(shape, shape.block_size).to(getattr(torch, arguments.dtype))
    prompt = torch.randint(shape.vocab_size, (1, arguments.prompt_tokens))
    token_times(model, prompt, arguments.new_tokens)
    rounds = [token_times(model, prompt, arguments.new_tokens) for _ in range(arguments.rounds)]
    report = {
        "ms_per_token": 1e3 * statistics.median(s for times in rounds for s in times[1:]),
        "ms_to_first_token": 1e3 * statistics.median(times[0] for times in rounds),
        "peak_rss_mib": peak_rss_mib(),
    }
    print(json.dumps(report))


if __name__ == "__main__":
    main()
