"""Computes with PyTorch the expected results of the cases in tests/parity.

Frozen cases (the files under tests/parity/fixtures): make_fixtures.py --out tests/parity/fixtures
Live ones: make_fixtures.py --random --seed S --out DIR
"""

import argparse
from pathlib import Path

import torch

import cases_attention
import cases_attribution
import cases_elementwise
import cases_families
import cases_gpt2
import cases_layers
import cases_layout
import cases_llama
import cases_loss_terms
import cases_matmul
import cases_modules
import cases_muon
import cases_points
import cases_preference
import cases_reduce
import cases_softmax
import cases_training
from case_file import CaseFile, Source

# One file per group; each module's function adds cases.
GROUPS = {
    "ops": [cases_elementwise.build, cases_matmul.build, cases_reduce.build, cases_softmax.build, cases_layout.build,
            cases_layers.build, cases_attention.build],
    "loss_terms": [cases_loss_terms.build],
    "preference": [cases_preference.build],
    "llama": [cases_llama.build],
    "modules": [cases_modules.build],
    "gpt2": [cases_gpt2.build],
    "families": [cases_families.build],
    "more_families": [cases_families.build_more],
    "points": [cases_points.build],
    "attribution": [cases_attribution.build],
    "training": [cases_training.build],
    "muon": [cases_muon.build],
}
FROZEN_SEED = 2024


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
        file = CaseFile(Source(arguments.seed, arguments.random))
        for build in GROUPS[group]:
            build(file)
        file.save(arguments.out / f"{group}.safetensors")


if __name__ == "__main__":
    main()
