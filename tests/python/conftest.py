"""A tiny run, trained once by the program, for all tests."""

import os
import pathlib
import shutil
import subprocess
import sys

import pytest

import headlight as hl

ROOT = pathlib.Path(__file__).parents[2]
PROGRAM = os.environ.get("HEADLIGHT_PROGRAM") or shutil.which(
    "headlight", path=str(pathlib.Path(sys.executable).parent)
)


def program(*arguments: object) -> str:
    """Returns the output of the program of the wheel."""
    assert PROGRAM is not None
    done = subprocess.run([PROGRAM, *map(str, arguments)], check=True, capture_output=True, text=True)
    return done.stdout


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """Returns a run of 20 steps: 2 layers of 4 heads, 64 tokens of context, bytes as pairs."""
    out = tmp_path_factory.mktemp("runs") / "tiny"
    program(
        "train", "--data", ROOT / "data/toy.txt", "--out_dir", out, "--documents", "blank_line",
        "--tokenizer", "bpe", "--vocab_size", 400, "--n_layer", 2, "--n_head", 4, "--n_embd", 32,
        "--block_size", 64, "--batch_size", 8, "--max_iters", 20, "--eval_iters", 1, "--bias", "true",
    )  # fmt: skip
    return out


@pytest.fixture(scope="session")
def model(run: pathlib.Path) -> hl.Model:
    return hl.load(run)


def task_ids(model: hl.Model) -> tuple[list[int], list[int]]:
    """Returns two texts of one length that differ in a name."""
    texts = ("One day Mina", "One day Tom ")
    ids = [model.tokenizer.encode(text, prompt=True).tolist() for text in texts]
    length = min(map(len, ids))
    return ids[0][:length], ids[1][:length]
