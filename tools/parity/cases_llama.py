"""Parts of Llama-like models beyond GPT-2: RMS norms, rotary embeddings, gated MLPs."""

import itertools

import torch
import torch.nn.functional as F
from transformers import LlamaConfig
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding, apply_rotary_pos_emb

from case_file import Case, CaseFile, In
from cases_layers import ROWS, around, norm_inputs, weight, wide

ACTIVATIONS = {
    "gelu_new": lambda x: F.gelu(x, approximate="tanh"),
    "gelu": F.gelu,
    "relu": F.relu,
    "relu2": lambda x: F.relu(x).square(),
    "silu": F.silu,
}


def normalized(x: torch.Tensor, kind: str, gain: torch.Tensor, plus_one: bool) -> torch.Tensor:
    factor = 1 + gain if plus_one else gain
    norm = F.rms_norm if kind == "rms" else F.layer_norm
    return norm(x, x.shape[-1:], factor, eps=1e-5)


def norm_cases(file: CaseFile) -> None:
    for (what, shape, view), has_gain, epsilon in itertools.product(ROWS, (True, False), (1e-5, 1e-3)):
        file.op("rms_norm", f"{what}, {'gain' if has_gain else 'no gain'}, epsilon {epsilon}",
                lambda x, *gain: F.rms_norm(x, x.shape[-1:], *gain, eps=epsilon),
                {"x": wide(shape, view), **norm_inputs(shape.split()[-1], has_gain, False)},
                frozen=epsilon == 1e-5 or what == "rows", attributes={"epsilon": epsilon})


def fused_norm_cases(file: CaseFile) -> None:
    for (what, shape, view), kind, plus_one in itertools.product(ROWS, ("layer", "rms"), (False, True)):
        width = shape.split()[-1]
        inputs = {"x": wide(shape, view), "gain": around(0 if plus_one else 1, width)}
        name = f"{what}, {kind}, gain {'+ 1' if plus_one else 'alone'}"
        options = {"frozen": kind == "rms" or what == "rows", "attributes": {"kind": kind, "gain_plus_one": plus_one}}
        file.op("normalize", name, lambda x, gain: normalized(x, kind, gain, plus_one), inputs, **options)
        file.op("norm_linear", name, lambda x, gain, weight: F.linear(normalized(x, kind, gain, plus_one), weight),
                inputs | {"weight": weight(f"o5 {width}")}, **options)


def narrow(case: Case, shape: str) -> torch.Tensor:
    """Weights of the first layer; few columns have no larger scale."""
    return case.normal(shape, min(0.3, max(case.shape(shape)[1], 1)**-0.5))


def feed_forward_cases(file: CaseFile) -> None:
    for (what, shape, view), activation, gated, biases in itertools.product(ROWS, ACTIVATIONS, (False, True), (False, True)):
        width, function = shape.split()[-1], ACTIVATIONS[activation]
        inputs = {"x": wide(shape, view), "gain": around(1, width)}
        for layer in ("up", "gate") if gated else ("up",):
            inputs |= {f"{layer}_weight": In(f"i5 {width}", draw=narrow)} | ({f"{layer}_bias": In("i5")} if biases else {})
        inputs |= {"down_weight": weight(f"{width} i5")} | ({"down_bias": In(width)} if biases else {})

        def feed_forward(x, gain, *parts) -> torch.Tensor:
            size = 1 + biases  # of a layer's parts
            up, *gate, down = (parts[i:i + size] for i in range(0, len(parts), size))
            y = normalized(x, "rms", gain, False)
            inside = function(F.linear(y, *gate[0])) * F.linear(y, *up) if gated else function(F.linear(y, *up))
            return F.linear(inside, *down)

        name = f"{what}, {activation}, {'gated' if gated else 'plain'}, {'biases' if biases else 'weights alone'}"
        file.op("feed_forward", name, feed_forward, inputs,
                frozen=what == "rows" or (activation == "silu" and gated and not biases),
                attributes={"kind": "rms", "activation": activation})


def activate_cases(file: CaseFile) -> None:
    for (activation, function), (what, shape, view) in itertools.product(ACTIVATIONS.items(), ROWS):
        x = In(shape, view, lambda case, shape: case.normal(shape, 2.0))
        file.op("activate", f"{activation}, {what}", function, {"x": x}, frozen=what in ("rows", "sliced"),
                attributes={"activation": activation})


SCALINGS = {
    "none": {"rope_type": "default"},
    "linear": {"rope_type": "linear", "factor": 3.0},
    "llama3": {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
               "original_max_position_embeddings": 64},
}


def frequencies(scaling: str, width: int, theta: float) -> torch.Tensor:
    """As transformers has them, [width / 2] in float32. PyTorch's powers are not all the nearest
    float: the cases have widths for which they are."""
    parameters = SCALINGS[scaling] | {"rope_theta": theta}
    config = LlamaConfig(hidden_size=width, num_attention_heads=1, head_dim=width, rope_parameters=parameters,
                         max_position_embeddings=512)
    if scaling == "none":
        return LlamaRotaryEmbedding.compute_default_rope_parameters(config)[0]
    return ROPE_INIT_FUNCTIONS[scaling](config, None)[0]


def rope_attributes(scaling: str, theta: float, width: int = 0, style: str = "half") -> dict:
    names = {name: value for name, value in SCALINGS[scaling].items() if name != "rope_type"}
    return {"theta": theta, "scaling": scaling, "width": width, "style": style} | names


def turned(x: torch.Tensor, angles: torch.Tensor, style: str) -> torch.Tensor:
    """x [N, H, r] by angles [N, r / 2]. Interleaved pairs are brought together first, and back."""
    if style == "interleaved":
        x = x.unflatten(-1, (-1, 2)).transpose(-1, -2).flatten(-2)
    angles = torch.cat([angles, angles], -1).to(x.dtype)
    y, _ = apply_rotary_pos_emb(x, x, angles.cos(), angles.sin(), unsqueeze_dim=1)
    if style == "interleaved":
        y = y.unflatten(-1, (2, -1)).transpose(-1, -2).flatten(-2)
    return y


# Case, rows and heads, width of a head, width that turns (0: all), view.
ROTATED = [("one head", "n5 1", 8, 0, "contiguous"), ("heads", "n5 h3", 8, 0, "contiguous"),
           ("a part of the width", "n5 h3", 10, 6, "contiguous"), ("wide", "n3 h2", 160, 0, "contiguous"),
           ("no rows", "0 h3", 8, 0, "contiguous"), ("transposed", "n5 h3", 8, 0, "transposed"),
           ("sliced", "n5 h3", 8, 0, "sliced"), ("expanded", "n5 h3", 8, 0, "expanded")]


def rope_cases(file: CaseFile) -> None:
    for scaling, theta, width in itertools.product(SCALINGS, (10000.0, 500000.0), (2, 64, 128)):
        file.op("inverse_frequencies", f"{scaling}, theta {theta}, width {width}",
                lambda like: frequencies(scaling, width, theta).to(like.dtype), {"like": In("1", gradient=False)},
                attributes=rope_attributes(scaling, theta, width))
    for row, style, scaling in itertools.product(ROTATED, ("half", "interleaved"), SCALINGS):
        what, shape, head_width, width, view = row

        def build(case: Case) -> None:
            x = case.input("x", case.normal((*case.shape(shape), head_width)), view)
            positions = case.input("positions", case.integers((x.shape[0],), 300))
            r = width or head_width
            # The angles are float32 in both types.
            angles = positions.float()[:, None] * frequencies(scaling, r, 10000.0)
            case.output("y", torch.cat([turned(x[..., :r], angles, style), x[..., r:]], -1))

        file.both("rope", f"{what}, {style}, {scaling}", build, what != "wide" or scaling == "none",
                  attributes=rope_attributes(scaling, 10000.0, width, style))


def build(file: CaseFile) -> None:
    for rung, cases in (("rms_norm, normalize", norm_cases),
                        ("other norms and activations in fused layers", fused_norm_cases),
                        ("other norms and activations in fused layers", feed_forward_cases),
                        ("activations", activate_cases), ("rope", rope_cases)):
        file.rung = rung
        cases(file)
