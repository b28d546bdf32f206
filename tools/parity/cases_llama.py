"""Parts of Llama-like models beyond GPT-2: RMS norms, rotary embeddings, gated MLPs."""

import itertools

import torch
import torch.nn.functional as F
from transformers import LlamaConfig
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding, apply_rotary_pos_emb

from case_file import Case, CaseFile, In
from cases_layers import ROWS, bias_of, weight_of, wide

ACTIVATIONS = {
    "gelu_new": lambda x: F.gelu(x, approximate="tanh"),
    "gelu": F.gelu,
    "relu": F.relu,
    "relu2": lambda x: F.relu(x).square(),
    "silu": F.silu,
}


def gain_of(case: Case, width: int, plus_one: bool = False) -> torch.Tensor:
    return case.input("gain", (0 if plus_one else 1) + 0.2 * case.normal((width,)))


def normalized(x: torch.Tensor, kind: str, gain: torch.Tensor, plus_one: bool) -> torch.Tensor:
    factor = 1 + gain if plus_one else gain
    norm = F.rms_norm if kind == "rms" else F.layer_norm
    return norm(x, x.shape[-1:], factor, eps=1e-5)


def norm_cases(file: CaseFile) -> None:
    for (what, shape, view), has_gain, epsilon in itertools.product(ROWS, (True, False), (1e-5, 1e-3)):

        def rms_norm(case: Case) -> None:
            x = wide(case, shape, view)
            gain = gain_of(case, x.shape[-1]) if has_gain else None
            case.output("y", F.rms_norm(x, x.shape[-1:], gain, epsilon))

        file.both("rms_norm", f"{what}, {'gain' if has_gain else 'no gain'}, epsilon {epsilon}", rms_norm,
                  epsilon == 1e-5 or what == "rows", attributes={"epsilon": epsilon})


def fused_norm_cases(file: CaseFile) -> None:
    for (what, shape, view), kind, plus_one in itertools.product(ROWS, ("layer", "rms"), (False, True)):

        def normalize(case: Case) -> None:
            x = wide(case, shape, view)
            case.output("y", normalized(x, kind, gain_of(case, x.shape[-1], plus_one), plus_one))

        def norm_linear(case: Case) -> None:
            x = wide(case, shape, view)
            gain = gain_of(case, x.shape[-1], plus_one)
            weight = weight_of(case, "weight", (*case.shape("o5"), x.shape[-1]))
            case.output("y", F.linear(normalized(x, kind, gain, plus_one), weight))

        for build in (normalize, norm_linear):
            file.both(build.__name__, f"{what}, {kind}, gain {'+ 1' if plus_one else 'alone'}", build,
                      kind == "rms" or what == "rows", attributes={"kind": kind, "gain_plus_one": plus_one})


def feed_forward_cases(file: CaseFile) -> None:
    for (what, shape, view), activation, gated, biases in itertools.product(ROWS, ACTIVATIONS, (False, True), (False, True)):
        function = ACTIVATIONS[activation]

        def build(case: Case) -> None:
            x = wide(case, shape, view)
            width = x.shape[-1]
            y = normalized(x, "rms", gain_of(case, width), False)
            (inner,) = case.shape("i5")
            middle = []
            for layer in ("up", "gate") if gated else ("up",):
                weight = weight_of(case, f"{layer}_weight", (inner, width), min(0.3, max(width, 1)**-0.5))
                middle.append(F.linear(y, weight, bias_of(case, f"{layer}_bias", inner, biases)))
            inside = function(middle[1]) * middle[0] if gated else function(middle[0])
            down = weight_of(case, "down_weight", (width, inner))
            case.output("y", F.linear(inside, down, bias_of(case, "down_bias", width, biases)))

        name = f"{what}, {activation}, {'gated' if gated else 'plain'}, {'biases' if biases else 'weights alone'}"
        file.both("feed_forward", name, build, what == "rows" or (activation == "silu" and gated and not biases),
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
