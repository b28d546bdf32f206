"""Compares `headlight cache` with TransformerLens on a tiny model of every family.

A TransformerBridge opens each model of family_models.py, whose weights are drawn. All points that both programs have
must hold the same values under the same names, in the same units. The models of REFUSED, which the bridge does not
open, are compared with hooks on the modules of transformers. Needs transformer-lens 4 beside what make_fixtures.py
needs, and no network.
"""

import os
import tempfile

os.environ["HF_HUB_OFFLINE"] = "1"  # must be set before the imports read it

import numpy
import torch
from transformer_lens.model_bridge import TransformerBridge
from transformers import AutoModelForCausalLM, PreTrainedTokenizerFast

from checker import Headlight, Table, note
from drawn_models import be_quiet, drawn_configs, save_model

LIMIT = 1e-5  # relative to the largest entry
IDS = [3, 17, 5, 9, 3, 11, 2]
# Values of TransformerBridge that are not those of the model of transformers, by model_type: without
# hook_result, its hook_attn_scores holds the pattern.
OTHER = {"gpt_neo": ("hook_result", "hook_attn_scores"), "gpt_neox": ("hook_rot_q", "hook_rot_k"),
         "nanochat": ("hook_result", "hook_attn_scores"), "opt": ("hook_result", "hook_attn_scores")}
# Models that TransformerLens 4.3 does not open.
REFUSED = ("helium", "helium, biases", "gpt_neox, whole heads, no biases in attention",
           "phi, quarter of each head, norms of queries and keys")


def cached(program: Headlight, folder: str) -> dict[str, numpy.ndarray]:
    """Returns the points that the program computes, by name."""
    out = program.folder / "cache.npz"
    names = ("embed resid_pre ln1_scale ln1_normalized ln1 q k v rot_q rot_k attn_scores pattern z result attn_out "
             "resid_mid ln2_scale ln2_normalized ln2 mlp_pre mlp_post mlp_out resid_post ln_final_scale "
             "ln_final_normalized ln_final logits")
    program.run("cache", folder, "--ids", ",".join(map(str, IDS)), "--names", names.replace(" ", ","), "--out", out)
    arrays = numpy.load(out)
    return {name.removesuffix("/0"): arrays[name] for name in arrays.files if "hook" in name or name == "logits"}


def of_transformer_lens(folder: str, model_type: str) -> dict[str, torch.Tensor]:
    """Returns the points of a TransformerBridge, and the logits, by name."""
    tokenizer = PreTrainedTokenizerFast.from_pretrained(folder)
    bridge = TransformerBridge.boot_transformers(folder, dtype=torch.float32, tokenizer=tokenizer, device="cpu")
    if "hook_result" not in OTHER.get(model_type, ()):
        bridge.set_use_attn_result(True)
    with torch.no_grad():
        logits, cache = bridge.run_with_cache(torch.tensor([IDS]))
    return {**cache, "logits": logits}


def of_transformers(folder: str) -> dict[str, torch.Tensor]:
    """Returns inputs and outputs of the modules of transformers under TransformerLens's names."""
    model = AutoModelForCausalLM.from_pretrained(folder, attn_implementation="eager", dtype=torch.float32)
    found = {}

    def first(values) -> torch.Tensor:
        return values[0] if isinstance(values, tuple) else values

    def keep(name: str):
        return lambda module, inputs, output: found.update({name: first(output)})

    def keep_input(name: str, heads: int | None = None):
        return lambda module, inputs: found.update({name: inputs[0].unflatten(-1, (heads, -1)) if heads else inputs[0]})

    layers = next(module for module in model.modules() if isinstance(module, torch.nn.ModuleList))
    for number, layer in enumerate(layers):
        block = f"blocks.{number}."
        layer.register_forward_pre_hook(keep_input(block + "hook_resid_pre"))
        layer.register_forward_hook(keep(block + "hook_resid_post"))
        layer.mlp.register_forward_hook(keep(block + "hook_mlp_out"))
        attention = layer.attention if hasattr(layer, "attention") else layer.self_attn
        attention.register_forward_hook(keep(block + "hook_attn_out"))
        last = attention.o_proj if hasattr(attention, "o_proj") else attention.dense
        last.register_forward_pre_hook(keep_input(block + "attn.hook_z", model.config.num_attention_heads))
    with torch.no_grad():
        output = model(torch.tensor([IDS]), output_attentions=True)
    patterns = {f"blocks.{number}.attn.hook_pattern": values for number, values in enumerate(output.attentions)}
    return {**found, **patterns, "logits": output.logits}


def only_sequence(values: torch.Tensor) -> torch.Tensor:
    """Returns the values of the batch's only sequence; OPT's MLP has no axis for the batch."""
    return values[0] if len(values) == 1 else values


def distance(found: torch.Tensor, expected: torch.Tensor) -> float:
    """Returns the largest difference as a share of the largest entry. Hidden scores are any large negative numbers."""
    hidden = expected == -torch.inf
    if found.shape != expected.shape or not (found[hidden] < -1e9).all():
        return torch.inf
    difference = (found - expected)[~hidden].abs().max()
    return float(difference / expected[~hidden].abs().max())


def compare(program: Headlight, name: str, config) -> dict[str, float]:
    """Returns the distance of every shared point, by its name."""
    with tempfile.TemporaryDirectory() as folder:
        save_model(config, folder)
        theirs = of_transformers(folder) if name in REFUSED else of_transformer_lens(folder, config.model_type)
        found = cached(program, folder)
    return {point: distance(only_sequence(theirs[point]).float(), torch.from_numpy(values))
            for point, values in found.items()
            if point in theirs and not point.endswith(OTHER.get(config.model_type, ()))}


def check(table: Table, program: Headlight, options) -> None:
    be_quiet()
    for name, config in drawn_configs(options.families):
        try:
            errors = compare(program, name, config)
        except (AssertionError, RuntimeError, ValueError) as error:
            note(f"{name}: {str(error)[:300] or 'a failed assertion'}")
            errors = {}
        what = f"{'transformers' if name in REFUSED else 'TransformerLens'}: {name}"
        for point, error in (errors or {"no point": torch.inf}).items():  # without a point nothing is compared
            table.add(what, error, LIMIT)
            if not error <= LIMIT:
                note(f"{what}: {point} differs by {error:.2g} of its largest entry")


OPTIONS = {"families": dict(nargs="*")}
