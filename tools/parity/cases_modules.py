"""Modules of torch.nn with the weights of Headlight's."""

import torch
from torch import nn
from torch.func import functional_call

from case_file import Case, CaseFile

# Headlight's GPT-2-like names for the parameters of torch.nn.TransformerEncoderLayer.
BLOCK_NAMES = {
    "norm1.weight": "ln_1.weight", "norm1.bias": "ln_1.bias",
    "self_attn.in_proj_weight": "attn.c_attn.weight", "self_attn.in_proj_bias": "attn.c_attn.bias",
    "self_attn.out_proj.weight": "attn.c_proj.weight", "self_attn.out_proj.bias": "attn.c_proj.bias",
    "norm2.weight": "ln_2.weight", "norm2.bias": "ln_2.bias",
    "linear1.weight": "mlp.c_fc.weight", "linear1.bias": "mlp.c_fc.bias",
    "linear2.weight": "mlp.c_proj.weight", "linear2.bias": "mlp.c_proj.bias",
}
FUSED_NAMES = {"in_proj_weight": "c_attn.weight", "in_proj_bias": "c_attn.bias",
               "out_proj.weight": "c_proj.weight", "out_proj.bias": "c_proj.bias"}


def parameters(case: Case, module: nn.Module, names: dict[str, str]) -> dict[str, torch.Tensor]:
    """Inputs with Headlight's names for PyTorch's parameters: what functional_call takes."""
    result = {}
    for name, values in module.named_parameters():
        scale = 0.2 if values.dim() == 1 else values.shape[1] ** -0.5
        drawn = case.normal(tuple(values.shape), scale)
        is_gain = "norm" in name and name.endswith("weight")
        result[name] = case.input(names[name], drawn + 1 if is_gain else drawn)
    return result


def separate_parameters(case: Case, module: nn.MultiheadAttention) -> dict[str, torch.Tensor]:
    """The same with three projections, whose biases PyTorch keeps in one vector."""
    result = {}
    for part in "qkv":
        weight = getattr(module, f"{part}_proj_weight")
        drawn = case.normal(tuple(weight.shape), weight.shape[1] ** -0.5)
        result[f"{part}_proj_weight"] = case.input(f"{part}_proj.weight", drawn)
    width = module.embed_dim
    if module.in_proj_bias is not None:
        biases = [case.input(f"{part}_proj.bias", case.normal((width,), 0.2)) for part in "qkv"]
        result["in_proj_bias"] = torch.cat(biases)
        result["out_proj.bias"] = case.input("c_proj.bias", case.normal((width,), 0.2))
    result["out_proj.weight"] = case.input("c_proj.weight", case.normal((width, width), width**-0.5))
    return result


def padding_of(case: Case, batch: int, length: int) -> torch.Tensor:
    """Pads behind the first one to `length` keys."""
    lengths = torch.tensor([case.integer(1, length) for _ in range(batch)])
    return torch.arange(length)[None, :] >= lengths[:, None]


def masks(case: Case, kinds: set[str], batch: int, heads: int, queries: int, keys: int) -> dict:
    """Arguments for PyTorch; the first key is never hidden, for that would make NaN there."""
    arguments = {}
    if "padding" in kinds:
        arguments["key_padding_mask"] = case.input("key_padding", padding_of(case, batch, keys))
    mask = None
    if "bool mask" in kinds:
        mask = case.booleans((queries, keys))
    if "mask per head" in kinds:
        mask = case.booleans((batch, heads, queries, keys))
    if mask is not None:
        mask[..., 0] = False
        case.input("mask", mask)
    if "float mask" in kinds:
        mask = case.input("bias", case.normal((queries, keys)))
    if "infinite float mask" in kinds:
        mask = case.normal((queries, keys)).masked_fill(case.booleans((queries, keys)), -torch.inf)
        mask[..., 0] = 0
        mask = case.input("bias", mask, gradient=False)
    if "causal" in kinds:
        case.attributes["causal"] = True
        future = torch.ones(queries, keys, dtype=torch.bool).triu(1)
        mask = future if mask is None else mask | future
    if mask is not None:
        arguments["attn_mask"] = mask.reshape(-1, queries, keys) if mask.dim() == 4 else mask
    # PyTorch requires masks of one type.
    if "key_padding_mask" in arguments and mask is not None and mask.is_floating_point():
        padding = torch.zeros(batch, keys, dtype=case.dtype)
        arguments["key_padding_mask"] = padding.masked_fill(arguments["key_padding_mask"], -torch.inf)
    return arguments


def attention(case: Case, kinds: set[str]) -> None:
    batch, heads = case.size(2, 1, 4), case.size(3, 1, 4)
    width = heads * case.size(3, 1, 5)
    queries, keys = case.size(5, 1, 7), case.size(6, 1, 7)
    own_widths = "own widths" in kinds
    key_width, value_width = (case.size(5), case.size(7)) if own_widths else (width, width)
    if own_widths and key_width == value_width == width:
        key_width += 1  # with equal widths PyTorch joins the projections
    has_bias = "no bias" not in kinds
    module = nn.MultiheadAttention(width, heads, bias=has_bias, kdim=key_width, vdim=value_width,
                                   batch_first=True, dtype=case.dtype)
    case.attributes |= {"heads": heads, "fused": not own_widths, "bias": has_bias}
    if own_widths:
        weights = separate_parameters(case, module)
    else:
        weights = parameters(case, module, FUSED_NAMES)
    query = key = value = case.input("query", case.normal((batch, queries, width)))
    if "self" in kinds:
        keys = queries
    else:
        key = case.input("key", case.normal((batch, keys, key_width)))
        value = case.input("value", case.normal((batch, keys, value_width)))
    arguments = masks(case, kinds, batch, heads, queries, keys)
    y, each = functional_call(module, weights, (query, key, value), arguments | {"average_attn_weights": False})
    _, mean = functional_call(module, weights, (query, key, value), arguments)
    case.output("y", y)
    case.output("weights", each)
    case.output("mean_weights", mean)


def attention_cases(file: CaseFile) -> None:
    for kinds in (["self"], ["self", "no bias"], ["self", "causal"], ["self", "padding"],
                  ["self", "causal", "padding"], ["self", "mask per head"], ["self", "float mask"],
                  ["cross"], ["cross", "own widths"], ["cross", "own widths", "no bias"],
                  ["cross", "own widths", "padding", "bool mask"], ["cross", "bool mask"],
                  ["cross", "mask per head", "padding"], ["cross", "float mask"],
                  ["cross", "infinite float mask"], ["cross", "float mask", "padding"]):
        file.both("MultiHeadAttention", " and ".join(kinds), lambda case, kinds=kinds: attention(case, set(kinds)))


def layer_norm_cases(file: CaseFile) -> None:
    for affine, bias in ((True, True), (True, False), (False, False)):

        def build(case: Case) -> None:
            width = case.size(6, 4, 12)
            case.attributes |= {"affine": affine, "bias": bias, "epsilon": 1e-4}
            module = nn.LayerNorm(width, 1e-4, affine, bias, dtype=case.dtype)
            weights = {name: case.input(name, 1 + 0.3 * case.normal((width,)))
                       for name, _ in module.named_parameters()}
            x = case.input("x", case.normal((*case.shape("b2 t3"), width)))
            case.output("y", functional_call(module, weights, (x,)))

        file.both("LayerNorm", f"affine {affine}, bias {bias}", build)


def batch_norm(case: Case, affine: bool, momentum: float, sequences: bool, steps: int) -> None:
    rows, width = case.size(5, 4, 9), case.size(3, 1, 6)
    case.attributes |= {"affine": affine, "momentum": momentum, "epsilon": 1e-5}
    module = nn.BatchNorm1d(width, 1e-5, momentum, affine, dtype=case.dtype)
    weights = {name: case.input(name, 1 + 0.3 * case.normal((width,))) for name, _ in module.named_parameters()}
    case.input("running_mean", torch.zeros(width, dtype=case.dtype), gradient=False)
    case.input("running_var", torch.ones(width, dtype=case.dtype), gradient=False)
    shape = (steps, rows, width, case.size(4)) if sequences else (steps, rows, width)
    x = case.input("x", case.normal(shape, 2.0) + 1)
    case.output("y", torch.stack([functional_call(module, weights, (batch,)) for batch in x]))
    case.output("mean", module.running_mean.clone())
    case.output("variance", module.running_var.clone())
    module.eval()
    case.output("evaluated", functional_call(module, weights, (x[0],)))


def batch_norm_cases(file: CaseFile) -> None:
    for affine in (True, False):
        for momentum, sequences, steps in ((0.1, False, 10), (0.1, True, 10), (0.6, False, 10),
                                           (0.1, False, 1), (1.0, False, 3)):
            shape = "sequences" if sequences else "rows"
            file.both(
                "BatchNorm1d", f"affine {affine}, momentum {momentum}, {steps} {shape}",
                lambda case, a=(affine, momentum, sequences, steps): batch_norm(case, *a))


def encoder_layer(case: Case, norm_first: bool, activation, causal: bool) -> None:
    heads = case.size(2, 1, 4)
    width = heads * case.size(3, 3, 6)
    lengths = [case.size(n, 1, 9) for n in (5, 2, 4)]
    module = nn.TransformerEncoderLayer(width, heads, 4 * width, 0.0, activation, batch_first=True,
                                        norm_first=norm_first, dtype=case.dtype)
    weights = parameters(case, module, BLOCK_NAMES)
    case.attributes |= {"heads": heads, "norm_first": norm_first}
    longest = max(lengths)
    real = torch.arange(longest)[None, :] < torch.tensor(lengths)[:, None]
    if causal:  # sequences end to end, without pads
        offsets = [0, *torch.tensor(lengths).cumsum(0).tolist()]
        case.input("offsets", torch.tensor(offsets))
        rows = case.input("x", case.normal((sum(lengths), width)))
        x = torch.zeros(len(lengths), longest, width, dtype=case.dtype)
        x = x.masked_scatter(real[:, :, None], rows)
    else:
        case.input("key_padding", ~real)
        x = case.input("x", case.normal((len(lengths), longest, width)))
    future = torch.ones(longest, longest, dtype=torch.bool).triu(1) if causal else None
    y = functional_call(module, weights, (x,), {"src_mask": future, "src_key_padding_mask": ~real})
    case.output("y", y[real] if causal else y)


def encoder_cases(file: CaseFile) -> None:
    activations = {"relu": "relu", "gelu": "gelu",
                   "gelu_new": lambda x: nn.functional.gelu(x, approximate="tanh")}
    for norm_first in (True, False):
        for name, activation in activations.items():
            for op, causal in (("Block", True), ("EncoderLayer", False)):
                place = "first" if norm_first else "last"
                file.both(op, f"norm {place}, {name}",
                          lambda case, a=(norm_first, activation, causal): encoder_layer(case, *a),
                          attributes={"activation": name})


def build(file: CaseFile) -> None:
    file.rung = "MultiHeadAttention"
    attention_cases(file)
    file.rung = "LayerNorm, BatchNorm1d"
    layer_norm_cases(file)
    batch_norm_cases(file)
    file.rung = "TransformerEncoderLayer"
    encoder_cases(file)
