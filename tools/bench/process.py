"""Measures what a process has used and runs others that print JSON."""

import json
import os
import resource
import subprocess
import time


class Refused(Exception):
    """A contender lacks an option or is not installed."""


def peak_rss_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def run_json(command: list[str], threads: int) -> dict:
    """Runs the command; returns the JSON object on its last line."""
    environment = os.environ | {"OMP_NUM_THREADS": str(threads), "TOKENIZERS_PARALLELISM": "false"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or ["exit code %d" % done.returncode]
        raise Refused(lines[-1])
    return json.loads(done.stdout.strip().splitlines()[-1])


def seconds_to_output(command: list[str], least_bytes: int, threads: int) -> float:
    """Returns the seconds from starting a process until it has written `least_bytes` bytes."""
    environment = os.environ | {"OMP_NUM_THREADS": str(threads)}
    start = time.perf_counter()
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as child:
        got = 0
        while got < least_bytes:
            piece = os.read(child.stdout.fileno(), 4096)
            if not piece:
                raise Refused(f"{command[0]} wrote {got} bytes, expected {least_bytes}")
            got += len(piece)
        seconds = time.perf_counter() - start
        child.stdout.read()
    return seconds
