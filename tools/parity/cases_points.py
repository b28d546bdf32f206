"""Activation points of transformers' models, as hooks on their modules see them, and the gradients
of the loss there. They are called what TransformerLens calls them."""

import sys
from contextlib import ExitStack
from dataclasses import dataclass
from unittest.mock import patch

import torch
import torch.nn.functional as F
from transformers.pytorch_utils import Conv1D

from case_file import Case, CaseFile
from cases_families import Sizes, start_case
from family_models import MODELS
from gpt2_model import IGNORED, shifted_labels

LIMIT = 1e-5  # relative to the largest entry
# Float32 gradients through scores that are not scaled (GPT-Neo) may differ by a little more.
GRADIENT_LIMIT = 3e-5
REASON = "points and their gradients are compared with their largest entry"
FROZEN = ("gpt2, any inner width", "gpt_neo", "gpt_neox", "gpt_neox, one after the other, tied",
          "llama, one key head, biases", "mistral", "qwen2", "qwen3", "gemma3")


def models_of(file: CaseFile) -> list[tuple]:
    return [row for row in MODELS if file.source.random_sizes or row[0] in FROZEN]


class PointSizes(Sizes):
    """Smaller ones: two layers have forty points."""

    def __init__(self, case: Case, heads: int = 3, key_heads: int | None = None):
        super().__init__(case, heads, key_heads)
        drawn = case.source.random_sizes
        self.layers = case.integer(1, 2) if drawn else 2
        self.head_width = 2 * case.integer(2, 6) if drawn else 4
        self.inner = case.integer(8, 30) if drawn else 7
        self.vocabulary = case.integer(5, 60) if drawn else 11
        self.block = case.integer(3, 12) if drawn else 6
        self.lengths = [self.block, case.integer(2, self.block) if drawn else 3]


@dataclass(frozen=True)
class Places:
    """Names of a family's modules, beside `embed`, `layers` and `last_norm` those of a layer."""

    embed: str = "model.embed_tokens"
    layers: str = "model.layers"
    last_norm: str = "model.norm"
    attention_norm: str = "input_layernorm"
    projections: tuple[str, ...] = ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj")
    attention_output: str = "self_attn.o_proj"
    attention: str = "self_attn"  # its result is added to the residual stream
    mlp_norm: str = "post_attention_layernorm"
    activated: str = "mlp.gate_proj"  # its result goes into the activation
    mlp_output: str = "mlp.down_proj"
    mlp: str = "mlp"


PLACES = {
    "gpt2": Places("transformer.wte", "transformer.h", "transformer.ln_f", "ln_1", ("attn.c_attn",),
                   "attn.c_proj", "attn", "ln_2", "mlp.c_fc", "mlp.c_proj"),
    "gpt_neo": Places("transformer.wte", "transformer.h", "transformer.ln_f", "ln_1",
                      tuple(f"attn.attention.{kind}_proj" for kind in "qkv"),
                      "attn.attention.out_proj", "attn", "ln_2", "mlp.c_fc", "mlp.c_proj"),
    "gpt_neox": Places("gpt_neox.embed_in", "gpt_neox.layers", "gpt_neox.final_layer_norm",
                       projections=("attention.query_key_value",),
                       attention_output="attention.dense", attention="attention",
                       activated="mlp.dense_h_to_4h", mlp_output="mlp.dense_4h_to_h"),
    "gemma3_text": Places(attention="post_attention_layernorm", mlp_norm="pre_feedforward_layernorm",
                          mlp="post_feedforward_layernorm"),
}


def scale_of(norm: torch.nn.Module, x: torch.Tensor) -> torch.Tensor:
    """What the norm divides by, [T, 1]."""
    if isinstance(norm, torch.nn.LayerNorm):
        return (x.var(-1, keepdim=True, unbiased=False) + norm.eps).sqrt()
    epsilon = norm.eps if hasattr(norm, "eps") else norm.variance_epsilon
    return (x.square().mean(-1, keepdim=True) + epsilon).sqrt()


class Watch:
    """One sequence's way through a model; add_points() tells after backward() what it passed."""

    def __init__(self, model: torch.nn.Module, tokens: torch.Tensor) -> None:
        self.model = model
        self.config = model.config
        self.places = PLACES.get(self.config.model_type, Places())
        self.ways: dict[torch.nn.Module, tuple] = {}  # input and output of each module
        self.scores: list[tuple] = []  # scores and pattern of each layer
        self.turned: list[tuple] = []  # rotated queries and keys of each layer
        self.points: dict[str, tuple[torch.Tensor, torch.Tensor]] = {}
        with ExitStack() as stack:
            for module in model.modules():
                stack.callback(module.register_forward_hook(self.keep_way).remove)
            softmax = self.kept(F.softmax, lambda args, result: self.scores.append((args[0], result)))
            stack.enter_context(patch.object(F, "softmax", softmax))
            family = sys.modules[type(model).__module__]
            if hasattr(family, "apply_rotary_pos_emb"):
                turn = self.kept(family.apply_rotary_pos_emb, lambda args, result: self.turned.append(result))
                stack.enter_context(patch.object(family, "apply_rotary_pos_emb", turn))
            self.logits = model(tokens).logits
        self.logits.retain_grad()

    def keep_way(self, module: torch.nn.Module, args: tuple, result) -> None:
        result = result[0] if isinstance(result, tuple) else result
        self.ways[module] = args[0] if args else None, result
        for tensor in self.ways[module]:
            if isinstance(tensor, torch.Tensor) and tensor.requires_grad:
                tensor.retain_grad()

    @staticmethod
    def kept(function, keep):
        def kept_function(*args, **options):
            result = function(*args, **options)
            keep(args, result)
            for tensor in (*args[:1], *(result if isinstance(result, tuple) else (result,))):
                tensor.retain_grad()
            return result

        return kept_function

    def way(self, name: str, layer: int | None = None) -> tuple:
        name = name if layer is None else f"{self.places.layers}.{layer}.{name}".rstrip(".")
        return self.ways[self.model.get_submodule(name)]

    def add_points(self) -> dict[str, tuple[torch.Tensor, torch.Tensor]]:
        """By name the values and the gradients there."""
        self.add("hook_embed", self.way(self.places.embed)[1])
        for layer in range(self.config.num_hidden_layers):
            self.add_attention(layer, f"blocks.{layer}.")
            self.add_mlp(layer, f"blocks.{layer}.")
        self.add_norm("ln_final", self.places.last_norm)
        self.add("logits", self.logits)
        return self.points

    def add(self, name: str, tensor: torch.Tensor, view=lambda rows: rows) -> None:
        self.points[name] = view(tensor.detach()[0]), view(tensor.grad[0])

    def add_norm(self, name: str, place: str, layer: int | None = None) -> None:
        before, after = self.way(place, layer)
        whole = place if layer is None else f"{self.places.layers}.{layer}.{place}"
        norm = self.model.get_submodule(whole)
        scale = scale_of(norm, before.detach()[0])
        shift = norm.bias.detach() if isinstance(norm, torch.nn.LayerNorm) else 0.0
        # The result is (x - mean) gain / scale + shift.
        gradient = -(after.grad[0] * (after.detach()[0] - shift)).sum(-1, keepdim=True) / scale
        self.points[f"{name}.hook_scale"] = scale, gradient
        centred = before - before.mean(-1, keepdim=True) if isinstance(norm, torch.nn.LayerNorm) else before
        gain = norm.weight.detach() + (1.0 if "Gemma" in type(norm).__name__ else 0.0)
        self.points[f"{name}.hook_normalized"] = centred.detach()[0] / scale, after.grad[0] * gain
        self.add(f"{name}.hook_out", after)

    def add_attention(self, layer: int, block: str) -> None:
        self.add(block + "hook_resid_pre", self.way("", layer)[0])
        self.add_norm(block + "ln1", self.places.attention_norm, layer)
        self.add_projections(layer, block + "attn.hook_")
        if self.turned:
            for kind, tensor in zip("qk", self.turned[layer]):
                self.add(f"{block}attn.hook_rot_{kind}", tensor, lambda x: x.transpose(0, 1))
        scores, pattern = self.scores[layer]
        hidden = scores.detach()[0] < torch.finfo(torch.float32).min / 2
        self.points[block + "attn.hook_attn_scores"] = (
            scores.detach()[0].masked_fill(hidden, -torch.inf), scores.grad[0])
        self.add(block + "attn.hook_pattern", pattern)
        self.add_heads(layer, block)
        self.add(block + "hook_attn_out", self.way(self.places.attention, layer)[1])

    def add_projections(self, layer: int, start: str) -> None:
        heads = self.config.num_attention_heads
        width = self.way(self.places.attention_output, layer)[0].shape[-1] // heads
        for number, kind in enumerate("qkv"):
            if self.config.model_type == "gpt2":
                view = lambda x: x.unflatten(-1, (3, heads, width))[:, number]
            elif self.config.model_type == "gpt_neox":
                view = lambda x: x.unflatten(-1, (heads, 3, width))[:, :, number]
            else:
                view = lambda x: x.unflatten(-1, (-1, width))
            place = self.places.projections[number % len(self.places.projections)]
            self.add(start + kind, self.way(place, layer)[1], view)

    def add_heads(self, layer: int, block: str) -> None:
        heads = self.config.num_attention_heads
        z, output = self.way(self.places.attention_output, layer)
        self.add(block + "attn.hook_z", z, lambda x: x.unflatten(-1, (heads, -1)))
        module = self.model.get_submodule(f"{self.places.layers}.{layer}.{self.places.attention_output}")
        weight = module.weight.T if isinstance(module, Conv1D) else module.weight
        by_head = weight.detach().unflatten(1, (heads, -1))  # [C, H, D]
        result = torch.einsum("nhd,chd->nhc", self.points[block + "attn.hook_z"][0], by_head)
        self.points[block + "attn.hook_result"] = result, output.grad[0][:, None].expand(result.shape)

    def add_mlp(self, layer: int, block: str) -> None:
        if not getattr(self.config, "use_parallel_residual", False):
            self.add(block + "hook_resid_mid", self.way(self.places.mlp_norm, layer)[0])
        self.add_norm(block + "ln2", self.places.mlp_norm, layer)
        self.add(block + "mlp.hook_pre", self.way(self.places.activated, layer)[1])
        self.add(block + "mlp.hook_post", self.way(self.places.mlp_output, layer)[0])
        self.add(block + "hook_mlp_out", self.way(self.places.mlp, layer)[1])
        self.add(block + "hook_resid_post", self.way("", layer)[1])


def add_points(case: Case, watches: list[Watch]) -> None:
    """Rows of all sequences end to end; maps one by one."""
    by_sequence = [watch.add_points() for watch in watches]
    for name in by_sequence[0]:
        pairs = [points[name] for points in by_sequence]
        if name.endswith(("hook_attn_scores", "hook_pattern")):
            for b, (values, gradient) in enumerate(pairs):
                add_point(case, f"{name}, sequence {b}", values, gradient)
        else:
            add_point(case, name, *(torch.cat(rows) for rows in zip(*pairs)))


def add_point(case: Case, name: str, values: torch.Tensor, gradient: torch.Tensor) -> None:
    values, gradient = values.to(case.dtype), gradient.to(case.dtype)
    case.output(name, values, seed=False)
    case.gradient(f"point {name}", gradient)
    case.scales[name] = LIMIT, float(values[values.isfinite()].abs().max())
    case.scales[f"point {name}"] = GRADIENT_LIMIT, float(gradient.abs().max())


def build_points(case: Case, sizes: Sizes, config, stirred: bool) -> None:
    model, tokens, pads = start_case(case, sizes, config, stirred)
    watches = [Watch(model, tokens[b:b + 1, :length]) for b, length in enumerate(sizes.lengths)]
    logits = torch.cat([watch.logits[0] for watch in watches])
    F.cross_entropy(logits, shifted_labels(tokens, pads)[~pads], ignore_index=IGNORED).backward()
    add_points(case, watches)


def build(file: CaseFile) -> None:
    for what, heads, configure in models_of(file):

        def build_case(case: Case, stirred: bool) -> None:
            sizes = PointSizes(case, **heads)
            build_points(case, sizes, configure(sizes.of(what)), stirred)

        file.model("points", what, "points of models", REASON, build_case)
