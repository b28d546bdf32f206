#!/usr/bin/env python3
"""Share of answers that a model gives exactly as data/cards_held_out.jsonl has them, greedily.

usage: exact_answers.py PATH_OF_HEADLIGHT MODEL [--count N]

Every answer of a conversation is asked for with the true messages before it. Prints the shares of all answers
and of those in the form of a card.
"""

import argparse
import json
import subprocess
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def ask(address, messages):
    body = json.dumps({"messages": messages, "temperature": 0, "max_tokens": 48}).encode()
    request = urllib.request.Request(address + "/v1/chat/completions", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)["choices"][0]["message"]["content"]


def answers_of(program, model, chats):
    """Greedy answers to lists of messages."""
    server = subprocess.Popen([program, "serve", model, "--port", "0", "--json"], stdout=subprocess.PIPE, text=True)
    try:
        address = json.loads(server.stdout.readline())["address"]
        return [ask(address, messages) for messages in chats]
    finally:
        server.terminate()
        server.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("model")
    parser.add_argument("--count", type=int, default=60)
    args = parser.parse_args()
    lines = (ROOT / "data/cards_held_out.jsonl").read_text().splitlines()[:args.count]
    chats, expected = [], []
    for line in lines:
        messages = json.loads(line)["messages"]
        for place, message in enumerate(messages):
            if message["role"] == "assistant":
                chats.append(messages[:place])
                expected.append(message["content"])
    answers = answers_of(args.program, args.model, chats)
    exact = sum(answer == wanted for answer, wanted in zip(answers, expected))
    formed = sum(answer.startswith(("[card] ", "[카드] ")) for answer in answers)
    asked = len(answers)
    print(f"{asked} answers: {100 * exact / asked:.1f} % exact, {100 * formed / asked:.1f} % in the form of a card")


if __name__ == "__main__":
    main()
