"""Parts of Llama-like models beyond GPT-2: RMS norms, rotary embeddings, gated MLPs."""

import torch
import torch.nn.functional as F
from transformers import LlamaConfig
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding, apply_rotary_pos_emb

from case_file import Case, CaseFile
from cases_layers import ROWS, wide

ACTIVATIONS = {
    "gelu_new": lambda x: F.gelu(x, approximate="tanh"),
    "gelu": F.gelu,
    "relu": F.relu,
    "relu2": lambda x: F.relu(x).square(),
    "silu": F.silu,
}


def gain_of(case: Case, width: int, plus_one: bool = False) -> torch.Tensor:
    return case.input("gain", (0 if plus_one else 1) + 0.2 * case.normal((width,)))


def rms_norm_cases(file: CaseFile) -> None:
    for what, shape, view in ROWS:
        for has_gain in (True, False):
            for epsilon in (1e-5, 1e-3):

                def build(case: Case) -> None:
                    wide(case)
                    x = case.input("x", case.normal(shape), view)
                    gain = gain_of(case, x.shape[-1]) if has_gain else None
                    case.output("y", F.rms_norm(x, x.shape[-1:], gain, epsilon))

                name = f"{what}, {'gain' if has_gain else 'no gain'}, epsilon {epsilon}"
                file.both("rms_norm", name, build, frozen=epsilon == 1e-5 or what == "rows", attributes={"epsilon": epsilon})


def normalized(x: torch.Tensor, kind: str, gain: torch.Tensor, plus_one: bool) -> torch.Tensor:
    factor = 1 + gain if plus_one else gain
    norm = F.rms_norm if kind == "rms" else F.layer_norm
    return norm(x, x.shape[-1:], factor, eps=1e-5)


def norm_cases(file: CaseFile) -> None:
    for what, shape, view in ROWS:
        for kind in ("layer", "rms"):
            for plus_one in (False, True):
                attributes = {"kind": kind, "gain_plus_one": plus_one}
                name = f"{what}, {kind}, gain {'+ 1' if plus_one else 'alone'}"

                def normalize(case: Case) -> None:
                    wide(case)
                    x = case.input("x", case.normal(shape), view)
                    case.output("y", normalized(x, kind, gain_of(case, x.shape[-1], plus_one), plus_one))

                def norm_linear(case: Case) -> None:
                    wide(case)
                    x = case.input("x", case.normal(shape), view)
                    gain = gain_of(case, x.shape[-1], plus_one)
                    weight = case.input("weight", case.normal((*case.shape("o5"), x.shape[-1]), 0.3))
                    case.output("y", F.linear(normalized(x, kind, gain, plus_one), weight))

                frozen = kind == "rms" or what == "rows"
                file.both("normalize", name, normalize, frozen, attributes=attributes)
                file.both("norm_linear", name, norm_linear, frozen, attributes=attributes)


def feed_forward_cases(file: CaseFile) -> None:
    for what, shape, view in ROWS:
        for activation, function in ACTIVATIONS.items():
            for gated in (False, True):
                for biases in (False, True):

                    def build(case: Case) -> None:
                        wide(case)
                        x = case.input("x", case.normal(shape), view)
                        width = x.shape[-1]
                        y = normalized(x, "rms", gain_of(case, width), False)
                        (inner,) = case.shape("i5")
                        middle = []
                        for layer in ("up", "gate") if gated else ("up",):
                            weight = case.input(f"{layer}_weight", case.normal((inner, width), min(0.3, max(width, 1)**-0.5)))
                            bias = case.input(f"{layer}_bias", case.normal((inner,))) if biases else None
                            middle.append(F.linear(y, weight, bias))
                        inside = function(middle[1]) * middle[0] if gated else function(middle[0])
                        down = case.input("down_weight", case.normal((width, inner), 0.3))
                        bias = case.input("down_bias", case.normal((width,))) if biases else None
                        case.output("y", F.linear(inside, down, bias))

                    name = f"{what}, {activation}, {'gated' if gated else 'plain'}, {'biases' if biases else 'weights alone'}"
                    frozen = what == "rows" or (activation == "silu" and gated and not biases)
                    file.both("feed_forward", name, build, frozen, attributes={"kind": "rms", "activation": activation})


def activate_cases(file: CaseFile) -> None:
    for activation, function in ACTIVATIONS.items():
        for what, shape, view in ROWS:

            def build(case: Case) -> None:
                x = case.input("x", case.normal(shape, 2.0), view)
                case.output("y", function(x))

            file.both("activate", f"{activation}, {what}", build, frozen=what in ("rows", "sliced"),
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


def rope_cases(file: CaseFile) -> None:
    for scaling in SCALINGS:
        for theta in (10000.0, 500000.0):
            for width in (2, 64, 128):

                def table(case: Case) -> None:
                    case.input("like", case.normal("1"), gradient=False)
                    case.output("y", frequencies(scaling, width, theta).to(case.dtype))

                file.both("inverse_frequencies", f"{scaling}, theta {theta}, width {width}", table,
                          attributes=rope_attributes(scaling, theta, width))
    rows = [("one head", "n5 1", 8, 0, "contiguous"), ("heads", "n5 h3", 8, 0, "contiguous"),
            ("a part of the width", "n5 h3", 10, 6, "contiguous"), ("wide", "n3 h2", 160, 0, "contiguous"),
            ("no rows", "0 h3", 8, 0, "contiguous"), ("transposed", "n5 h3", 8, 0, "transposed"),
            ("sliced", "n5 h3", 8, 0, "sliced"), ("expanded", "n5 h3", 8, 0, "expanded")]
    for what, shape, head_width, width, view in rows:
        for style in ("half", "interleaved"):
            for scaling in SCALINGS:

                def build(case: Case) -> None:
                    x = case.input("x", case.normal((*case.shape(shape), head_width)), view)
                    positions = case.input("positions", case.integers((x.shape[0],), 300))
                    r = width or head_width
                    # The angles are float32 in both types.
                    angles = positions.float()[:, None] * frequencies(scaling, r, 10000.0)
                    y = turned(x[..., :r], angles, style)
                    case.output("y", torch.cat([y, x[..., r:]], -1))

                file.both("rope", f"{what}, {style}, {scaling}", build, frozen=what != "wide" or scaling == "none",
                          attributes=rope_attributes(scaling, 10000.0, width, style))


def build(file: CaseFile) -> None:
    file.rung = "rms_norm, normalize"
    rms_norm_cases(file)
    file.rung = "other norms and activations in fused layers"
    norm_cases(file)
    feed_forward_cases(file)
    file.rung = "activations"
    activate_cases(file)
    file.rung = "rope"
    rope_cases(file)
