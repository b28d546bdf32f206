#!/usr/bin/env python3
"""Times llama.cpp and CTranslate2 generating 1 and 16 texts at once in one process; prints the rows of serve_load.py.

usage: batches.py llama FILE.gguf | ct2 FOLDER [--clients 1,16] [--tokens 128] [--prompt 45] [--threads 2] [--dtype int8]

llama.cpp's batch API, through llama-cpp-python: the prompts one after the other, then a decode call for the next token of
every text, and the largest logit of each by numpy. CTranslate2's generate_batch with a callback for each token. No server
and no network; all texts begin together and no other joins, so nothing is between two steps.
"""

import argparse
import json
import time

import numpy as np


def llama_texts(options, count):
    """Returns the times since the start at which every text had its next token."""
    import llama_cpp as l

    parameters = l.llama_model_default_params()
    model = l.llama_model_load_from_file(options.model.encode(), parameters)
    wanted = l.llama_context_default_params()
    wanted.n_ctx = 16384
    wanted.n_batch = wanted.n_ubatch = 512
    wanted.n_seq_max = max(count, 1)
    wanted.n_threads = wanted.n_threads_batch = options.threads
    wanted.kv_unified = True
    context = l.llama_init_from_model(model, wanted)
    vocabulary = l.llama_vocab_n_tokens(l.llama_model_get_vocab(model))
    batch = l.llama_batch_init(512, 0, 1)
    draw = np.random.default_rng(1)

    def decode(tokens):  # list of (token, position, text, whether logits are needed)
        batch.n_tokens = len(tokens)
        for i, (token, position, text, wanted) in enumerate(tokens):
            batch.token[i], batch.pos[i] = int(token), position
            batch.n_seq_id[i], batch.seq_id[i][0], batch.logits[i] = 1, text, wanted
        if l.llama_decode(context, batch) != 0:
            raise RuntimeError("llama_decode failed")

    def next_of(place):
        return np.ctypeslib.as_array(l.llama_get_logits_ith(context, place), (vocabulary,)).argmax()

    begin = time.perf_counter()
    latest, times = [], []
    for text in range(count):
        prompt = draw.integers(0, vocabulary, options.prompt)
        decode([(token, i, text, i + 1 == options.prompt) for i, token in enumerate(prompt)])
        latest.append(next_of(options.prompt - 1))
    times.append(time.perf_counter() - begin)
    for step in range(options.tokens - 1):
        decode([(latest[text], options.prompt + step, text, True) for text in range(count)])
        latest = [next_of(text) for text in range(count)]
        times.append(time.perf_counter() - begin)
    l.llama_free(context)
    l.llama_model_free(model)
    return times


def ct2_texts(options, count):
    import ctranslate2

    generator = ctranslate2.Generator(
        options.model, device="cpu", compute_type=options.dtype, intra_threads=options.threads
    )
    draw = np.random.default_rng(1)
    prompts = [[f"w{word}" for word in draw.integers(1, 50000, options.prompt)] for _ in range(count)]
    times = []

    def told(result):
        if result.batch_id == 0:
            times.append(time.perf_counter() - begin)
        return False

    begin = time.perf_counter()
    generator.generate_batch(
        prompts,
        max_length=options.tokens,
        min_length=options.tokens,
        sampling_topk=1,
        include_prompt_in_result=False,
        callback=told,
    )
    times[-1] = time.perf_counter() - begin
    return times


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("kind", choices=("llama", "ct2"))
    parser.add_argument("model")
    parser.add_argument("--clients", default="1,16")
    parser.add_argument("--tokens", type=int, default=128)
    parser.add_argument("--prompt", type=int, default=45)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--dtype", default="float32")
    options = parser.parse_args()
    rows = []
    for count in map(int, options.clients.split(",")):
        times = (llama_texts if options.kind == "llama" else ct2_texts)(options, count)
        gaps = np.diff(times)
        rows.append(
            {
                "clients": count,
                "tokens_per_second": count * options.tokens / times[-1],
                "first_ms": 1000 * times[0],
                "median_ms": 1000 * float(np.median(gaps)),
                "p99_ms": 1000 * float(np.quantile(gaps, 0.99)),
            }
        )
    print(json.dumps(rows))


if __name__ == "__main__":
    main()
