"""Computes with PyTorch the expected results of the cases in tests/parity.

Frozen cases (the files under tests/parity/fixtures): make_fixtures.py --out tests/parity/fixtures
Live ones: make_fixtures.py --random --seed S --out DIR
"""

import argparse
import importlib
import importlib.util
from pathlib import Path

import torch

from case_file import CaseFile, Source

# One file per group; each module's build(file) adds cases.
GROUPS = {
    "ops": ["cases_elementwise", "cases_matmul", "cases_reduce", "cases_softmax", "cases_layout",
            "cases_layers", "cases_attention"],
    "loss_terms": ["cases_loss_terms"],
    "preference": ["cases_preference"],
    "llama": ["cases_llama"],
    "modules": ["cases_modules"],
    "gpt2": ["cases_gpt2"],
    "families": ["cases_families"],
    "more_families": ["cases_more_families"],
    "points": ["cases_points"],
    "attribution": ["cases_attribution"],
    "training": ["cases_training"],
    "muon": ["cases_muon"],
}
FROZEN_SEED = 2024


def build_group(modules: list[str], source: Source) -> CaseFile:
    file = CaseFile(source)
    for name in modules:
        if importlib.util.find_spec(name) is not None:
            importlib.import_module(name).build(file)
    return file


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=FROZEN_SEED)
    parser.add_argument("--random", action="store_true", help="sizes are drawn too")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--groups", nargs="+", choices=list(GROUPS), default=list(GROUPS))
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    arguments.out.mkdir(parents=True, exist_ok=True)
    for group in arguments.groups:
        file = build_group(GROUPS[group], Source(arguments.seed, arguments.random))
        if file.tensors:
            file.save(arguments.out / f"{group}.safetensors")


if __name__ == "__main__":
    main()
