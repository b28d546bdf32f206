#!/usr/bin/env python3
"""Compares the points of the frozen models, which Headlight's tests compare too, with TransformerLens.

usage: check_transformer_lens.py [POINTS.safetensors]

A TransformerBridge opens each model, and what it caches under the names of Headlight's points must be
the values of the case. Needs transformer-lens 4 beside what make_fixtures.py needs, and no network.
Exit code 1 when a comparison fails.
"""

import json
import logging
import os
import sys
import tempfile
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"  # must be set before the imports read it

import torch
from safetensors import safe_open
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformer_lens.model_bridge import TransformerBridge
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedTokenizerFast
from transformers.utils.logging import disable_progress_bar

from cases_families import name_in_files
from checker import ROOT, Table, note

FROZEN = ROOT / "tests/parity/fixtures/points.safetensors"
LIMIT = 1e-5  # relative to the largest entry
WITHOUT_RESULT = ("gpt_neo", "nanochat", "opt")
# Points without a hook in the bridge. GPT-Neo's hook_attn_scores holds the pattern.
MISSING = {"gpt_neo": ("hook_result", "hook_attn_scores"), "gpt_neox": ("hook_rot_q", "hook_rot_k")}


def read_cases(path: Path) -> dict[str, tuple[dict, dict]]:
    """Returns the configuration and the tensors of every case, by its name."""
    with safe_open(path, "pt") as file:
        tensors = {name: file.get_tensor(name) for name in file.keys()}
        names = {name: text for name, text in file.metadata().items() if name != "format"}
    return {name: (json.loads(json.loads(text)["attributes"]["config"]),
                   {key.removeprefix(name + "/"): values for key, values in tensors.items()
                    if key.startswith(name + "/")})
            for name, text in names.items()}


def save_model(configuration: dict, tensors: dict, folder: str) -> str:
    """Saves the model to the folder, with an unused tokenizer. Returns the model's type."""
    config = AutoConfig.for_model(**configuration)
    config.attn_implementation = "eager"
    model = AutoModelForCausalLM.from_config(config)
    config.architectures = [type(model).__name__]
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(tensors["in/" + name_in_files(config, name)])
    model.save_pretrained(folder)
    save_tokenizer(config, folder)
    return config.model_type


def save_tokenizer(config, folder: str) -> None:
    """Saves a tokenizer of bytes and pairs of them, which no comparison uses."""
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    pairs = list(zip(letters, letters[1:]))[:max(0, config.vocab_size - len(letters))]
    names = (letters + [a + b for a, b in pairs])[:config.vocab_size]
    tokenizer = Tokenizer(models.BPE({name: number for number, name in enumerate(names)},
                                     pairs if len(letters) < config.vocab_size else []))
    tokenizer.pre_tokenizer, tokenizer.decoder = pre_tokenizers.ByteLevel(), decoders.ByteLevel()
    end = names[0]
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token=end, bos_token=end, eos_token=end,
                            pad_token=end).save_pretrained(folder)


def open_bridge(folder: str, model_type: str) -> TransformerBridge:
    """Opens a model; WITHOUT_RESULT lists the types whose bridge computes no hook_result."""
    tokenizer = PreTrainedTokenizerFast.from_pretrained(folder)
    bridge = TransformerBridge.boot_transformers(folder, dtype=torch.float32, tokenizer=tokenizer, device="cpu")
    if model_type not in WITHOUT_RESULT:
        bridge.set_use_attn_result(True)
    return bridge


def expected_of(tensors: dict, sequence: int, lengths: list[int]) -> dict[str, torch.Tensor]:
    """Returns the expected points of one sequence."""
    first = sum(lengths[:sequence])
    rows = slice(first, first + lengths[sequence])
    result = {}
    for key, values in tensors.items():
        kind, name = key.split("/")
        name, _, number = name.partition(", sequence ")
        if kind == "out" and (not number or int(number) == sequence):
            result[name] = values if number else values[rows]
    return result


def distance(found: torch.Tensor, expected: torch.Tensor) -> float:
    """Returns the largest difference as a share of the largest entry. Hidden scores are any large negative numbers."""
    hidden = expected == -torch.inf
    if found.shape != expected.shape or not (found[hidden] < -1e9).all():
        return torch.inf
    difference = (found - expected)[~hidden].abs().max()
    return float(difference / expected[~hidden].abs().max())


def compare(configuration: dict, tensors: dict) -> dict[str, float]:
    """Returns the distance of every point, by its name."""
    errors = {}
    with tempfile.TemporaryDirectory() as folder:
        model_type = save_model(configuration, tensors, folder)
        bridge = open_bridge(folder, model_type)
        lengths = tensors["in/lengths"].tolist()
        for number, length in enumerate(lengths):
            tokens = tensors["in/tokens"][number:number + 1, :length].long()
            with torch.no_grad():
                logits, cache = bridge.run_with_cache(tokens)
            for name, expected in expected_of(tensors, number, lengths).items():
                if not name.endswith(MISSING.get(model_type, ())):
                    found = logits if name == "logits" else cache[name]
                    errors[name] = max(errors.get(name, 0.0), distance(found[0], expected))
    return errors


def quiet() -> None:
    logging.disable(logging.WARNING)
    disable_progress_bar()
    torch.set_num_threads(1)


def add_points(table: Table, what: str, errors: dict[str, float], limit: float) -> None:
    for point, error in (errors or {"no point": torch.inf}).items():  # without a point nothing is compared
        table.add(what, error, limit)
        if error > limit:
            note(f"{what}: {point} differs by {error:.2g} of its largest entry")


def main() -> int:
    quiet()
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else FROZEN
    table = Table()
    for name, (configuration, tensors) in sorted(read_cases(path).items()):
        what = name.removeprefix("points, ").removesuffix(", float32")
        add_points(table, f"TransformerLens: {what}", compare(configuration, tensors), LIMIT)
    return 1 if table.show() else 0


if __name__ == "__main__":
    sys.exit(main())
