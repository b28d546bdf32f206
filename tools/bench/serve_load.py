#!/usr/bin/env python3
"""Tokens per second and the time between tokens of a server with OpenAI's API, for some numbers of clients at once.

usage: serve_load.py URL [--clients 1,16] [--tokens 128] [--prompt 32] [--rounds 3] [--model NAME] [--key KEY]

Every client asks for one streamed completion after the other: --rounds of them, each with a prompt of --prompt words of
its own and exactly --tokens tokens (ignore_eos). A row says how many tokens all clients got per second from the first
request to the last answer, the median time to the first token, and the median and 99th percentile of the times between
one client's tokens. Works with Headlight, llama-server and others that know ignore_eos.
"""

import argparse
import http.client
import json
import random
import statistics
import threading
import time
import urllib.parse

WORDS = "the cat sat on a mat and looked at red birds that sang in old green trees by the sea".split()


class Client(threading.Thread):
    def __init__(self, number, options):
        super().__init__()
        self.options = options
        self.random = random.Random(number)
        self.first = []
        self.gaps = []
        self.tokens = 0
        self.failure = None

    def run(self):
        try:
            for _ in range(self.options.rounds):
                self.ask()
        except Exception as error:
            self.failure = error

    def ask(self):
        url = urllib.parse.urlsplit(self.options.url)
        connection = http.client.HTTPConnection(url.hostname, url.port, timeout=600)
        body = {
            "prompt": " ".join(self.random.choice(WORDS) for _ in range(self.options.prompt)),
            "max_tokens": self.options.tokens,
            "temperature": self.options.temperature,
            "seed": self.random.randrange(1 << 30),
            "ignore_eos": True,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        if self.options.model:
            body["model"] = self.options.model
        headers = {"Content-Type": "application/json"}
        if self.options.key:
            headers["Authorization"] = "Bearer " + self.options.key
        begin = time.perf_counter()
        connection.request("POST", "/v1/completions", json.dumps(body), headers)
        answer = connection.getresponse()
        if answer.status != 200:
            raise RuntimeError(f"status {answer.status}: {answer.read(300)}")
        last = None
        for line in answer:
            if not line.startswith(b"data: ") or line.startswith(b"data: [DONE]"):
                continue
            now = time.perf_counter()
            event = json.loads(line[6:])
            if event.get("usage"):
                self.tokens += event["usage"]["completion_tokens"]
            if not event["choices"] or not event["choices"][0]["text"]:
                continue
            if last is None:
                self.first.append(now - begin)
            else:
                self.gaps.append(now - last)
            last = now
        connection.close()


def measure(count, options):
    clients = [Client(number, options) for number in range(count)]
    begin = time.perf_counter()
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    seconds = time.perf_counter() - begin
    for client in clients:
        if client.failure:
            raise client.failure
    gaps = sorted(gap for client in clients for gap in client.gaps)
    return {
        "clients": count,
        "tokens_per_second": sum(client.tokens for client in clients) / seconds,
        "first_ms": 1000 * statistics.median(first for client in clients for first in client.first),
        "median_ms": 1000 * gaps[len(gaps) // 2],
        "p99_ms": 1000 * gaps[min(len(gaps) - 1, int(0.99 * len(gaps)))],
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("url")
    parser.add_argument("--clients", default="1,16")
    parser.add_argument("--tokens", type=int, default=128)
    parser.add_argument("--prompt", type=int, default=32, help="words")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--temperature", type=float, default=0.0)
    parser.add_argument("--model")
    parser.add_argument("--key")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows = [measure(int(count), options) for count in options.clients.split(",")]
    if options.json:
        print(json.dumps(rows))
        return
    print("clients   tokens/s   times one   first token   between: median       p99   p99/median")
    for row in rows:
        print(
            f"{row['clients']:7d} {row['tokens_per_second']:10.1f}"
            f" {row['tokens_per_second'] / rows[0]['tokens_per_second']:10.2f}x"
            f" {row['first_ms']:10.1f} ms {row['median_ms']:15.1f} ms {row['p99_ms']:6.1f} ms"
            f" {row['p99_ms'] / row['median_ms']:10.2f}x"
        )


if __name__ == "__main__":
    main()
