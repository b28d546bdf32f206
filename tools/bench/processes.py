"""Training steps of 2 processes x 1 thread beside 1 process x 2 threads and PyTorch's DDP.

Rounds take turns, so that a disturbance of the machine meets all; printed are medians and the ratio
of each to one process, paired by round. Needs mpirun, a release build and, for the last column, a
Python with PyTorch (--python; left out without).
"""

import argparse
import json
import os
import statistics
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MPIRUN = ["mpirun", "--oversubscribe", "--bind-to", "core", "-n", "2"]


def run(command: list[str], environment: dict) -> float:
    """Runs one contender; returns its tokens per second."""
    text = subprocess.run(
        command, check=True, capture_output=True, text=True, env=environment, cwd=ROOT
    ).stdout
    return json.loads(text.strip().splitlines()[-1])["tokens_per_second"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", nargs="+", default=["mid-char", "gpt2-64"])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--headlight", default="build/release/headlight")
    parser.add_argument("--python", help="with PyTorch")
    parser.add_argument("--shards", type=int, nargs="*", default=[], help="one process, S shards")
    arguments = parser.parse_args()

    environment = dict(os.environ)
    if os.getuid() == 0:
        environment |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    for model in arguments.models:
        config = f"configs/bench/{model}.toml"
        bench = [arguments.headlight, "bench", "train", "--config", config, "--json"]
        bench += ["--warmup", "2", "--steps", str(arguments.steps)]
        rows = {
            "1 process x 2 threads": bench + ["--threads", "2"],
            "2 processes x 1 thread": MPIRUN + bench + ["--threads", "1"],
        }
        for shards in arguments.shards:
            rows[f"1 process, {shards} shards"] = bench + ["--shards", str(shards)]
        if arguments.python:
            rows["PyTorch DDP, 2 x 1"] = [arguments.python, "tools/bench/torch_train.py", config]
            rows["PyTorch DDP, 2 x 1"] += ["--processes", "2", "--threads", "1"]
            rows["PyTorch DDP, 2 x 1"] += ["--warmup", "2", "--steps", str(arguments.steps)]
        rates = {name: [] for name in rows}
        for _ in range(arguments.rounds):
            for name, command in rows.items():
                rates[name].append(run(command, environment))
        first = rates["1 process x 2 threads"]
        for name, values in rates.items():
            ratios = [value / one for value, one in zip(values, first)]
            print(
                f"| {model} | {name} | {statistics.median(values):,.0f} tokens/s | "
                f"{statistics.median(ratios):.2f} ({min(ratios):.2f}-{max(ratios):.2f}) |",
                flush=True,
            )


if __name__ == "__main__":
    main()
