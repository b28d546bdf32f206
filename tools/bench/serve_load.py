#!/usr/bin/env python3
"""Tokens per second and the time between tokens of a server with OpenAI's API, for some numbers of clients at once.

usage: serve_load.py URL [--clients 1,16] [--tokens 128] [--prompt 32] [--rounds 3] [--probe] [--analyses 2] [--model NAME] [--key KEY]

Every client asks for one streamed completion after the other: --rounds of them, each with a prompt of --prompt words of
its own and exactly --tokens tokens (ignore_eos). A row gives the tokens per second of all clients from the first
request to the last answer, the median time to the first token, and the median and 99th percentile of the times between
one client's tokens. One thread reads everything and only notes when it came: a busy client would take the server's CPU.
Works with Headlight, llama-server and other servers that support ignore_eos.
"""

import argparse
import bisect
import json
import random
import selectors
import socket
import statistics
import time
import urllib.parse

WORDS = "the cat sat on a mat and looked at red birds that sang in old green trees by the sea".split()


class Answer:
    """The bytes of an answer and the times at which they came."""

    def __init__(self):
        self.begin = time.perf_counter()
        self.bytes = bytearray()
        self.ends = []  # end of each received part, in bytes
        self.times = []

    def add(self, data):
        self.bytes += data
        self.ends.append(len(self.bytes))
        self.times.append(time.perf_counter())

    def time_of(self, place):
        return self.times[bisect.bisect_right(self.ends, place)]

    def events(self):
        """Returns pairs of a time and an event."""
        head, body = self.bytes.split(b"\r\n\r\n", 1)
        if not head.startswith(b"HTTP/1.1 200"):
            raise RuntimeError(bytes(self.bytes[:400]).decode(errors="replace"))
        if b"chunked" not in head.lower():
            raise RuntimeError("expected a chunked answer")
        at = len(head) + 4
        text = b""
        while size := int(self.bytes[at : (line := self.bytes.index(b"\r\n", at))], 16):
            text += self.bytes[line + 2 : line + 2 + size]
            came = self.time_of(line + 1 + size)
            at = line + 4 + size
            *whole, text = text.split(b"\n\n")
            for event in whole:
                if event.startswith(b"data: {"):
                    yield came, json.loads(event[6:])


class Client:
    path = "/v1/completions"
    is_load = True  # the measurement ends with the last of these

    def __init__(self, number, options):
        self.options = options
        self.random = random.Random(number)
        self.left = options.rounds
        self.answers = []

    def words(self, count):
        return " ".join(self.random.choice(WORDS) for _ in range(count))

    def body(self):
        return {"prompt": self.words(self.options.prompt), "max_tokens": self.options.tokens,
                "temperature": self.options.temperature, "seed": self.random.randrange(1 << 30), "ignore_eos": True,
                "stream": True, "stream_options": {"include_usage": True}}

    def ask(self):
        self.left -= 1
        url = urllib.parse.urlsplit(self.options.url)
        body = self.body()
        if self.options.model:
            body["model"] = self.options.model
        data = json.dumps(body).encode()
        key = f"Authorization: Bearer {self.options.key}\r\n" if self.options.key else ""
        head = (f"POST {self.path} HTTP/1.1\r\nHost: {url.netloc}\r\n{key}Connection: close\r\n"
                f"Content-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n")
        self.socket = socket.create_connection((url.hostname, url.port), timeout=600)
        self.answers.append(Answer())
        self.socket.sendall(head.encode() + data)
        return self.socket

    def read(self):
        """Reads more of the answer; returns False at its end."""
        data = self.socket.recv(1 << 16)
        if data:
            self.answers[-1].add(data)
        else:
            self.socket.close()
        return bool(data)


class Probe(Client):
    """Asks for one token again and again: how long does a small request wait beside the others?"""

    is_load = False

    def body(self):
        return {"prompt": self.words(4), "max_tokens": 1, "stream": True}


class Analysis(Client):
    """Asks for the predictions of all layers again and again."""

    path = "/api/lens"
    is_load = False

    def body(self):
        return {"text": self.words(100)}


def run(clients):
    selector = selectors.DefaultSelector()
    for client in clients:
        selector.register(client.ask(), selectors.EVENT_READ, client)
    loaded = sum(client.is_load for client in clients)
    while loaded > 0:
        for key, _ in selector.select():
            client = key.data
            if not client.read():
                selector.unregister(key.fileobj)
                if client.left or not client.is_load:
                    selector.register(client.ask(), selectors.EVENT_READ, client)
                else:
                    loaded -= 1


def share_of(share, values):
    """The value that this share of the values does not exceed."""
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def measure(count, options):
    clients = [Client(number, options) for number in range(count)]
    probes = [Probe(count, options)] if options.probe else []
    analyses = [Analysis(count + 1 + number, options) for number in range(options.analyses)]
    begin = time.perf_counter()
    run(clients + probes + analyses)
    seconds = time.perf_counter() - begin
    first, gaps, tokens, prompts = [], [], 0, []
    for answer in (answer for client in clients for answer in client.answers):
        last = None
        for came, event in answer.events():
            if event.get("usage"):
                tokens += event["usage"]["completion_tokens"]
                prompts.append(event["usage"]["prompt_tokens"])
            if event["choices"] and event["choices"][0]["text"]:
                (first if last is None else gaps).append(came - (answer.begin if last is None else last))
                last = came
    waits = [answer.times[-1] - answer.begin for probe in probes for answer in probe.answers[:-1]]
    probed = {"probes": len(waits), "probe_p95_s": share_of(0.95, waits), "probe_p99_s": share_of(0.99, waits),
              "probe_worst_s": max(waits)} if waits else {}
    return {"clients": count, "tokens_per_second": tokens / seconds, "prompt_tokens": statistics.median(prompts),
            "first_ms": 1000 * statistics.median(first), "median_ms": 1000 * share_of(0.5, gaps),
            "p99_ms": 1000 * share_of(0.99, gaps), "first_worst_s": max(first), **probed}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("url")
    parser.add_argument("--clients", default="1,16")
    parser.add_argument("--tokens", type=int, default=128)
    parser.add_argument("--prompt", type=int, default=32, help="words")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--probe", action="store_true", help="also ask for one token again and again")
    parser.add_argument("--analyses", type=int, default=0, help="clients that also ask for analyses, again and again")
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
        print(f"{row['clients']:7d} {row['tokens_per_second']:10.1f}"
              f" {row['tokens_per_second'] / rows[0]['tokens_per_second']:10.2f}x {row['first_ms']:10.1f} ms"
              f" {row['median_ms']:15.1f} ms {row['p99_ms']:6.1f} ms {row['p99_ms'] / max(row['median_ms'], 1e-3):10.2f}x")
        if "probes" in row:
            print(f"        {row['probes']} probes: 95 % within {row['probe_p95_s']:.2f} s, 99 % within"
                  f" {row['probe_p99_s']:.2f} s, worst {row['probe_worst_s']:.2f} s")


if __name__ == "__main__":
    main()
