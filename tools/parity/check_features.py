"""Compares the point `feature` of Headlight with SAELens on a tiny GPT-2 with drawn weights.

SAELens adds a drawn autoencoder of each architecture, with its error term, to a layer of a TransformerBridge. Features,
gradients of a difference of logits with respect to them, and logits without the strongest feature must be the same.
Needs the package headlight on the path (tools/test_python.sh --built makes build/release/python_package), sae-lens and
what check_points.py needs.
"""

import sys
import tempfile
from pathlib import Path

import check_points as points
import numpy
import torch
from sae_lens import GatedSAE, GatedSAEConfig, JumpReLUSAE, JumpReLUSAEConfig, StandardSAE, StandardSAEConfig, TopKSAE, TopKSAEConfig
from sae_lens.analysis.sae_transformer_bridge import SAETransformerBridge
from sae_lens.saes.sae import SAEMetadata
from transformers import GPT2Config, PreTrainedTokenizerFast

from checker import ROOT, Headlight, Table, note
from drawn_models import be_quiet, save_model

sys.path.append(str(Path(ROOT) / "build/release/python_package"))
try:
    import headlight
except ImportError:
    headlight = None

LIMIT = 1e-4  # relative to the largest entry
POINT = "blocks.1.hook_resid_pre"
KINDS = {"standard": (StandardSAE, StandardSAEConfig, {}), "gated": (GatedSAE, GatedSAEConfig, {}),
         "jumprelu": (JumpReLUSAE, JumpReLUSAEConfig, {}), "topk": (TopKSAE, TopKSAEConfig, {"k": 5}),
         "standard, layer_norm": (StandardSAE, StandardSAEConfig, {"normalize_activations": "layer_norm"})}


def draw(kind, config, options, width: int, seed: int, point: str = POINT):
    torch.manual_seed(seed)
    metadata = SAEMetadata(hook_name=point, model_name="tiny")
    sae = kind(config(d_in=width, d_sae=3 * width, metadata=metadata, **options))
    with torch.no_grad():
        for name, parameter in sae.named_parameters():
            parameter.copy_(torch.rand_like(parameter) * 0.3 if name == "threshold" else 0.3 * torch.randn_like(parameter))
    return sae.eval()


def relative(found: numpy.ndarray, expected: torch.Tensor) -> float:
    values = expected.detach().numpy()
    return float(numpy.abs(found - values).max() / numpy.abs(values).max()) if found.shape == values.shape else float("inf")


def compare(table: Table, name: str, bridge, model, folder: Path, sae) -> None:
    sae.save_model(folder)
    ids = torch.tensor([points.IDS])
    kept = {}

    def keep(value, hook):
        value.retain_grad()
        kept["features"] = value
        return value

    bridge.add_sae(sae, use_error_term=True)
    point = next(name for name in bridge.hook_dict if name.endswith("hook_sae_acts_post"))
    logits = bridge.run_with_hooks(ids, fwd_hooks=[(point, keep)])
    (logits[0, -1, 7] - logits[0, -1, 9]).backward()
    strongest = int(kept["features"][0, -1].argmax())

    def remove(value, hook):
        return value * (torch.arange(value.shape[-1]) != strongest)

    with torch.no_grad():
        without = bridge.run_with_hooks(ids, fwd_hooks=[(point, remove)])
    bridge.reset_saes()
    model.add_sae(headlight.load_sae(folder))
    _, features, gradients = model.grad(ids.numpy(), headlight.logit_difference(7, 9), ["feature.1"])
    with model.intervene(f"off feature.1.{strongest}"):
        changed = model(ids.numpy()).logits
    model.reset_saes()
    for what, found, expected in (("features", features["feature.1"], kept["features"]),
                                  ("gradients of features", gradients["feature.1"], kept["features"].grad),
                                  ("logits without a feature", changed, without)):
        error = relative(found, expected)
        table.add(f"{what} in SAELens", error, LIMIT)
        if not error <= LIMIT:
            note(f"{name}: {what} differ by {error:.2g}")


def compare_layers(table: Table, bridge, model, folder: Path, saes: list) -> None:
    """Compares the gradients of the strongest feature of a layer with respect to those of an earlier one."""
    ids = torch.tensor([points.IDS])
    kept = []

    def keep(value, hook):
        value.retain_grad()
        kept.append(value)
        return value

    for sae in saes:
        bridge.add_sae(sae, use_error_term=True)
    names = [name for name in bridge.hook_dict if name.endswith("hook_sae_acts_post")]
    bridge.run_with_hooks(ids, fwd_hooks=[(name, keep) for name in names])
    target = int(kept[1][0, -1].argmax())
    kept[1][0, -1, target].backward()
    bridge.reset_saes()
    for number, sae in enumerate(saes):
        sae.save_model(folder / f"layer{number}")
        model.add_sae(headlight.load_sae(folder / f"layer{number}"))
    value, _, gradients = model.grad(ids.numpy(), f"feature.2.{target}", ["feature.1"])
    model.reset_saes()
    errors = relative(gradients["feature.1"], kept[0].grad), abs(value - float(kept[1].detach()[0, -1, target]))
    table.add("gradients between features of two layers in SAELens", max(errors), LIMIT)


def check(table: Table, program: Headlight, options) -> None:
    if headlight is None:
        note("the Python package is not built: tools/test_python.sh --built")
        sys.exit(77)
    be_quiet()
    with tempfile.TemporaryDirectory() as folder:
        sizes = {"vocab_size": 280, "n_positions": 16, "n_layer": 3, "n_embd": 32, "n_head": 4}
        save_model(GPT2Config(**sizes, bos_token_id=0, eos_token_id=0), folder)
        tokenizer = PreTrainedTokenizerFast.from_pretrained(folder)
        bridge = SAETransformerBridge.boot_transformers(folder, dtype=torch.float32, tokenizer=tokenizer, device="cpu")
        model = headlight.load(folder)
        for seed, (name, kind) in enumerate(KINDS.items(), options.seed):
            compare(table, name, bridge, model, Path(folder) / f"sae{seed}", draw(*kind, 32, seed))
            later = draw(*KINDS["gated"], 32, seed + 100, POINT.replace("1", "2"))
            compare_layers(table, bridge, model, Path(folder), [draw(*kind, 32, seed), later])
