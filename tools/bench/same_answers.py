#!/usr/bin/env python3
"""Compares the greedy answers of a tuned chat model with those of its exports in other programs.

usage: same_answers.py PATH_OF_HEADLIGHT MODEL [--count N] [--threads N]

Exports MODEL as a Hugging Face folder and as GGUF (float32), asks for the first answer of N conversations of
data/cards_held_out.jsonl with Headlight, transformers and llama-cpp-python, and prints how many answers are the
same. Leaves out a program whose package is missing, and says so. Exit code 1 if an answer differs.
"""

import argparse
import importlib.util
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from exact_answers import ROOT, answers_of

LENGTH = 48  # tokens of an answer


def in_transformers(folder: Path, chats: list, threads: int) -> list:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer
    torch.set_num_threads(threads)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    answers = []
    for chat in chats:
        inputs = tokenizer.apply_chat_template(chat, add_generation_prompt=True, return_tensors="pt", return_dict=True)
        ids = model.generate(**inputs, do_sample=False, max_new_tokens=LENGTH)[0, inputs["input_ids"].shape[1]:]
        answers.append(tokenizer.decode(ids, skip_special_tokens=True))
    return answers


def in_llama_cpp(file: Path, chats: list, threads: int) -> list:
    from llama_cpp import Llama
    model = Llama(str(file), n_ctx=2048, n_threads=threads, n_threads_batch=threads, verbose=False)
    return [model.create_chat_completion(chat, temperature=0, max_tokens=LENGTH)["choices"][0]["message"]["content"]
            for chat in chats]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("model")
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    lines = (ROOT / "data/cards_held_out.jsonl").read_text().splitlines()[:args.count]
    chats = [json.loads(line)["messages"][:1] for line in lines]
    expected = answers_of(args.program, args.model, chats)
    differ = False
    with tempfile.TemporaryDirectory() as name:
        hf, gguf = Path(name) / "hf", Path(name) / "tuned.gguf"
        for how in (["--to", "hf", "--out", hf], ["--to", "gguf", "--type", "f32", "--out", gguf]):
            subprocess.run([args.program, "export", args.model, *map(str, how)], check=True, stdout=subprocess.DEVNULL)
        for package, ask, path in (("transformers", in_transformers, hf), ("llama_cpp", in_llama_cpp, gguf)):
            if importlib.util.find_spec(package) is None:
                print(f"{package} is not installed: left out")
                continue
            answers = ask(path, chats, args.threads)
            same = sum(a == b for a, b in zip(answers, expected))
            print(f"{package}: {same} of {len(chats)} answers are the same")
            for ours, theirs in zip(expected, answers):
                if ours != theirs:
                    differ = True
                    print(f"  Headlight {ours!r}\n  {package} {theirs!r}")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
