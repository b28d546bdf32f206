#!/usr/bin/env python3
"""Times prompts and decoding of one Llama model in Headlight, OpenVINO, llama.cpp, ik_llama.cpp and CTranslate2, in turn.

usage: generate_peers.py prepare MODEL.gguf FOLDER     (once: writes the forms that the programs read)
       generate_peers.py MODEL.gguf FOLDER [--rounds 3] [--threads 2] [--rows "decode 16,prompt 256"]

Prints a Markdown table of medians: milliseconds to the end of a prompt, and milliseconds a token after
a context of so many positions. Every measurement is a process of its own. Needs openvino, optimum-intel,
nncf (without torchvision), llama-cpp-python, ik-llama-cpp-python and ctranslate2. HEADLIGHT: the program
(default build/release/headlight).
"""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

from process import Refused, peak_rss_mib, run_json

HEADLIGHT = os.environ.get("HEADLIGHT", "build/release/headlight")
NEW_TOKENS = 32
CONTEXTS = [16, 512, 4096]
PROMPTS = [16, 256, 4096]
# Precision: Headlight's --weights and the forms of the others; None: the program does not have it.
FORMS = {
    "float32": {"headlight": "float32", "openvino": "fp32/f32", "llama": "f32", "ik_llama": "f32",
                "ctranslate2": "float32"},
    "bfloat16": {"headlight": "bfloat16", "openvino": "fp32/bf16", "llama": "f16", "ik_llama": "f16"},
    "int8": {"headlight": "int8", "openvino": "int8/bf16", "llama": "q8_0", "ik_llama": "q8_0",
             "ctranslate2": "int8"},
    "4 bits": {"headlight": "stored", "openvino": "int4/bf16", "llama": "stored", "ik_llama": "stored"},
}


def prepare(gguf: str, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    hf = folder / "hf"
    subprocess.run([HEADLIGHT, "export", gguf, "--to", "hf", "--out", hf], check=True)
    for kind in ["f32", "f16", "q8_0"]:
        command = [HEADLIGHT, "export", gguf, "--to", "gguf", "--type", kind, "--out", folder / f"{kind}.gguf"]
        subprocess.run(command, check=True)
    for form in ["fp32", "int8", "int4"]:
        export = ["optimum-cli", "export", "openvino", "--model", hf, "--task", "text-generation-with-past"]
        options = ["--weight-format", form, "--disable-convert-tokenizer"]
        options += ["--group-size", "64"] if form == "int4" else []
        subprocess.run([*export, *options, folder / form], check=True)
    for form in ["float32", "int8"]:
        convert = ["ct2-transformers-converter", "--model", hf, "--quantization", form]
        subprocess.run([*convert, "--output_dir", folder / f"ct2-{form}"], check=True)


def openvino(folder: Path, form: str, threads: int):
    import numpy
    from openvino import Core

    weights, precision = form.split("/")
    options = {"INFERENCE_NUM_THREADS": threads, "INFERENCE_PRECISION_HINT": precision}
    if weights != "fp32":
        options["DYNAMIC_QUANTIZATION_GROUP_SIZE"] = 32
    model = Core().compile_model(folder / weights / "openvino_model.xml", "CPU", options)
    request = model.create_infer_request()
    state = {"length": 0}

    def step(ids: list[int]) -> int:
        begin = state["length"]
        state["length"] += len(ids)
        logits = request.infer({
            "input_ids": numpy.array([ids], dtype=numpy.int64),
            "attention_mask": numpy.ones((1, state["length"]), dtype=numpy.int64),
            "position_ids": numpy.arange(begin, state["length"], dtype=numpy.int64)[None],
            "beam_idx": numpy.zeros(1, dtype=numpy.int32),
        }, share_outputs=True)["logits"]
        return int(logits[0, -1].argmax())

    def reset() -> None:
        request.reset_state()
        state["length"] = 0

    return step, reset


def llama(path: Path, threads: int, length: int):
    import numpy
    from llama_cpp import Llama

    model = Llama(str(path), n_ctx=length, n_threads=threads, n_threads_batch=threads, n_batch=512,
                  verbose=False)

    def step(ids: list[int]) -> int:
        model.eval(ids)
        last = model._ctx.get_logits_ith(-1)  # the program's own `scores` have room for n_batch tokens only
        return int(numpy.ctypeslib.as_array(last, shape=(model.n_vocab(),)).argmax())

    return step, model.reset


def ik_llama(path: Path, threads: int, length: int):
    import numpy
    from ik_llama_cpp import _ctypes_api
    from ik_llama_cpp._internals import IkContext, IkModel, make_batch_range

    model = IkModel(str(path))
    context = IkContext(model, n_ctx=length, n_threads=threads)
    state = {"length": 0}

    def step(ids: list[int]) -> int:
        batch = make_batch_range(ids, pos_start=state["length"])
        if context.decode(batch) != 0:
            raise RuntimeError("llama_decode failed")
        _ctypes_api.llama_batch_free(batch)
        state["length"] += len(ids)
        return int(numpy.ctypeslib.as_array(context.get_logits(), (model.n_vocab,)).argmax())

    def reset() -> None:
        context.kv_cache_clear()
        state["length"] = 0

    return step, reset


def stepwise(step, reset, prompt: int, rounds: int) -> dict:
    """Times a prompt and the tokens after it, of a program that is called once a step."""
    first, later = [], []
    for _ in range(rounds + 1):  # the first round warms up
        reset()
        start = time.perf_counter()
        token = step([7 + i % 1000 for i in range(prompt)])
        first.append(time.perf_counter() - start)
        for _ in range(NEW_TOKENS):
            start = time.perf_counter()
            token = step([token])
            later.append(time.perf_counter() - start)
    return {"first": 1e3 * median(first[1:]), "token": 1e3 * median(later[NEW_TOKENS:])}


def ctranslate2(folder: Path, form: str, threads: int, prompt: int, rounds: int) -> dict:
    """CTranslate2 gives whole texts only: a token takes the difference of two lengths."""
    from ctranslate2 import Generator

    model = Generator(str(folder / f"ct2-{form}"), compute_type=form, intra_threads=threads, inter_threads=1)
    words = json.loads((folder / f"ct2-{form}" / "vocabulary.json").read_text())
    texts = [[words[7 + i % 1000] for i in range(prompt)]]

    def seconds(count: int) -> float:
        start = time.perf_counter()
        model.generate_batch(texts, max_length=count, min_length=count, sampling_topk=1,
                             include_prompt_in_result=False)
        return time.perf_counter() - start

    seconds(2)
    short = median(seconds(1) for _ in range(rounds))
    long = median(seconds(1 + NEW_TOKENS) for _ in range(rounds))
    return {"first": 1e3 * short, "token": 1e3 * (long - short) / NEW_TOKENS}


def headlight(gguf: str, weights: str, threads: int, prompt: int, rounds: int) -> dict:
    command = [HEADLIGHT, "bench", "generate", "--model", gguf, "--weights", weights, "--json", "--threads", threads]
    command += ["--prompt_tokens", prompt, "--new_tokens", NEW_TOKENS + 1, "--rounds", rounds]
    report = run_json([str(word) for word in command], threads)
    return {"first": report["ms_to_first_token"], "token": report["ms_per_token"], "mib": report["peak_rss_mib"]}


def one(program: str, form: str, gguf: str, folder: Path, threads: int, prompt: int, rounds: int) -> dict:
    if program == "headlight":
        return headlight(gguf, form, threads, prompt, rounds)
    if program == "ctranslate2":
        report = ctranslate2(folder, form, threads, prompt, rounds)
    elif program == "openvino":
        report = stepwise(*openvino(folder, form, threads), prompt, rounds)
    else:
        path = Path(gguf) if form == "stored" else folder / f"{form}.gguf"
        load = llama if program == "llama" else ik_llama
        report = stepwise(*load(path, threads, prompt + NEW_TOKENS + 8), prompt, rounds)
    return report | {"mib": peak_rss_mib()}


def measure_length(args, precision: str, prompt: int) -> dict[str, list[dict]]:
    """Returns the reports of every program, all rounds in turn."""
    found: dict[str, list[dict]] = {}
    for _ in range(args.rounds):
        for program, form in FORMS[precision].items():
            command = [sys.executable, __file__, args.model, args.folder, "--threads", str(args.threads)]
            try:
                report = run_json([*command, "--one", program, form, str(prompt)], args.threads)
                found.setdefault(program, []).append(report)
            except Refused as refused:
                print(f"{program} {form}, {prompt} tokens: {refused}", file=sys.stderr)
    return found


def print_row(name: str, unit: str, key: str, found: dict[str, list[dict]]) -> None:
    values = {program: median(report[key] for report in reports) for program, reports in found.items()}
    best = min((v for program, v in values.items() if program != "headlight"), default=float("nan"))
    cells = [f"{values[program]:.2f}" if program in values else "" for program in FORMS["float32"]]
    ratio = best / values["headlight"] if "headlight" in values else float("nan")
    memory = [f"{median(r['mib'] for r in found[p]):.0f}" if p in found else "" for p in FORMS["float32"]]
    print(f"| {name} | {unit} | " + " | ".join(cells) + f" | {ratio:.2f} | {', '.join(filter(None, memory))} |", flush=True)


def main() -> None:
    if sys.argv[1:2] == ["prepare"]:
        prepare(sys.argv[2], Path(sys.argv[3]))
        return
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("folder")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rows", default=",".join(FORMS))
    parser.add_argument("--lengths", default=",".join(str(n) for n in sorted({*CONTEXTS, *PROMPTS})))
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        program, form, prompt = args.one
        rounds = 1 if int(prompt) > 1000 else 3
        print(json.dumps(one(program, form, args.model, Path(args.folder), args.threads, int(prompt), rounds)))
        return
    print("| row | unit | Headlight | OpenVINO | llama.cpp | ik_llama.cpp | CTranslate2 | best other / Headlight | MiB |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | --- |")
    for precision in args.rows.split(","):
        for length in map(int, args.lengths.split(",")):
            found = measure_length(args, precision, length)
            print_row(f"prompt of {length}, {precision}", "ms", "first", found)
            print_row(f"decode at {length}, {precision}", "ms/token", "token", found)


if __name__ == "__main__":
    main()
