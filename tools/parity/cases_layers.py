"""Layers and losses."""

import itertools

import torch
import torch.nn.functional as F

from case_file import Case, CaseFile

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


def wide(case: Case, shape: str, view: str) -> torch.Tensor:
    """The input x. A norm over two or three numbers can divide by almost nothing: draws at least four."""
    case.sizes["w"] = case.size(6, 4, 12)
    return case.input("x", case.normal(shape), view)


def norm_inputs(case: Case, width: int, has_gain: bool, has_shift: bool):
    gain = case.input("gain", 1 + 0.2 * case.normal((width,))) if has_gain else None
    shift = case.input("shift", 0.2 * case.normal((width,))) if has_shift else None
    return gain, shift


def weight_of(case: Case, name: str, shape: tuple[int, ...], scale: float = 0.3) -> torch.Tensor:
    return case.input(name, case.normal(shape, scale))


def bias_of(case: Case, name: str, width: int, has_bias: bool) -> torch.Tensor | None:
    return case.input(name, case.normal((width,))) if has_bias else None


def layer_norm_cases(file: CaseFile) -> None:
    for what, shape, view in ROWS:
        for part, has_gain, has_shift in PARTS:
            for epsilon in (1e-5, 1e-3) if what == "rows" else (1e-5,):

                def build(case: Case) -> None:
                    x = wide(case, shape, view)
                    gain, shift = norm_inputs(case, x.shape[-1], has_gain, has_shift)
                    case.output("y", F.layer_norm(x, x.shape[-1:], gain, shift, epsilon))

                file.both("layer_norm", f"{what}, {part}, epsilon {epsilon}", build, what == "rows" or has_shift,
                          attributes={"epsilon": epsilon})


def fused_cases(file: CaseFile) -> None:
    for what, shape, view in ROWS:
        for part, full in (("everything", True), ("weights alone", False)):

            def norm_linear(case: Case) -> None:
                x = wide(case, shape, view)
                gain, shift = norm_inputs(case, x.shape[-1], full, full)
                weight = weight_of(case, "weight", (*case.shape("o5"), x.shape[-1]))
                bias = bias_of(case, "bias", weight.shape[0], full)
                case.output("y", F.linear(F.layer_norm(x, x.shape[-1:], gain, shift), weight, bias))

            def feed_forward(case: Case) -> None:
                x = wide(case, shape, view)
                width = x.shape[-1]
                gain, shift = norm_inputs(case, width, full, full)
                (inner,) = case.shape("i8")
                up, down = weight_of(case, "up_weight", (inner, width)), weight_of(case, "down_weight", (width, inner))
                up_bias, down_bias = bias_of(case, "up_bias", inner, full), bias_of(case, "down_bias", width, full)
                y = F.linear(F.layer_norm(x, (width,), gain, shift), up, up_bias)
                case.output("y", F.linear(F.gelu(y, approximate="tanh"), down, down_bias))

            file.both("norm_linear", f"{what}, {part}", norm_linear, full or what == "rows")
            file.both("feed_forward", f"{what}, {part}", feed_forward, full or what == "rows")


def batch_norm_cases(file: CaseFile) -> None:
    for (what, shape, view), training, (part, has_gain, has_shift), momentum in itertools.product(
            BATCHES, (True, False), (PARTS[0], PARTS[2]), (0.1, 0.7)):

        def build(case: Case) -> None:
            for letter, usual in (("N", 6), ("L", 5)):
                case.sizes[letter] = case.size(usual, 4, 9)
            x = case.input("x", case.normal(shape, 2.0) + 1, view)
            gain, shift = norm_inputs(case, x.shape[1], has_gain, has_shift)
            mean = case.input("mean", case.normal(x.shape[1:2]), gradient=False).clone()
            variance = case.input("variance", case.uniform(x.shape[1:2], 0.5, 2.0), gradient=False).clone()
            case.output("y", F.batch_norm(x, mean, variance, gain, shift, training, momentum, 1e-5))
            case.output("mean", mean)
            case.output("variance", variance)

        mode = "training" if training else "evaluation"
        file.both("batch_norm", f"{what}, {mode}, {part}, momentum {momentum}", build, momentum == 0.1 or what == "rows",
                  attributes={"training": training, "momentum": momentum})


def embedding_cases(file: CaseFile) -> None:
    for what, shape, view in (("a vector", "n5", "contiguous"), ("a batch", "b2 n3", "transposed"),
                              ("one id", "", "contiguous"), ("no ids", "0", "contiguous")):
        for padding in (-1, 1):
            for weight_view in ("contiguous", "transposed"):

                def build(case: Case) -> None:
                    weight = case.input("weight", case.normal("V7 c4"), weight_view)
                    ids = case.input("ids", case.integers(shape, weight.shape[0]), view)
                    case.output("y", F.embedding(ids, weight, padding if padding >= 0 else None))

                file.both("embedding", f"{what}, padding index {padding}, {weight_view}", build,
                          attributes={"padding_index": padding})


def targets_of(case: Case, rows: int, vocabulary: int, ignored: str, index: int) -> torch.Tensor:
    targets = case.integers((rows,), vocabulary)
    if ignored == "some":
        targets[case.booleans((rows,))] = index
    if ignored == "all":
        targets[:] = index
    return case.input("targets", targets)


def loss(logits: torch.Tensor, targets: torch.Tensor, index: int, normalizer: int) -> torch.Tensor:
    # Without targets, PyTorch's mean is NaN and Headlight's is 0.
    count = normalizer or max(int((targets != index).sum()), 1)
    return F.cross_entropy(logits, targets, ignore_index=index, reduction="sum") / count


def operands(case: Case, shape: str, scale: float) -> tuple[torch.Tensor, torch.Tensor]:
    """x and weight of a loss's logits. Those of large logits are whole eighths, so that the logits
    are exact in float32, too: else their last bits would be as large as the limits."""
    count, vocabulary = case.shape(shape)
    (width,) = case.shape("c4")
    pair = case.normal((count, width), scale), case.normal((vocabulary, width))
    return tuple((values * 8).round() / 8 if scale > 1 else values for values in pair)


LOSS_ROWS = [("rows", "n5 v7", 1.0, "contiguous"), ("large logits", "n5 v7", 60.0, "contiguous"),
             ("one class", "n3 1", 1.0, "contiguous"), ("many classes", "n3 v120", 1.0, "contiguous"),
             ("no rows", "0 v3", 1.0, "contiguous"), ("transposed", "n5 v7", 1.0, "transposed"),
             ("sliced", "n5 v7", 1.0, "sliced")]
# Which targets are ignored, their index, the normalizer.
IGNORED = [("none", -1, 0), ("some", -1, 0), ("some", -100, 0), ("some", 0, 0), ("all", -1, 0), ("some", -1, 11)]


def loss_cases(file: CaseFile) -> None:
    for (what, shape, scale, view), (ignored, index, normalizer) in itertools.product(LOSS_ROWS, IGNORED):

        def plain(case: Case) -> None:
            logits = case.input("x", case.normal(shape, scale), view)
            targets = targets_of(case, *logits.shape, ignored, index)
            case.output("y", loss(logits, targets, index, normalizer))

        def fused(case: Case) -> None:
            x, weight = (case.input(name, values, view) for name, values in
                         zip(("x", "weight"), operands(case, shape, scale)))
            targets = targets_of(case, *case.shape(shape), ignored, index)
            case.output("y", loss(F.linear(x, weight), targets, index, normalizer))

        def by_row(case: Case) -> None:
            x, weight = operands(case, shape, scale)
            x = case.input("x", x, view, gradient=False)
            weight = case.input("weight", weight, gradient=False)
            targets = targets_of(case, *case.shape(shape), ignored, index)
            case.output("y", F.cross_entropy(F.linear(x, weight), targets, ignore_index=index, reduction="none"))

        name = f"{what}, ignoring {ignored} at {index}, normalizer {normalizer}"
        attributes = {"ignore_index": index, "normalizer": normalizer}
        frozen = what == "rows" or (ignored, index, normalizer) == ("some", -1, 0)
        file.both("cross_entropy", name, plain, frozen, attributes=attributes)
        file.both("linear_cross_entropy", name, fused, frozen, attributes=attributes)
        if normalizer == 0:
            file.both("linear_cross_entropy_rows", name, by_row, frozen and what == "rows", attributes=attributes)


def build(file: CaseFile) -> None:
    file.rung = "layer_norm, batch_norm"
    layer_norm_cases(file)
    batch_norm_cases(file)
    file.rung = "norm_linear, feed_forward"
    fused_cases(file)
    file.rung = "embedding, cross_entropy"
    embedding_cases(file)
    loss_cases(file)
