#!/usr/bin/env python3
"""One client of the server against `headlight generate --stream` read through a pipe, in turn: tokens per second.

usage: serve_stream.py PROGRAM MODEL [--weights float32] [--tokens 200] [--rounds 7] [--port 8090]

Both stream the same greedy text to this script, which only notes when something came; the time is that between the
first and the last piece, so that reading the model and the prompt does not count.
"""

import argparse
import http.client
import json
import statistics
import subprocess
import time

PROMPT = "the cat sat on a mat"


def rate(pieces, tokens):
    """Returns the tokens per second of an iterator over the output."""
    times = [time.perf_counter() for piece in pieces if piece]
    return (tokens - 1) / (times[-1] - times[0])


def generated(options):
    command = [options.program, "generate", options.model, "--prompt", PROMPT, "--weights", options.weights]
    command += ["--max_new_tokens", str(options.tokens), "--temperature", "0", "--ignore_eos", "--stream"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0) as process:
        return rate(iter(lambda: process.stdout.read(1 << 16), b""), options.tokens)


def served(options):
    body = {"prompt": PROMPT, "max_tokens": options.tokens, "temperature": 0, "ignore_eos": True, "stream": True}
    connection = http.client.HTTPConnection("127.0.0.1", options.port, timeout=600)
    connection.request("POST", "/v1/completions", json.dumps(body), {"Content-Type": "application/json"})
    answer = connection.getresponse()
    if answer.status != 200:
        raise RuntimeError(answer.read().decode())
    return rate(iter(lambda: answer.read1(1 << 16), b""), options.tokens)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("program")
    parser.add_argument("model")
    parser.add_argument("--weights", default="float32")
    parser.add_argument("--tokens", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--port", type=int, default=8090)
    options = parser.parse_args()
    command = [options.program, "serve", options.model, "--weights", options.weights, "--port", str(options.port)]
    server = subprocess.Popen([*command, "--json"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        server.stdout.readline()  # the server is ready
        served(options)
        rows = [(generated(options), served(options)) for _ in range(options.rounds)]
    finally:
        server.terminate()
        server.wait()
    ratios = [client / alone for alone, client in rows]
    print(f"generate --stream {statistics.median(alone for alone, _ in rows):.1f} tokens/s,"
          f" one client {statistics.median(client for _, client in rows):.1f},"
          f" client / generate {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})")


if __name__ == "__main__":
    main()
