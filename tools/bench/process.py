"""Processes: what one has used, and running others with their results as JSON."""

import json
import os
import resource
import subprocess
import time


class Refused(Exception):
    """A contender does not know an option, or is not there."""


def peak_rss_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def run_json(command: list[str], threads: int) -> dict:
    """The JSON object on the last line that the command prints."""
    environment = os.environ | {"OMP_NUM_THREADS": str(threads), "TOKENIZERS_PARALLELISM": "false"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or ["exit code %d" % done.returncode]
        raise Refused(lines[-1])
    return json.loads(done.stdout.strip().splitlines()[-1])


def seconds_to_output(command: list[str], least_bytes: int, threads: int) -> float:
    """From starting a process to its having written at least so many bytes."""
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
