"""Measurements that are more than one command: busy CPUs, checkpoints, tokenizers, streams, memory of a corpus."""

import functools
import hashlib
import http.client
import json
import re
import os
import shutil
import struct
import subprocess
import tempfile
import time
from array import array
from pathlib import Path

from measure import PEERS, Refused, Row, Setting, bench, python_of, run, run_json, served, small_model, words_of

CYCLE = [100 + i * 37 % 800 for i in range(800)]  # lengths of documents
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


def busy_row(cpus: str, kind: str, config: str, unit: str, options: str) -> Row:
    """All threads against one, on as many idle CPUs as there are threads, or beside a busy loop on these."""
    ours = bench(kind, f"--config {{root}}/configs/bench/{config}.toml", options, threads="THREADS")

    def on_places(setting: Setting, threads: int) -> dict:
        places = ",".join(map(str, sorted(os.sched_getaffinity(0))[:setting.threads]))
        loop = ["taskset", "-c", places, "sh", "-c", "while :; do :; done"]
        busy = subprocess.Popen(loop) if cpus == "busy" else None
        try:
            return run(setting, f"taskset -c {places} " + ours.replace("THREADS", str(threads)), threads)
        finally:
            if busy:
                busy.kill()
                busy.wait()

    return Row(f"{kind} {config} {' '.join(options.split()[:2])} {cpus} CPUs", [("", unit, unit.replace("/", "_per_"))],
               lambda setting: on_places(setting, setting.threads), {"one thread": lambda setting: on_places(setting, 1)})


def saving_row(config: str, updates: int = 500) -> Row:
    """Training with a checkpoint every 50 steps against training without; both save once at the end."""
    def trained(setting: Setting, interval: int) -> dict:
        with tempfile.TemporaryDirectory() as folder:
            report = run(setting, f"{{headlight}} train {{root}}/configs/{config}.toml --data {{data}} --out_dir {folder}/run "
                         f"--max_iters {updates} --lr_decay_iters {updates} --eval_interval 1000000 "
                         f"--validation_fraction 0 --save_interval {interval} --log_level warn --json")
        return report | {"us_per_token": 1e6 / report["tokens_per_second"]}

    return Row(f"saving {config}", [("", "us/token", "us_per_token")], lambda setting: trained(setting, 50),
               {"without saving": lambda setting: trained(setting, 0)})


def corpus_of(setting: Setting, megabytes: float = 8) -> Path:
    """Returns a file with the beginning of the data, cut where a character ends."""
    path = setting.scratch / "corpus"
    if not path.exists():
        with open(setting.data, "rb") as file:
            path.write_bytes(file.read(int(megabytes * 1e6)).decode("utf-8", errors="ignore").encode())
    return path


def learned(setting: Setting, out: str, threads: int) -> dict:
    return run(setting, f"{{headlight}} tokenizer train --data {corpus_of(setting)} --json --vocab_size 4096 "
               f"--out {{scratch}}/{out} --force --threads {threads}", threads)


def with_rayon(setting: Setting, threads: int, words: list) -> dict:
    parallel = "true" if threads > 1 else "false"
    settings = [f"RAYON_NUM_THREADS={threads}", f"TOKENIZERS_PARALLELISM={parallel}"]
    return run_json(["env", *settings, python_of("torch"), *words], threads)


def encode_row(threads: int) -> Row:
    """The process of Headlight, less one that encodes a letter, against the library's call; the ids are the same."""
    hashes = {}

    def folder(setting: Setting) -> Path:
        if not setting.tokenizer and not (setting.scratch / "tokenizer").exists():
            learned(setting, "tokenizer", threads)
        return setting.tokenizer or setting.scratch / "tokenizer"

    def seconds(setting: Setting, file: Path) -> float:
        ids = setting.scratch / "ids.bin"
        spent = run_json([setting.headlight, "tokenizer", "encode", folder(setting), "--file", file, "--out", ids,
                          "--special_tokens=off", "--json", "--threads", threads], threads)["seconds"]
        hashes["Headlight"] = hashlib.sha256(ids.read_bytes()).hexdigest()
        ids.unlink()
        return spent

    def headlight(setting: Setting) -> dict:
        letter = setting.scratch / "letter"
        letter.write_text("a")
        return {"seconds": max(-seconds(setting, letter) + seconds(setting, corpus_of(setting)), 1e-9)}

    def other(setting: Setting) -> dict:
        report = with_rayon(setting, threads, [PEERS / "tokenizers_encode.py", folder(setting), corpus_of(setting)])
        if report["sha256"] != hashes["Headlight"]:
            raise SystemExit("the ids differ")
        return report

    return Row(f"encode on {threads} threads", [("", "s", "seconds")], headlight, {"tokenizers": other})


def learn_row(threads: int) -> Row:
    def other(setting: Setting) -> dict:
        return with_rayon(setting, threads, ["-c", LEARN, corpus_of(setting), 4096])

    return Row(f"learn BPE on {threads} threads", [("", "s", "seconds")],
               lambda setting: learned(setting, "learned", threads), {"tokenizers": other})


def stream_row(weights: str, prompt: str) -> Row:
    """One client of the server against `generate --stream` that is read through a pipe."""
    def tokens(setting: Setting) -> int:
        return 200 if setting.model else 40

    def between(setting: Setting, pieces) -> dict:
        times = [time.perf_counter() for piece in pieces if piece]
        return {"ms": 1e3 * (times[-1] - times[0]) / (tokens(setting) - 1)}

    def generated(setting: Setting) -> dict:
        command = [setting.headlight, "generate", setting.model or small_model(setting), "--prompt", prompt,
                   "--weights", weights, "--max_new_tokens", tokens(setting), "--temperature", 0, "--ignore_eos",
                   "--stream", "--threads", setting.threads]
        with subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              bufsize=0) as process:
            return between(setting, iter(lambda: process.stdout.read(1 << 16), b""))

    def streamed(setting: Setting) -> dict:
        body = {"prompt": prompt, "max_tokens": tokens(setting), "temperature": 0, "ignore_eos": True, "stream": True}
        with served(setting.headlight, setting.model or small_model(setting), "--weights", weights, "--threads",
                    setting.threads) as address:
            for _ in range(2):  # the first request makes the server ready
                connection = http.client.HTTPConnection(address.removeprefix("http://"), timeout=600)
                connection.request("POST", "/v1/completions", json.dumps(body), {"Content-Type": "application/json"})
                answer = connection.getresponse()
                if answer.status != 200:
                    raise Refused(answer.read().decode())
                report = between(setting, iter(functools.partial(answer.read1, 1 << 16), b""))
        return report

    return Row(f"stream to one client {weights}", [("", "ms/token", "ms")], streamed, {"generate --stream": generated})


def write_corpus(prefix: Path, size: int) -> None:
    """Writes PREFIX.bin of about `size` bytes of 16-bit zeros, a sparse file, and PREFIX.idx as Megatron-LM writes it."""
    cycles = max(1, size // 2 // sum(CYCLE))
    count = cycles * len(CYCLE)
    with open(f"{prefix}.bin", "wb") as ids:
        ids.truncate(2 * cycles * sum(CYCLE))
    with open(f"{prefix}.idx", "wb") as index:
        index.write(b"MMIDIDX\0\0" + struct.pack("<QBQQ", 1, 8, count, count + 1))
        for _ in range(cycles):
            array("i", CYCLE).tofile(index)
        begin = 0
        for _ in range(cycles):
            begins = array("q")
            for length in CYCLE:
                begins.append(begin)
                begin += 2 * length
            begins.tofile(index)
        for first in range(0, count + 1, 1 << 20):
            array("q", range(first, min(first + (1 << 20), count + 1))).tofile(index)


def corpus_row(gigabytes: float, batching: str) -> Row:
    """Largest anonymous memory while a small model trains for five steps on token files that stay on the disk."""
    def measured(setting: Setting) -> dict:
        corpus = setting.scratch / f"corpus_{gigabytes:g}"
        if not Path(f"{corpus}.bin").exists():
            write_corpus(corpus, int(gigabytes * 1e9))
        shutil.rmtree(setting.scratch / "run", ignore_errors=True)
        begin, largest = time.perf_counter(), 0
        with open(setting.scratch / "log.txt", "w") as log:
            words = words_of(setting, f"{{headlight}} train --data {corpus}.bin --out_dir {{scratch}}/run --tokenizer byte "
                             f"--batching {batching} --n_layer 1 --n_head 1 --n_embd 16 --block_size 64 --batch_size 2 "
                             "--max_iters 5 --eval_iters 1 --log_interval 1")
            process = subprocess.Popen(words, stdout=log, stderr=log)
            while process.poll() is None:
                found = re.search(r"RssAnon:\s+(\d+)", Path(f"/proc/{process.pid}/status").read_text())
                largest = max(largest, int(found.group(1)) if found else 0)
                time.sleep(0.02)
        if process.returncode != 0:
            raise Refused((setting.scratch / "log.txt").read_text().strip().splitlines()[-1])
        return {"mb": largest / 1000, "seconds": time.perf_counter() - begin}

    figures = [("anonymous memory,", "MB", "mb"), ("time,", "s", "seconds")]
    return Row(f"corpus of {gigabytes:g} GB {batching}", figures, measured)


def tuned(setting: Setting, options: str) -> dict:
    """Seconds of four steps of configs/chat.toml; a start without steps stays in the folder for other programs."""
    text = ("{headlight} train {root}/configs/chat.toml --init_from {model} --data {root}/data/cards.jsonl --threads {threads} "
            f"{options} --out_dir ")
    if not (setting.scratch / "tuning-start").exists():
        run(setting, text + "{scratch}/tuning-start --max_iters 0")
    out = setting.scratch / "tuned"
    shutil.rmtree(out, ignore_errors=True)
    report = run(setting, text + f"{out} --max_iters 4 --lr_decay_iters 4")
    steps = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    return {"training_seconds": sum(step["seconds"] for step in steps if "loss" in step),
            "peak_rss_mib": report["peak_rss_mib"]}
