"""Compares the helpers of Headlight's ActivationCache with those of TransformerLens on a tiny model of every family.

Both open the models of drawn_models.py: accumulated_resid, decompose_resid, stack_head_results and logit_attrs must give
the same stacks and labels, and a pass from layer 1 on the same logits. Besides, attributions must sum to the logit of
the model. Needs the package headlight on the path (tools/test_python.sh --built makes build/release/python_package), and
what check_points.py needs.
"""

import sys
import tempfile
from pathlib import Path

import check_points as points
import numpy
import torch
from transformer_lens.model_bridge import TransformerBridge
from transformers import PreTrainedTokenizerFast

from checker import ROOT, Headlight, Table, note
from drawn_models import be_quiet, drawn_configs, save_model

sys.path.append(str(Path(ROOT) / "build/release/python_package"))
try:
    import headlight
except ImportError:
    headlight = None

LIMIT = 5e-5  # relative to the largest entry
# The norm of the embeddings is no part of TransformerLens's, whose parts do not sum to the stream then.
NORMED = ("nanochat",)
CASES = [
    ("accumulated_resid", {}), ("accumulated_resid", {"incl_mid": True}), ("accumulated_resid", {"layer": 1, "mlp_input": True}),
    ("accumulated_resid", {"apply_ln": True}), ("accumulated_resid", {"layer": 2, "apply_ln": True}),
    ("decompose_resid", {}), ("decompose_resid", {"layer": 2, "mode": "mlp"}), ("decompose_resid", {"mode": "attn", "incl_embeds": False}),
    ("decompose_resid", {"layer": 1, "mlp_input": True, "apply_ln": True}), ("decompose_resid", {"apply_ln": True, "pos_slice": -1}),
    ("stack_head_results", {}), ("stack_head_results", {"layer": 2, "incl_remainder": True}),
    ("stack_head_results", {"apply_ln": True, "incl_remainder": True, "pos_slice": -1}),
]


def relative(found: numpy.ndarray, expected: numpy.ndarray) -> float:
    if found.shape != expected.shape:
        return float("inf")
    return float(numpy.abs(found - expected).max() / numpy.abs(expected).max())


def compare(table: Table, name: str, config) -> None:
    with tempfile.TemporaryDirectory() as folder:
        save_model(config, folder)
        tokenizer = PreTrainedTokenizerFast.from_pretrained(folder)
        bridge = TransformerBridge.boot_transformers(folder, dtype=torch.float32, tokenizer=tokenizer, device="cpu")
        has_results = "hook_result" not in points.OTHER.get(config.model_type, ())
        bridge.set_use_attn_result(has_results)
        model = headlight.load(folder)
        with torch.no_grad():
            _, theirs = bridge.run_with_cache(torch.tensor([points.IDS]))
            output, ours = model.run_with_cache(numpy.array([points.IDS]))
            for helper, options in CASES:
                needs = [("resid_mid.0", options.get("incl_mid") or options.get("mlp_input")),
                         ("ln1_scale.1", options.get("apply_ln") and "layer" in options)]
                has_points = all(point in ours for point, is_needed in needs if is_needed)
                has_same_parts = config.model_type not in NORMED or helper != "decompose_resid" or not options.get("incl_embeds", True)
                if not has_points or not has_same_parts or (helper == "stack_head_results" and not has_results):
                    continue
                expected, labels = getattr(theirs, helper)(return_labels=True, **options)
                found, own_labels = getattr(ours, helper)(return_labels=True, **options)
                error = relative(found, expected.numpy()) if list(labels) == own_labels else float("inf")
                table.add(f"{helper} of TransformerLens", error, LIMIT)
                if not error <= LIMIT:
                    note(f"{name}: {helper} {options} differs by {error:.2g}: {list(labels)} {own_labels}")
            expected = bridge(theirs["blocks.1.hook_resid_pre"], start_at_layer=1).numpy()
            error = relative(model(ours["resid_pre.1"], start_at_layer=1).logits, expected)
            table.add("start_at_layer of TransformerLens", error, LIMIT)
            if not error <= LIMIT:
                note(f"{name}: start_at_layer differs by {error:.2g}")
            check_attributions(table, name, model, theirs, ours, output.logits)


def check_attributions(table: Table, name: str, model, theirs, ours, logits: numpy.ndarray) -> None:
    """Compares sums of attributions with the model's own logits, and attributions with TransformerLens's."""
    stack = ours.decompose_resid()
    answer, wrong = [7], [9]
    weights = model.weights
    rest = numpy.zeros(1)  # of the shift of the final norm and the bias of the head, which are no parts
    if "ln_f.bias" in weights:
        rest = rest + weights["ln_final.b"] @ (weights["unembed.W_U"][:, answer] - weights["unembed.W_U"][:, wrong])
    if "lm_head.bias" in weights:
        rest = rest + weights["unembed.b_U"][answer] - weights["unembed.b_U"][wrong]
    if not model.config.logit_cap:
        found = ours.logit_attrs(stack, answer, wrong).sum(0) + rest * (model.config.logit_scale or 1)
        table.add("attributions sum to the logits", relative(found, logits[..., 7] - logits[..., 9]), LIMIT)
    if "ln_f.weight" in weights:  # TransformerLens leaves out the gain and the scale of the logits
        weights["ln_final.w"] = numpy.full_like(weights["ln_final.w"], 0 if model.config.norm_gain_plus_one else 1)
    if "embed_norm" in ours.decompose_resid(return_labels=True)[1]:
        return
    expected = theirs.logit_attrs(theirs.decompose_resid(), torch.tensor(answer), torch.tensor(wrong)).numpy()
    found = ours.logit_attrs(stack, answer, wrong) / (model.config.logit_scale or 1)
    error = relative(found, expected)
    table.add("logit_attrs of TransformerLens", error, LIMIT)
    if error > LIMIT:
        note(f"{name}: logit_attrs differs by {error:.2g}")


def check(table: Table, program: Headlight, options) -> None:
    if headlight is None:
        note("the Python package is not built: tools/test_python.sh --built")
        sys.exit(77)
    be_quiet()
    for name, config in drawn_configs(options.families):
        if name in points.REFUSED:
            continue
        try:
            compare(table, name, config)
        except (AssertionError, RuntimeError, ValueError, KeyError) as error:
            table.count("models", 1, detail=f"{name}: {str(error)[:300] or 'a failed assertion'}")


OPTIONS = {"families": dict(nargs="*")}
