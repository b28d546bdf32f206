"""Logits taken apart at the last token of a text: what each layer, each head, each head by the token
it read from, and each neuron adds through the last norm, from what hooks on transformers' modules
saw."""

import torch
from transformers.pytorch_utils import Conv1D

from case_file import Case, CaseFile
from cases_families import start_case
from cases_points import PointSizes, Watch, models_of, scale_of

LIMIT = 1e-5  # relative to the largest part
REASON = "parts of a logit are compared with the largest of them"
OWN_NORMS = {"gemma3_text": ("post_attention_layernorm", "post_feedforward_layernorm")}


class Reading:
    """How much a vector [C] in the residual stream adds to one logit, with the norms as they stood."""

    def __init__(self, watch: Watch, target: int) -> None:
        self.watch = watch
        head = watch.model.get_output_embeddings().weight.detach()[target]
        norm = watch.model.get_submodule(watch.places.last_norm)
        self.shift = norm.bias.detach() @ head if getattr(norm, "bias", None) is not None else head.new_zeros(())
        self.direction = self.before(watch.places.last_norm, None, head)

    def before(self, place: str, layer: int | None, direction: torch.Tensor) -> torch.Tensor:
        """The direction [C] in what goes into a norm, of one in what comes out."""
        name = place if layer is None else f"{self.watch.places.layers}.{layer}.{place}"
        norm = self.watch.model.get_submodule(name)
        gain = norm.weight.detach() + (1.0 if self.watch.config.model_type == "gemma3_text" else 0.0)
        direction = direction * gain / scale_of(norm, self.watch.way(place, layer)[0].detach()[0, -1:])[0]
        return direction - direction.mean() if isinstance(norm, torch.nn.LayerNorm) else direction

    def behind(self, number: int, layer: int) -> torch.Tensor:
        """The direction in what attention (0) or the MLP (1) put out before a norm of its own."""
        norms = OWN_NORMS.get(self.watch.config.model_type)
        return self.before(norms[number], layer, self.direction) if norms else self.direction

    def columns(self, place: str, number: int, layer: int) -> torch.Tensor:
        """What one unit of each input of a last projection adds."""
        module = self.watch.model.get_submodule(f"{self.watch.places.layers}.{layer}.{place}")
        weight = module.weight.detach()
        return (weight if isinstance(module, Conv1D) else weight.T) @ self.behind(number, layer)


def add_parts(case: Case, watch: Watch, target: int) -> None:
    points = {name: values for name, (values, _) in watch.add_points().items()}
    reading, places = Reading(watch, target), watch.places
    heads = watch.config.num_attention_heads
    parts = {name: [] for name in ("attention", "mlp", "head", "source", "neuron")}
    for layer in range(watch.config.num_hidden_layers):
        block = f"blocks.{layer}."
        parts["attention"].append(points[block + "hook_attn_out"][-1] @ reading.direction)
        parts["mlp"].append(points[block + "hook_mlp_out"][-1] @ reading.direction)
        columns = reading.columns(places.attention_output, 0, layer).unflatten(0, (heads, -1))  # [H, D]
        parts["head"].append((points[block + "attn.hook_z"][-1] * columns).sum(-1))
        values = points[block + "attn.hook_v"]
        values = values.repeat_interleave(heads // values.shape[1], dim=1)  # [T, H, D]
        pattern = points[block + "attn.hook_pattern"][:, -1]  # [H, T]
        parts["source"].append(pattern * torch.einsum("thd,hd->ht", values, columns))
        parts["neuron"].append(points[block + "mlp.hook_post"][-1] * reading.columns(places.mlp_output, 1, layer))
    results = {name: torch.stack(values) for name, values in parts.items()}
    results["embedding"] = points["blocks.0.hook_resid_pre"][-1:] @ reading.direction
    results["norm_bias"] = reading.shift[None]
    results["logit"] = watch.logits.detach()[0, -1, target][None]
    largest = max(float(values.abs().max()) for values in results.values())
    for name, values in results.items():
        case.output(name, values.to(case.dtype), seed=False)
        case.scales[name] = LIMIT, largest


def build_parts(case: Case, sizes: PointSizes, config, stirred: bool) -> None:
    model, tokens, _ = start_case(case, sizes, config, stirred)
    target = case.attributes["target"] = case.integer(0, sizes.vocabulary - 1)
    watch = Watch(model, tokens[:1, :sizes.lengths[0]])
    watch.logits[0, -1, target].backward()
    add_parts(case, watch, target)


def build(file: CaseFile) -> None:
    for what, heads, configure in models_of(file):

        def build_case(case: Case, stirred: bool) -> None:
            sizes = PointSizes(case, **heads)
            build_parts(case, sizes, configure(sizes.of(what)), stirred)

        file.model("attribution", what, "parts of logits", REASON, build_case)
