"""Layers and losses."""

import itertools
from functools import partial

import torch
import torch.nn.functional as F

from case_file import Case, CaseFile, In

ROWS = [
    ("rows", "n3 w6", "contiguous"),
    ("a batch", "b2 n3 w6", "contiguous"),
    ("wider than a vector register", "n3 70", "contiguous"),
    ("a vector", "w6", "contiguous"),
    ("size 1 in front", "1 1 w6", "contiguous"),
    ("no rows", "0 w6", "contiguous"),
    ("transposed", "n3 w6", "transposed"),
    ("sliced", "b2 n3 w6", "sliced"),
    ("expanded", "n3 w6", "expanded"),
]
PARTS = [("gain and shift", True, True), ("gain alone", True, False), ("neither", False, False)]
BATCHES = [("rows", "N6 c3", "contiguous"), ("sequences", "N4 c3 L5", "contiguous"), ("one channel", "N5 1", "contiguous"),
           ("transposed", "N4 c3 L5", "transposed"), ("sliced", "N4 L5", "sliced")]


def wide(shape: str, view: str) -> In:
    """The input x. A norm over two or three numbers can divide by almost nothing: draws at least four."""
    def draw(case: Case, shape: str) -> torch.Tensor:
        case.sizes["w"] = case.size(6, 4, 12)
        return case.normal(shape)

    return In(shape, view, draw)


def around(center: float, shape: str) -> In:
    """Gains around 1, shifts around 0."""
    return In(shape, draw=lambda case, shape: center + 0.2 * case.normal(shape))


def weight(shape: str, scale: float = 0.3) -> In:
    return In(shape, draw=lambda case, shape: case.normal(shape, scale))


def norm_inputs(width: str, has_gain: bool, has_shift: bool) -> dict[str, In]:
    return ({"gain": around(1, width)} if has_gain else {}) | ({"shift": around(0, width)} if has_shift else {})


def layer_norm_cases(file: CaseFile) -> None:
    for (what, shape, view), (part, has_gain, has_shift), epsilon in itertools.product(ROWS, PARTS, (1e-5, 1e-3)):
        if what == "rows" or epsilon == 1e-5:
            file.op("layer_norm", f"{what}, {part}, epsilon {epsilon}",
                    lambda x, *parts: F.layer_norm(x, x.shape[-1:], *parts, eps=epsilon),
                    {"x": wide(shape, view), **norm_inputs(shape.split()[-1], has_gain, has_shift)},
                    frozen=what == "rows" or has_shift, attributes={"epsilon": epsilon})


def feed_forward(x, norm: tuple, up, down, up_bias=None, down_bias=None) -> torch.Tensor:
    inner = F.linear(F.layer_norm(x, x.shape[-1:], *norm), up, up_bias)
    return F.linear(F.gelu(inner, approximate="tanh"), down, down_bias)


def fused_cases(file: CaseFile) -> None:
    for (what, shape, view), full in itertools.product(ROWS, (True, False)):
        width = shape.split()[-1]
        inputs = {"x": wide(shape, view), **norm_inputs(width, full, full)}
        norms = 2 * full
        name, frozen = f"{what}, {'everything' if full else 'weights alone'}", full or what == "rows"
        file.op("norm_linear", name, lambda x, *parts: F.linear(F.layer_norm(x, x.shape[-1:], *parts[:norms]), *parts[norms:]),
                inputs | {"weight": weight(f"o5 {width}")} | ({"bias": In("o5")} if full else {}), frozen=frozen)
        file.op("feed_forward", name, lambda x, *parts: feed_forward(x, parts[:norms], *parts[norms:]),
                inputs | {"up_weight": weight(f"i8 {width}"), "down_weight": weight(f"{width} i8")} |
                ({"up_bias": In("i8"), "down_bias": In(width)} if full else {}), frozen=frozen)


def batch(case: Case, shape: str) -> torch.Tensor:
    case.sizes |= {letter: case.size(usual, 4, 9) for letter, usual in (("N", 6), ("L", 5))}
    return case.normal(shape, 2.0) + 1


def batch_norm_cases(file: CaseFile) -> None:
    def batch_norm(x, *parts, training: bool, momentum: float) -> dict[str, torch.Tensor]:
        *norm, mean, variance = parts
        mean, variance = mean.clone(), variance.clone()
        y = F.batch_norm(x, mean, variance, *(norm or (None, None)), training, momentum, 1e-5)
        return {"y": y, "mean": mean, "variance": variance}

    for (what, shape, view), training, (part, has_gain, has_shift), momentum in itertools.product(
            BATCHES, (True, False), (PARTS[0], PARTS[2]), (0.1, 0.7)):
        channels = shape.split()[1]
        variance = In(channels, draw=lambda case, shape: case.uniform(shape, 0.5, 2.0), gradient=False)
        attributes = {"training": training, "momentum": momentum}
        mode = "training" if training else "evaluation"
        file.op("batch_norm", f"{what}, {mode}, {part}, momentum {momentum}", partial(batch_norm, **attributes),
                {"x": In(shape, view, batch), **norm_inputs(channels, has_gain, has_shift),
                 "mean": In(channels, gradient=False), "variance": variance},
                frozen=momentum == 0.1 or what == "rows", attributes=attributes)


def embedding_cases(file: CaseFile) -> None:
    ids = lambda case, shape: case.integers(shape, *case.shape("V7"))
    for (what, shape, view), padding, weight_view in itertools.product(
            (("a vector", "n5", "contiguous"), ("a batch", "b2 n3", "transposed"), ("one id", "", "contiguous"),
             ("no ids", "0", "contiguous")), (-1, 1), ("contiguous", "transposed")):
        file.op("embedding", f"{what}, padding index {padding}, {weight_view}",
                lambda weight, ids: F.embedding(ids, weight, padding if padding >= 0 else None),
                {"weight": In("V7 c4", weight_view), "ids": In(shape, view, ids)}, attributes={"padding_index": padding})


def targets_of(shape: str, ignored: str, index: int) -> In:
    """Targets of logits of a shape [N, V]."""
    def draw(case: Case, rows: str) -> torch.Tensor:
        targets = case.integers(rows, case.shape(shape)[1])
        if ignored == "some":
            targets[case.booleans(rows)] = index
        if ignored == "all":
            targets[:] = index
        return targets

    return In(shape.split()[0], draw=draw)


def loss(logits: torch.Tensor, targets: torch.Tensor, index: int, normalizer: int) -> torch.Tensor:
    # Without targets, PyTorch's mean is NaN and Headlight's is 0.
    count = normalizer or max(int((targets != index).sum()), 1)
    return F.cross_entropy(logits, targets, ignore_index=index, reduction="sum") / count


def operands(shape: str, scale: float, view: str = "contiguous", gradient: bool = True) -> dict[str, In]:
    """x and weight of a loss's logits. Those of large logits are whole eighths, so that the logits
    are exact in float32, too: else their last bits would be as large as the limits."""
    def drawn(factor: float):
        return lambda case, shape: (case.normal(shape, factor) * 8).round() / 8 if scale > 1 else case.normal(shape, factor)

    rows, vocabulary = shape.split()
    return {"x": In(f"{rows} c4", view, drawn(scale), gradient), "weight": In(f"{vocabulary} c4", view, drawn(1.0), gradient)}


LOSS_ROWS = [("rows", "n5 v7", 1.0, "contiguous"), ("large logits", "n5 v7", 60.0, "contiguous"),
             ("one class", "n3 1", 1.0, "contiguous"), ("many classes", "n3 v120", 1.0, "contiguous"),
             ("no rows", "0 v3", 1.0, "contiguous"), ("transposed", "n5 v7", 1.0, "transposed"),
             ("sliced", "n5 v7", 1.0, "sliced")]
# Which targets are ignored, their index, the normalizer.
IGNORED = [("none", -1, 0), ("some", -1, 0), ("some", -100, 0), ("some", 0, 0), ("all", -1, 0), ("some", -1, 11)]


def both_losses(file: CaseFile, name: str, function, shape: str, scale: float, view: str, targets: In, **options) -> None:
    """function(logits, targets) of given logits, and of a product."""
    file.op("cross_entropy", name, function,
            {"x": In(shape, view, lambda case, shape: case.normal(shape, scale)), "targets": targets}, **options)
    file.op("linear_cross_entropy", name, lambda x, weight, targets: function(F.linear(x, weight), targets),
            operands(shape, scale, view) | {"targets": targets}, **options)


def loss_cases(file: CaseFile) -> None:
    for (what, shape, scale, view), (ignored, index, normalizer) in itertools.product(LOSS_ROWS, IGNORED):
        name = f"{what}, ignoring {ignored} at {index}, normalizer {normalizer}"
        attributes = {"ignore_index": index, "normalizer": normalizer}
        frozen = what == "rows" or (ignored, index, normalizer) == ("some", -1, 0)
        targets = targets_of(shape, ignored, index)
        both_losses(file, name, partial(loss, index=index, normalizer=normalizer), shape, scale, view, targets,
                    frozen=frozen, attributes=attributes)
        if normalizer == 0:
            file.op("linear_cross_entropy_rows", name, lambda x, weight, targets: F.cross_entropy(
                F.linear(x, weight), targets, ignore_index=index, reduction="none"),
                operands(shape, scale, view, False) | {"targets": targets},
                frozen=frozen and what == "rows", attributes=attributes)


def build(file: CaseFile) -> None:
    file.rung = "layer_norm, batch_norm"
    layer_norm_cases(file)
    batch_norm_cases(file)
    file.rung = "norm_linear, feed_forward"
    fused_cases(file)
    file.rung = "embedding, cross_entropy"
    embedding_cases(file)
    loss_cases(file)
