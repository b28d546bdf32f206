"""Rows that compare ways to run Headlight, and its tokenizers with those of Hugging Face."""

import functools
import hashlib
import http.client
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from process import Refused, run_json
from rows import HERE, PROMPT, Contender, Row, Setting, make_model
from shapes import ROOT, config_path

MPIRUN = ["mpirun", "--oversubscribe", "--bind-to", "core", "-n", "2"]
LEARN = """
import json, sys, time
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
tokenizer = Tokenizer(models.BPE())
tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
trainer = trainers.BpeTrainer(vocab_size=int(sys.argv[2]), special_tokens=["<|endoftext|>"],
    initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False)
begin = time.perf_counter()
tokenizer.train([sys.argv[1]], trainer)
print(json.dumps({"seconds": time.perf_counter() - begin, "vocab_size": tokenizer.get_vocab_size()}))
"""


def seconds_a_token(report: dict) -> float:
    return 1e6 / report["tokens_per_second"]


def busy_row(setting: Setting, cpus: str, kind: str, config: str, unit: str, options: list[str]) -> Row:
    """All threads against one, on as many idle CPUs as there are threads, or beside a busy loop on these."""
    places = ",".join(map(str, sorted(os.sched_getaffinity(0))[:setting.threads]))

    def run(threads: int) -> dict:
        command = ["taskset", "-c", places, setting.headlight, "bench", kind, "--config", str(config_path(config))]
        loop = ["taskset", "-c", places, "sh", "-c", "while :; do :; done"]
        busy = subprocess.Popen(loop) if cpus == "busy" else None
        try:
            return run_json([*command, "--threads", str(threads), *options, "--json"], threads)
        finally:
            if busy:
                busy.kill()
                busy.wait()

    return Row(" ".join([kind, config, *options[:2], f"{cpus} CPUs"]), unit, lambda r: r[unit.replace("/", "_per_")],
               Contender("Headlight", lambda: run(setting.threads)), [Contender("one thread", lambda: run(1))])


def saving_row(setting: Setting, config: str, updates: int = 500) -> Row:
    """Training with a checkpoint every 50 steps against training without; both save once at the end."""
    def run(interval: int) -> dict:
        data = ["--data", str(setting.data)] if setting.data else []
        with tempfile.TemporaryDirectory() as folder:
            command = [setting.headlight, "train", str(ROOT / f"configs/{config}.toml"), *data, "--out_dir", folder + "/run"]
            return run_json([*command, "--max_iters", str(updates), "--lr_decay_iters", str(updates), "--eval_interval",
                             "1000000", "--validation_fraction", "0", "--save_interval", str(interval), "--log_level",
                             "warn", "--json"], setting.threads)

    return Row(f"saving {config}", "us/token", seconds_a_token, Contender("Headlight", lambda: run(50)),
               [Contender("without saving", lambda: run(0))])


def processes_row(setting: Setting, config: str, steps: int = 8) -> Row:
    """Two processes of one thread against one process, one process with shards, and PyTorch's DDP."""
    if os.getuid() == 0:
        os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    some = ["--warmup", "2", "--steps", str(steps)]
    bench = [setting.headlight, "bench", "train", "--config", str(config_path(config)), "--json", *some]
    ddp = [sys.executable, str(HERE / "torch_train.py"), config, "--processes", "2", "--threads", "1", *some]
    others = {"1 process x 2 threads": [*bench, "--threads", "2"],
              "1 process, 8 shards": [*bench, "--threads", "2", "--shards", "8"], "PyTorch DDP": ddp}
    return Row(f"2 processes {config}", "us/token", seconds_a_token,
               Contender("Headlight", lambda: run_json([*MPIRUN, *bench, "--threads", "1"], 1)),
               [Contender(name, functools.partial(run_json, command, 1 if command is ddp else 2))
                for name, command in others.items()])


def corpus_of(setting: Setting, megabytes: float = 8) -> Path:
    """Returns a file with the beginning of the data, cut where a character ends."""
    path = setting.scratch / "corpus"
    if not path.exists():
        with open(setting.data or ROOT / "data/toy.txt", "rb") as file:
            path.write_bytes(file.read(int(megabytes * 1e6)).decode("utf-8", errors="ignore").encode())
    return path


def learn(setting: Setting, out: Path, threads: int) -> dict:
    return run_json([setting.headlight, "tokenizer", "train", "--data", str(corpus_of(setting)), "--json", "--vocab_size",
                     "4096", "--out", str(out), "--force", "--threads", str(threads)], threads)


def rayon(threads: int) -> list[str]:
    return ["env", f"RAYON_NUM_THREADS={threads}", f"TOKENIZERS_PARALLELISM={'true' if threads > 1 else 'false'}"]


def encode_row(setting: Setting, threads: int) -> Row:
    """The process of Headlight, less one that encodes a letter, against the library's call; the ids are the same."""
    hashes = {}

    def folder() -> Path:
        made = setting.scratch / "tokenizer"
        if not setting.tokenizer and not made.exists():
            learn(setting, made, threads)
        return Path(setting.tokenizer or made)

    def seconds(file: Path) -> float:
        with tempfile.TemporaryDirectory() as scratch:
            ids = Path(scratch) / "ids.bin"
            start = time.perf_counter()
            subprocess.run([setting.headlight, "tokenizer", "encode", folder(), "--file", file, "--out", ids,
                            "--special_tokens=off", "--threads", str(threads)], check=True, stdout=subprocess.DEVNULL)
            spent = time.perf_counter() - start
            hashes["Headlight"] = hashlib.sha256(ids.read_bytes()).hexdigest()
        return spent

    def headlight() -> dict:
        letter = setting.scratch / "letter"
        letter.write_text("a")
        folder()
        return {"seconds": max(-seconds(letter) + seconds(corpus_of(setting)), 1e-9)}

    def other() -> dict:
        script = [sys.executable, str(HERE / "tokenizers_encode.py"), str(folder()), str(corpus_of(setting))]
        report = run_json([*rayon(threads), *script], threads)
        if report["sha256"] != hashes["Headlight"]:
            sys.exit("the ids differ")
        return report

    return Row(f"encode {threads} threads", "us/kB", lambda r: 1e9 * r["seconds"] / corpus_of(setting).stat().st_size,
               Contender("Headlight", headlight), [Contender("tokenizers", other)])


def learn_row(setting: Setting, threads: int) -> Row:
    def other() -> dict:
        return run_json([*rayon(threads), sys.executable, "-c", LEARN, str(corpus_of(setting)), "4096"], threads)

    return Row(f"learn merges {threads} threads", "s", lambda r: r["seconds"],
               Contender("Headlight", lambda: learn(setting, setting.scratch / "learned", threads)),
               [Contender("tokenizers", other)])


def stream_row(setting: Setting, weights: str) -> Row:
    """One client of the server against `headlight generate --stream`: the time from the first to the last piece."""
    tokens = "200" if setting.model else "40"

    def between(pieces) -> dict:
        times = [time.perf_counter() for piece in pieces if piece]
        return {"ms": 1e3 * (times[-1] - times[0]) / (int(tokens) - 1)}

    def model() -> str:
        run = setting.scratch / "stream"
        if not setting.model and not run.exists():
            make_model(setting, run)
        return str(setting.model or run)

    def generated() -> dict:
        command = [setting.headlight, "generate", model(), "--prompt", PROMPT, "--weights", weights, "--max_new_tokens",
                   tokens, "--temperature", "0", "--ignore_eos", "--stream", "--threads", str(setting.threads)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0) as process:
            return between(iter(lambda: process.stdout.read(1 << 16), b""))

    def served() -> dict:
        command = [setting.headlight, "serve", model(), "--weights", weights, "--port", "0", "--threads",
                   str(setting.threads), "--json"]
        server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            address = json.loads(server.stdout.readline())["address"].removeprefix("http://")
            body = {"prompt": PROMPT, "max_tokens": int(tokens), "temperature": 0, "ignore_eos": True, "stream": True}
            for _ in range(2):  # the first request makes the server ready
                connection = http.client.HTTPConnection(address, timeout=600)
                connection.request("POST", "/v1/completions", json.dumps(body), {"Content-Type": "application/json"})
                answer = connection.getresponse()
                if answer.status != 200:
                    raise Refused(answer.read().decode())
                report = between(iter(lambda: answer.read1(1 << 16), b""))
        finally:
            server.terminate()
            server.wait()
        return report

    return Row(f"stream to one client {weights}", "ms/token", lambda r: r["ms"], Contender("Headlight", served),
               [Contender("generate --stream", generated)])


def program_rows(setting: Setting) -> list[Row]:
    counts = sorted({1, setting.threads})
    busy = [("train", "cpu-char", "ms/step", ["--n_embd", "128", "--steps", "60"]),
            ("train", "cpu-char", "ms/step", ["--n_embd", "64", "--steps", "60"]),
            ("generate", "gpt2-256", "ms/token", ["--weights", "int8", "--rounds", "8"])]
    return [*(busy_row(setting, cpus, *rest) for rest in busy for cpus in ("idle", "busy")),
            *(saving_row(setting, config) for config in ("toy", "shakespeare_char_cpu")),
            *(processes_row(setting, config) for config in ("mid-char", "gpt2-64")),
            *(encode_row(setting, threads) for threads in counts), *(learn_row(setting, threads) for threads in counts),
            *(stream_row(setting, weights) for weights in ("float32", "int8"))]
