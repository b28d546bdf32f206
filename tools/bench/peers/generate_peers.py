"""Times a prompt and the tokens after it in OpenVINO, llama.cpp, ik_llama.cpp and CTranslate2 on one Llama model.

usage: generate_peers.py prepare HEADLIGHT MODEL.gguf FOLDER      (writes the forms that the programs read)
       generate_peers.py MODEL.gguf FOLDER --threads N --one PROGRAM FORM LENGTH

Prints JSON with the keys of `headlight bench generate`. Needs openvino, optimum-intel, nncf (without torchvision),
llama-cpp-python, ik-llama-cpp-python and ctranslate2.
"""

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

from shapes import peak_rss_mib

NEW_TOKENS = 32


def prepare(headlight: str, gguf: str, folder: Path) -> None:
    binaries = Path(sys.executable).parent
    folder.mkdir(parents=True, exist_ok=True)
    hf = folder / "hf"
    subprocess.run([headlight, "export", gguf, "--to", "hf", "--out", hf], check=True)
    for kind in ["f32", "f16", "q8_0"]:
        command = [headlight, "export", gguf, "--to", "gguf", "--type", kind, "--out", folder / f"{kind}.gguf"]
        subprocess.run(command, check=True)
    for form in ["fp32", "int8", "int4"]:
        export = [binaries / "optimum-cli", "export", "openvino", "--model", hf, "--task", "text-generation-with-past"]
        options = ["--weight-format", form, "--disable-convert-tokenizer"]
        options += ["--group-size", "64"] if form == "int4" else []
        subprocess.run([*export, *options, folder / form], check=True)
    for form in ["float32", "int8"]:
        convert = [binaries / "ct2-transformers-converter", "--model", hf, "--quantization", form]
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
    return {"ms_to_first_token": 1e3 * median(first[1:]), "ms_per_token": 1e3 * median(later[NEW_TOKENS:])}


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
    return {"ms_to_first_token": 1e3 * short, "ms_per_token": 1e3 * (long - short) / NEW_TOKENS}


def one(program: str, form: str, gguf: str, folder: Path, threads: int, prompt: int) -> dict:
    rounds = 1 if prompt > 1000 else 3
    if program == "ctranslate2":
        return ctranslate2(folder, form, threads, prompt, rounds)
    if program == "openvino":
        return stepwise(*openvino(folder, form, threads), prompt, rounds)
    path = Path(gguf) if form == "stored" else folder / f"{form}.gguf"
    load = llama if program == "llama" else ik_llama
    return stepwise(*load(path, threads, prompt + NEW_TOKENS + 8), prompt, rounds)


def main() -> None:
    if sys.argv[1:2] == ["prepare"]:
        prepare(sys.argv[2], sys.argv[3], Path(sys.argv[4]))
        return
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--one", nargs=3, required=True, metavar=("PROGRAM", "FORM", "LENGTH"))
    args = parser.parse_args()
    program, form, prompt = args.one
    report = one(program, form, args.model, args.folder, args.threads, int(prompt))
    print(json.dumps(report | {"peak_rss_mib": peak_rss_mib()}))


if __name__ == "__main__":
    main()
