"""Writes tests/interpret/detector_fixture.json: the scores of TransformerLens's head_detector for a
small GPT-2, whose weights follow a formula, so that the test can make the same ones.

Needs torch, transformers and transformer_lens (with einops and jaxtyping). Of the last only
head_detector.py and utilities/tensors.py are run: the package itself loads much else. Attention
patterns are those that transformers computes with eager attention.
"""

import argparse
import importlib.metadata
import importlib.util
import json
import sys
import types
from pathlib import Path

import torch
from transformers import GPT2Config, GPT2LMHeadModel

CONFIG = {"vocab_size": 9, "n_positions": 16, "n_layer": 2, "n_head": 2, "n_embd": 8,
          "bos_token_id": None, "eos_token_id": None}
# Tuples, because detect_head treats a list as several prompts.
SEQUENCES = [(3, 5, 1, 3, 5, 1, 7, 7, 2, 3, 5), (0, 4, 4, 8, 0, 4, 2, 8, 0, 4, 2, 6), (6, 2, 6)]
PATTERNS = ["previous_token_head", "duplicate_token_head", "induction_head"]


def load_detector() -> types.ModuleType:
    root = Path(importlib.util.find_spec("transformer_lens").submodule_search_locations[0])

    def load(name: str, path: Path) -> types.ModuleType:
        spec = importlib.util.spec_from_file_location(name, path)
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
        return module

    for name in ["transformer_lens", "transformer_lens.ActivationCache",
                 "transformer_lens.model_protocol"]:
        sys.modules[name] = types.ModuleType(name)
    # Names that the module uses only in type annotations.
    sys.modules["transformer_lens.ActivationCache"].ActivationCache = dict
    sys.modules["transformer_lens.model_protocol"].TransformerLensModel = object
    load("transformer_lens.utilities", root / "utilities" / "tensors.py")
    return load("transformer_lens.head_detector", root / "head_detector.py")


def weight(number: int, shape: torch.Size) -> torch.Tensor:
    """Parameter `number` of the model; the test has the same formula."""
    index = torch.arange(shape.numel(), dtype=torch.float64)
    return (0.6 * torch.sin(1.7 * index + 0.9 * number + 0.3)).reshape(shape)


def make_model() -> GPT2LMHeadModel:
    model = GPT2LMHeadModel(GPT2Config(**CONFIG, attn_implementation="eager"))
    model.double().eval()
    number = 0
    for name, parameter in model.transformer.named_parameters():
        shape = parameter.shape
        transposed = "attn.c" in name or "mlp.c" in name
        if transposed and len(shape) == 2:  # Conv1D stores [in, out]
            value = weight(number, torch.Size(reversed(shape))).T
        else:
            value = weight(number, shape) + (1 if "ln_" in name and name.endswith("weight") else 0)
        parameter.data.copy_(value)
        number += 1
    return model


class LensModel:
    """The part of a HookedTransformer that detect_head uses."""

    def __init__(self, model: GPT2LMHeadModel) -> None:
        self.model = model
        self.cfg = types.SimpleNamespace(device="cpu", n_ctx=CONFIG["n_positions"],
                                         n_heads=CONFIG["n_head"], n_layers=CONFIG["n_layer"], dtype=torch.float64)

    def to_tokens(self, sequence: tuple[int, ...] | list) -> torch.Tensor:
        # For a list, detect_head passes its prompts one by one and uses only the length.
        return torch.tensor([sequence[0] if isinstance(sequence, list) else sequence])

    def run_with_cache(self, tokens: torch.Tensor, remove_batch_dim: bool):
        with torch.no_grad():
            attentions = self.model(tokens, output_attentions=True).attentions
        return None, {("pattern", layer, "attn"): maps[0] for layer, maps in enumerate(attentions)}


def main() -> None:
    parser = argparse.ArgumentParser(description="Writes tests/interpret/detector_fixture.json")
    parser.add_argument("--out", type=Path, default=Path("tests/interpret/detector_fixture.json"))
    arguments = parser.parse_args()
    detector = load_detector()
    model = LensModel(make_model())
    cases = []
    for exclude_bos in [False, True]:
        for exclude_current_token in [False, True]:
            case = {"exclude_bos": exclude_bos, "exclude_current_token": exclude_current_token}
            for measure in ["mul", "abs"]:
                for pattern in PATTERNS:
                    scores = detector.detect_head(model, SEQUENCES, pattern, exclude_bos=exclude_bos,
                                                  exclude_current_token=exclude_current_token, error_measure=measure)
                    case[f"{measure}.{pattern}"] = scores.flatten().tolist()
            cases.append(case)
    fixture = {"made_by": f"transformer_lens {importlib.metadata.version('transformer_lens')}",
               "sequences": SEQUENCES, "cases": cases}
    arguments.out.write_text(json.dumps(fixture).replace("}, {", "},\n{") + "\n")


if __name__ == "__main__":
    main()
