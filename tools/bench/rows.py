"""The rows of the comparison: each has one Headlight command and one or more others."""

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from process import run_json, seconds_to_output
from shapes import ROOT, config_path

HERE = Path(__file__).resolve().parent
STEPS = {
    "cpu-char": (60, 20),
    "mid-char": (6, 2),
    "gpt2-64": (6, 2),
    "gpt2-256": (3, 1),
    "llama-char": (6, 2),
    "llama-135m": (3, 1),
}
PROMPT = "Once upon a time"


@dataclass(frozen=True)
class Setting:
    headlight: str  # path of the program
    threads: int
    scratch: Path  # an empty folder
    data: Path | None = None  # a text for training and tokenizers
    tokenizer: Path | None = None  # a folder with tokenizer.json
    model: Path | None = None


@dataclass(frozen=True)
class Contender:
    name: str
    run: Callable[[], dict]  # runs one measurement; raises Refused


@dataclass(frozen=True)
class Row:
    name: str
    unit: str  # lower is better
    value: Callable[[dict], float]
    headlight: Contender
    others: list[Contender]


def headlight_bench(setting: Setting, kind: str, config: str, *options: str) -> dict:
    command = [setting.headlight, "bench", kind, "--config", str(config_path(config)), "--json"]
    return run_json([*command, "--threads", str(setting.threads), *options], setting.threads)


def python(setting: Setting, script: str, *options: str) -> dict:
    command = [sys.executable, str(HERE / script), *options, "--threads", str(setting.threads)]
    return run_json(command, setting.threads)


def step_options(config: str, padded: bool) -> list[str]:
    steps, warmup = STEPS[config]
    # torch.compile needs a few batches of different lengths before its speed is stable.
    return ["--steps", str(steps), "--warmup", str(max(warmup, 3) if padded else warmup)]


def train_row(setting: Setting, config: str, dtype: str, padded: bool) -> Row:
    lengths = setting.scratch / f"{config}-lengths.json"
    options = step_options(config, padded)

    def headlight() -> dict:
        more = ["--dtype", dtype] if dtype != "float32" else []
        more += ["--batching", "padded"] if padded else []
        report = headlight_bench(setting, "train", config, *options, *more)
        if padded:  # PyTorch gets the same lengths
            lengths.write_text(json.dumps(report["sequence_lengths"]))
        return report

    def torch(mode: str) -> Contender:
        more = ["--lengths", str(lengths)] if padded else []
        arguments = [config, "--mode", mode, "--dtype", dtype, *options, *more]
        return Contender(f"PyTorch {mode}", lambda: python(setting, "torch_train.py", *arguments))

    return Row(
        name=f"train {config} {dtype}" + (" padded" if padded else ""),
        unit="us/token" if padded else "ms/step",
        value=(lambda r: 1e6 / r["tokens_per_second"]) if padded else (lambda r: r["ms_per_step"]),
        headlight=Contender("Headlight", headlight),
        others=[torch("eager"), torch("compile")],
    )


def decode_row(setting: Setting, config: str, weights: str, scripts: dict[str, str]) -> Row:
    more = ["--weights", weights] if weights != "float32" else []

    def other(name: str, script: str) -> Contender:
        def run() -> dict:
            if name == "CTranslate2":  # in a separate process, so that its memory does not count
                convert_for_ctranslate2(setting, config)
            return python(setting, script, config, "--dtype", weights)

        return Contender(name, run)

    return Row(
        name=f"decode {config} {weights}",
        unit="ms/token",
        value=lambda r: r["ms_per_token"],
        headlight=Contender(
            "Headlight", lambda: headlight_bench(setting, "generate", config, *more)
        ),
        others=[other(name, script) for name, script in scripts.items()],
    )


@cache
def convert_for_ctranslate2(setting: Setting, config: str) -> None:
    python(setting, "ctranslate2_generate.py", config, "--convert_only")


def attention_row(setting: Setting, config: str, length: int) -> Row:
    def headlight() -> dict:
        report = headlight_bench(setting, "attention", config, "--lengths", str(length))
        return report["rows"][0] | {"peak_rss_mib": report["peak_rss_mib"]}

    def other() -> dict:
        return python(setting, "transformers_attention.py", config, "--length", str(length))

    return Row(
        name=f"attention {config} T {length}",
        unit="ms",
        value=lambda r: r["model_recorded_ms"],
        headlight=Contender("Headlight", headlight),
        others=[Contender("transformers", other)],
    )


def first_token_row(setting: Setting) -> Row:
    """Measures from starting the process to the first new token, with cpu-char's model on disk."""
    run = setting.scratch / "first-token"

    def measure(command: list[str]) -> dict:
        if not run.exists():
            make_model(setting, run)
        least = len(PROMPT.encode()) + 1
        return {"ms": 1e3 * seconds_to_output(command, least, setting.threads)}

    generate = [setting.headlight, "generate", str(run), "--prompt", PROMPT, "--stream"]
    generate += ["--max_new_tokens", "1", "--threads", str(setting.threads)]
    script = [sys.executable, str(HERE / "transformers_first_token.py")]
    script += [str(run / "latest"), PROMPT]
    return Row(
        name="first token cpu-char",
        unit="ms",
        value=lambda r: r["ms"],
        headlight=Contender("Headlight", lambda: measure(generate)),
        others=[Contender("transformers", lambda: measure(script))],
    )


def make_model(setting: Setting, run: Path) -> None:
    command = [setting.headlight, "train", str(config_path("cpu-char")), "--vocab_size", "0"]
    command += ["--data", str(ROOT / "data" / "toy.txt"), "--out_dir", str(run)]
    run_json([*command, "--max_iters", "0", "--eval_iters", "1", "--json"], setting.threads)


def all_rows(setting: Setting) -> list[Row]:
    transformers = {"transformers": "transformers_generate.py"}
    ctranslate2 = {"CTranslate2": "ctranslate2_generate.py"}
    rows = [train_row(setting, config, "float32", False) for config in STEPS]
    rows += [train_row(setting, config, "bfloat16", False) for config in STEPS]
    rows += [train_row(setting, config, "float32", True) for config in STEPS]
    rows += [
        decode_row(setting, "gpt2-256", "float32", transformers | ctranslate2),
        decode_row(setting, "gpt2-256", "bfloat16", transformers),
        decode_row(setting, "gpt2-256", "int8", ctranslate2),
        decode_row(setting, "cpu-char", "float32", transformers),
        decode_row(setting, "llama-135m", "float32", transformers),
        decode_row(setting, "llama-135m", "bfloat16", transformers),
        attention_row(setting, "mid-char", 256),
        attention_row(setting, "gpt2-256", 512),
        first_token_row(setting),
    ]
    return rows
