#!/usr/bin/env python3
"""Random requests to `headlight serve` for a long time: its memory and open files may not grow.

usage: serve_soak.py HEADLIGHT MODEL [--seconds 3600] [--clients 12] [--seed 1]

Starts the server and asks it everything at once: completions of all kinds, texts that are left half-way, bodies and heads
that are cut, wrong or too large, tokens, models, metrics and what heads do. Prints what came back and how much memory and
how many files were open, and ends with 1 when an answer is a 5xx, memory grows after the first fifth, files stay open,
or SIGTERM does not end the server with 0.
"""

import argparse
import collections
import http.client
import json
import os
import pathlib
import random
import socket
import subprocess
import sys
import threading
import time

TEXT = "Once upon a time there was a red cat that sat on a mat by the sea and looked at birds. "


class Client(threading.Thread):
    def __init__(self, port, seed, end):
        super().__init__()
        self.port, self.end = port, end
        self.random = random.Random(seed)
        self.statuses = collections.Counter()

    def run(self):
        kinds = [self.complete] * 6 + [self.leave] * 2 + [self.cut, self.spoil, self.ask, self.inspect]
        while time.time() < self.end:
            try:
                self.random.choice(kinds)()
            except (OSError, http.client.HTTPException):
                self.statuses["closed"] += 1

    def body(self):
        r = self.random
        prompt = TEXT[: r.randrange(len(TEXT))] * r.choice((1, 1, 1, 4))
        body = {"prompt": prompt, "max_tokens": r.randrange(1, 60), "seed": r.randrange(1000)}
        if r.random() < 0.3:
            body |= {"n": r.randrange(1, 5), "logprobs": r.randrange(6)}
        if r.random() < 0.3:
            body |= {"stop": [" the", "."], "frequency_penalty": r.uniform(-2, 2), "top_p": r.random()}
        if r.random() < 0.2:
            body["echo"] = True
        if r.random() < 0.2:
            body["logit_bias"] = {str(r.randrange(50)): r.uniform(-100, 100)}
        body["stream"] = r.random() < 0.5
        return body

    def post(self, path, body):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        connection.request("POST", path, body, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        answer.read()
        connection.close()
        self.statuses[answer.status] += 1

    def complete(self):
        self.post("/v1/completions", json.dumps(self.body()))

    def raw(self, data, wait):
        with socket.create_connection(("127.0.0.1", self.port), timeout=30) as connection:
            connection.sendall(data)
            return connection.recv(4096)[:12] if wait else b""

    def request(self):
        body = json.dumps(self.body() | {"max_tokens": 500}).encode()
        head = f"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body

    def leave(self):
        self.raw(self.request(), self.random.random() < 0.5)
        self.statuses["left"] += 1

    def cut(self):
        data = self.request()
        self.raw(data[: self.random.randrange(1, len(data))], False)
        self.statuses["cut"] += 1

    def spoil(self):
        data = bytearray(self.request())
        for _ in range(self.random.randrange(1, 20)):
            data[self.random.randrange(len(data))] = self.random.randrange(256)
        if self.random.random() < 0.2:
            data = b"GET / HTTP/1.1\r\nX: " + b"x" * 100_000
        self.raw(bytes(data), False)
        self.statuses["spoiled"] += 1

    def ask(self):
        path, body = self.random.choice((
            ("/tokenize", {"content": TEXT * self.random.randrange(1, 100)}),
            ("/detokenize", {"tokens": [self.random.randrange(50) for _ in range(100)]}),
            ("/v1/completions", {"prompt": TEXT * 1000}),
            ("/v1/completions", {"prompt": "x" * (1 << 20)}),
            ("/nothing", {}),
        ))
        self.post(path, json.dumps(body))
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        connection.request("GET", self.random.choice(("/health", "/metrics", "/v1/models", "/")))
        self.statuses[connection.getresponse().status] += 1
        connection.close()

    def inspect(self):
        path = self.random.choice(("/api/predict", "/api/lens", "/api/attention", "/api/scores"))
        body = {"text": TEXT[: self.random.randrange(8, 60)]}
        self.post(path, json.dumps(body if path != "/api/scores" else body | {"repeats": 1}))


def resident_mib(process):
    pages = int(pathlib.Path(f"/proc/{process.pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def open_files(process):
    return len(os.listdir(f"/proc/{process.pid}/fd"))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("headlight")
    parser.add_argument("model")
    parser.add_argument("--seconds", type=float, default=3600)
    parser.add_argument("--clients", type=int, default=12)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    command = [options.headlight, "serve", options.model, "--port", "0", "--json"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    port = int(json.loads(server.stdout.readline())["address"].rsplit(":", 1)[1])
    files = open_files(server)
    begin = time.time()
    clients = [Client(port, options.seed * 1000 + i, begin + options.seconds) for i in range(options.clients)]
    for client in clients:
        client.start()
    samples = []
    while any(client.is_alive() for client in clients):
        samples.append(resident_mib(server))
        time.sleep(min(1, options.seconds / 100))
    time.sleep(12)  # the server drops cut requests after 10 seconds
    files_at_last = open_files(server)
    server.terminate()
    code = server.wait(timeout=60)
    statuses = sum((client.statuses for client in clients), collections.Counter())
    fifth = len(samples) // 5
    early, late = max(samples[fifth : 2 * fifth]), max(samples[-fifth:])
    print(f"{sum(statuses.values())} requests in {time.time() - begin:.0f} s:", dict(sorted(statuses.items(), key=str)))
    print(f"resident MiB: {samples[fifth]:.1f} after a fifth, at most {early:.1f} in the second fifth and {late:.1f} in the"
          f" last; open files {files} and {files_at_last}; exit code {code}")
    failures = [status for status in statuses if isinstance(status, int) and status >= 500]
    sys.exit(1 if failures or late > early * 1.02 + 1 or files_at_last > files or code != 0 else 0)


if __name__ == "__main__":
    main()
