"""Compares models of drawn configurations with transformers, before and after `export --to hf`.

A drawn config.json (drawn_configs.py) and random weights are opened by transformers and by Headlight,
which must compute the same logits. Headlight's export must give them again in transformers, and in
transformers 4 (--transformers4: a Python with it) and llama.cpp (package xllamacpp, from a GGUF file), as
far as they accept the model: a refusal is a note, other logits are a failure. Other logits of mlx-lm are a
note, too: it ignores activations, windows and scalings of many families.
Each configuration as transformers saves it may not give a line about ignored keys.
"""

import importlib.util
import json
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import torch
from transformers import AutoConfig

from checker import TEXT, Headlight, Table, note
from drawn_configs import FAMILIES, Draw
from models import LOGIT_LIMIT, char_tokenizer, lively, open_model, save_with_tokenizer

BLOCK = 48
LENGTH = 40
OTHER_LIMIT = 1e-4  # in standard deviations of the logits
ROUNDED_LIMIT = 5e-3  # llama.cpp looks GELU up in a table of float16


def logits_in_transformers(folder: Path, tokens: np.ndarray) -> np.ndarray:
    with torch.no_grad():
        return open_model(folder, attn_implementation="eager")(torch.from_numpy(tokens).long()[None]).logits[0].numpy()


def logits_in_headlight(program: Headlight, folder: Path, text: Path) -> tuple[np.ndarray, np.ndarray]:
    _, arrays = program.evaluate(folder, text)
    end = arrays["offsets"][1]
    return arrays["tokens"][:end], arrays["logits"][:end]


def save(program: Headlight, tokenizer: Path, name: str, config: dict) -> Path:
    """Returns a folder with the drawn config.json and weights for it."""
    folder = program.folder / name
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config))
    model = lively(AutoConfig.from_pretrained(folder))
    save_with_tokenizer(folder, model, tokenizer)
    saved = (folder / "config.json").read_text()
    (folder / "saved.json").write_text(saved)
    (folder / "config.json").write_text(json.dumps(config))
    return folder


def ignored_keys(program: Headlight, folder: Path) -> str:
    """Returns the lines about ignored keys for the config.json that transformers itself writes."""
    drawn = (folder / "config.json").read_text()
    (folder / "config.json").write_text((folder / "saved.json").read_text())
    done = program.start("info", folder)
    (folder / "config.json").write_text(drawn)
    return "\n".join(line for line in done.stderr.splitlines() if "ignored keys" in line)


def log_probabilities(logits: np.ndarray) -> np.ndarray:
    shifted = logits.astype(np.float64) - logits.max()
    return shifted - np.log(np.exp(shifted).sum())


def last_in_llama_cpp(program: Headlight, folder: Path, tokens: np.ndarray, vocabulary: int) -> np.ndarray | None:
    """Returns the log probabilities of the token after all."""
    if importlib.util.find_spec("xllamacpp") is None:
        return None
    from llama_server import LlamaCpp
    path = folder.with_suffix(".gguf")
    done = program.start("export", folder, "--to", "gguf", "--out", path)
    if done.returncode == 2:
        note(f"note: {folder.name}: {done.stderr.strip().splitlines()[-1]}")
        return None
    return np.array(LlamaCpp(path).log_probabilities([int(token) for token in tokens], vocabulary))


class Comparison:
    def __init__(self, program: Headlight, table: Table, transformers4: str | None):
        self.program, self.table, self.transformers4 = program, table, transformers4
        self.exports: dict[Path, np.ndarray] = {}
        self.tokens = np.zeros(0)

    def check(self, folder: Path, text: Path) -> None:
        self.tokens, logits = logits_in_headlight(self.program, folder, text)
        expected = logits_in_transformers(folder, self.tokens)
        self.add("drawn: transformers -> headlight, logits", folder, np.abs(logits - expected).max(), LOGIT_LIMIT)
        lines = ignored_keys(self.program, folder)
        if lines:
            note(f"{folder.name}: {lines}")
        self.table.add("drawn: keys of transformers' own files that are ignored", len(lines.splitlines()))
        back = self.program.export(folder, "hf", folder.with_name("back_" + folder.name))
        again = logits_in_transformers(back, self.tokens)
        self.add("drawn: headlight -> transformers, logits", folder, np.abs(again - expected).max(), LOGIT_LIMIT)
        self.exports[back] = expected
        other = last_in_llama_cpp(self.program, back, self.tokens, expected.shape[-1])
        if other is not None:
            self.add("drawn: headlight -> llama.cpp, log probabilities in standard deviations of logits", folder,
                     np.abs(other - log_probabilities(expected[-1])).max() / expected.std(), ROUNDED_LIMIT)

    def check_others(self) -> None:
        """Opens all exports with programs that start slowly."""
        runs = {"transformers": self.transformers4}
        if importlib.util.find_spec("mlx_lm") is not None:
            runs["mlx"] = sys.executable
        np.save(self.program.folder / "tokens.npy", self.tokens)
        for name, python in runs.items():
            if python is None:
                continue
            subprocess.run([python, Path(__file__).with_name("logits_of_folders.py"), name,
                            self.program.folder / "tokens.npy", *self.exports], check=True)
            for folder, expected in self.exports.items():
                if (folder / f"{name}.error").exists():
                    note(f"note: {name}, {folder.name}: {(folder / f'{name}.error').read_text()}")
                    continue
                error = np.abs(np.load(folder / f"{name}.npy") - expected).max() / expected.std()
                if name == "transformers":
                    self.add("drawn: headlight -> transformers 4, logits in standard deviations", folder, error,
                             OTHER_LIMIT)
                else:
                    note(f"note: {name}, {folder.name}: logits differ by {error:.3g}")

    def add(self, what: str, folder: Path, error: float, limit: float) -> None:
        self.table.add(what, error, limit)
        if not error <= limit:
            note(f"{folder.name}: {what}: {error:.3g}: {(folder / 'config.json').read_text()}")


def check(table: Table, program: Headlight, options) -> None:
    tokenizer, vocabulary = char_tokenizer(program)
    text = program.folder / "short.txt"
    text.write_text(TEXT[:LENGTH + 1], encoding="utf-8")
    comparison = Comparison(program, table, options.transformers4)
    families = options.families or random.Random(options.seed).sample(FAMILIES, len(FAMILIES))
    for number in range(options.draws):
        family = families[number % len(families)]
        config = Draw(family, f"{options.seed} {number}", vocabulary + 2, BLOCK).draw()
        comparison.check(save(program, tokenizer, f"{family}_{number}", config), text)
    comparison.check_others()


OPTIONS = {"families": dict(nargs="*"), "--transformers4": {},
           "--draws": dict(type=int, default=60, help="configurations, of one family after the other [60]")}
