"""Times greedy decoding with CTranslate2; prints JSON like `headlight bench generate`.

The model is transformers' GPT-2 with random weights, converted once and kept in
$HEADLIGHT_BENCH_CACHE.
"""

import argparse
import json
import os
import shutil
import statistics
import tempfile
import time
from pathlib import Path

import ctranslate2
from shapes import Shape, load_shape, peak_rss_mib


def write_source(folder: str, shape: Shape) -> None:
    """Writes a GPT-2 directory whose tokenizer has a word for every id."""
    from tokenizers import Tokenizer, models
    from transformers import PreTrainedTokenizerFast
    from transformers_models import random_model

    words = {f"w{number}": number for number in range(shape.vocab_size)}
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer(models.WordLevel(words, unk_token="w0")),
        unk_token="w0",
        bos_token="w0",
        eos_token="w0",
    )
    tokenizer.save_pretrained(folder)
    random_model(shape, shape.block_size).save_pretrained(folder)


def converted_model(name: str, shape: Shape) -> str:
    path = Path(os.environ.get("HEADLIGHT_BENCH_CACHE", tempfile.gettempdir())) / f"ct2-{name}"
    if not (path / "model.bin").exists():
        shutil.rmtree(path, ignore_errors=True)
        with tempfile.TemporaryDirectory() as source:
            write_source(source, shape)
            ctranslate2.converters.TransformersConverter(source).convert(str(path))
    return str(path)


def measure(generator: ctranslate2.Generator, prompt: int, count: int, rounds: int) -> dict:
    """The first token is generated with the prompt; the time of the others is the difference."""
    words = [f"w{number + 1}" for number in range(prompt)]

    def seconds(length: int) -> float:
        start = time.perf_counter()
        result = generator.generate_batch(
            [words],
            max_length=length,
            min_length=length,
            sampling_topk=1,
            include_prompt_in_result=False,
        )
        elapsed = time.perf_counter() - start
        assert len(result[0].sequences_ids[0]) == length
        return elapsed

    seconds(count)
    first, per_token = [], []
    for _ in range(rounds):
        first.append(seconds(1))
        per_token.append((seconds(count) - first[-1]) / (count - 1))
    return {
        "ms_per_token": 1e3 * statistics.median(per_token),
        "ms_to_first_token": 1e3 * statistics.median(first),
        "compute_type": generator.compute_type,
        "peak_rss_mib": peak_rss_mib(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("config")
    parser.add_argument("--dtype", default="float32", help="float32, bfloat16, int8, ...")
    parser.add_argument("--prompt_tokens", type=int, default=16)
    parser.add_argument("--new_tokens", type=int, default=48)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--convert_only", action="store_true")
    arguments = parser.parse_args()

    path = converted_model(arguments.config, load_shape(arguments.config))
    if arguments.convert_only:
        print(json.dumps({"path": path}))
        return
    generator = ctranslate2.Generator(
        path, device="cpu", compute_type=arguments.dtype, intra_threads=arguments.threads
    )
    report = measure(
        generator, arguments.prompt_tokens, arguments.new_tokens, arguments.rounds
    )
    print(json.dumps(report))


if __name__ == "__main__":
    main()
