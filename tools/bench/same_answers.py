#!/usr/bin/env python3
"""Greedy answers of a tuned chat model to the questions of data/cards_held_out.jsonl.

usage: same_answers.py PATH_OF_HEADLIGHT MODEL [--exact] [--count N] [--threads N]

Exports MODEL as a Hugging Face folder and as GGUF (float32), asks for the first answer of N conversations with Headlight,
transformers and llama-cpp-python, and prints how many answers are the same. Leaves out a program whose package is
missing, and says so. Exit code 1 if an answer differs. --exact asks Headlight alone for every answer, with the true
messages before it, and prints the shares of answers exactly as in the file, and in the form of a card.
"""

import argparse
import importlib.util
import json
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path

from measure import ROOT, served

LENGTH = 48  # tokens of an answer


def ask(address: str, messages: list) -> str:
    body = json.dumps({"messages": messages, "temperature": 0, "max_tokens": LENGTH}).encode()
    request = urllib.request.Request(address + "/v1/chat/completions", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)["choices"][0]["message"]["content"]


def in_headlight(program: str, model: str, chats: list) -> list:
    with served(program, model) as address:
        return [ask(address, messages) for messages in chats]


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


def print_exact(args, conversations: list) -> None:
    pairs = [(messages[:place], message["content"]) for messages in conversations
             for place, message in enumerate(messages) if message["role"] == "assistant"]
    answers = in_headlight(args.program, args.model, [chat for chat, _ in pairs])
    exact = sum(answer == wanted for answer, (_, wanted) in zip(answers, pairs))
    formed = sum(answer.startswith(("[card] ", "[카드] ")) for answer in answers)
    print(f"{len(pairs)} answers: {100 * exact / len(pairs):.1f} % exact, "
          f"{100 * formed / len(pairs):.1f} % in the form of a card")


def differences(args, conversations: list) -> int:
    """Prints how many answers of each program are the same; returns the number of others."""
    chats = [messages[:1] for messages in conversations]
    expected = in_headlight(args.program, args.model, chats)
    differ = 0
    with tempfile.TemporaryDirectory() as name:
        hf, gguf = Path(name) / "hf", Path(name) / "tuned.gguf"
        for how in (["--to", "hf", "--out", hf], ["--to", "gguf", "--type", "f32", "--out", gguf]):
            subprocess.run([args.program, "export", args.model, *map(str, how)], check=True, stdout=subprocess.DEVNULL)
        for package, answers_of, path in (("transformers", in_transformers, hf), ("llama_cpp", in_llama_cpp, gguf)):
            if importlib.util.find_spec(package) is None:
                print(f"{package} is not installed: left out")
                continue
            pairs = [pair for pair in zip(expected, answers_of(path, chats, args.threads)) if pair[0] != pair[1]]
            print(f"{package}: {len(chats) - len(pairs)} of {len(chats)} answers are the same")
            print(*(f"  Headlight {ours!r}\n  {package} {theirs!r}" for ours, theirs in pairs), sep="\n")
            differ += len(pairs)
    return differ


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("model")
    parser.add_argument("--exact", action="store_true")
    parser.add_argument("--count", type=int, help="conversations [20; with --exact 60]")
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    lines = (ROOT / "data/cards_held_out.jsonl").read_text().splitlines()[:args.count or (60 if args.exact else 20)]
    conversations = [json.loads(line)["messages"] for line in lines]
    if args.exact:
        print_exact(args, conversations)
        return 0
    return 1 if differences(args, conversations) else 0


if __name__ == "__main__":
    sys.exit(main())
