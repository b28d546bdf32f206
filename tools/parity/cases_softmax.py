"""Softmax and masks."""

import torch
import torch.nn.functional as F

from case_file import Case, CaseFile, In

SHAPES = [
    ("rows", "a3 b5", -1, "contiguous"),
    ("the first axis", "a3 b5", 0, "contiguous"),
    ("the middle axis", "a2 b4 c3", 1, "contiguous"),
    ("a vector", "b7", 0, "contiguous"),
    ("a single element", "a3 1", 1, "contiguous"),
    ("a long row", "a2 b150", 1, "contiguous"),
    ("no rows", "0 b3", 1, "contiguous"),
    ("transposed", "a3 b5", -1, "transposed"),
    ("sliced", "a3 b5", 1, "sliced"),
    ("expanded", "a3 b5", 0, "expanded"),
]
MASKS = [
    ("equal shapes", "a3 b5", "a3 b5", "contiguous", "contiguous"),
    ("a row for all", "a3 b5", "b5", "contiguous", "contiguous"),
    ("a column for all", "a2 b3 c4", "b3 1", "contiguous", "contiguous"),
    ("no rows", "0 b3", "b3", "contiguous", "contiguous"),
    ("transposed mask", "a3 b5", "a3 b5", "contiguous", "transposed"),
    ("sliced operand", "a2 b3 c4", "b3 c4", "sliced", "transposed"),
]
TRIANGLES = [("square", "t4 t4"), ("wide", "t3 s6"), ("tall", "t6 s3"), ("batches", "a2 t4 s4"),
             ("size 1", "1 1"), ("no rows", "0 s3")]


def hidden(case: Case, shape: str) -> torch.Tensor:
    return case.booleans(shape)


def first_seen(case: Case, shape: str) -> torch.Tensor:
    """A fully hidden row is NaN in PyTorch."""
    mask = case.booleans(shape)
    mask[..., 0] = False
    return mask


def softmax_cases(file: CaseFile) -> None:
    for op, function in (("softmax", F.softmax), ("log_softmax", F.log_softmax)):
        for what, shape, axis, view in SHAPES:
            for scale in (1.0, 30.0):
                x = In(shape, view, lambda case, shape: case.normal(shape, scale))
                file.op(op, f"{what}, scale {scale}", lambda x: function(x, dim=axis), {"x": x},
                        frozen=scale == 1.0 or what == "rows", attributes={"axis": axis})
    for what, shape, mask, view, mask_view in MASKS:
        file.op("masked_softmax", what, lambda x, mask: F.softmax(x.masked_fill(mask, float("-inf")), -1),
                {"x": In(shape, view), "mask": In(mask, mask_view, first_seen)})


def choice_cases(file: CaseFile) -> None:
    for what, shape, mask, view, mask_view in MASKS:
        row = " ".join(shape.split()[-1:])
        file.op("masked_fill", what, lambda x, mask: x.masked_fill(mask, -2.5),
                {"x": In(shape, view), "mask": In(mask, mask_view, hidden)}, attributes={"value": -2.5})
        file.op("where", what, lambda a, b, condition: torch.where(condition, a, b),
                {"a": In(shape, view), "b": In(row), "condition": In(mask, mask_view, hidden)})
        file.op("combine_masks", what, torch.logical_or,
                {"a": In(shape, view, hidden), "b": In(mask, mask_view, hidden)})


def triangle_cases(file: CaseFile) -> None:
    for op, function in (("tril", torch.tril), ("triu", torch.triu)):
        for what, shape in TRIANGLES:
            for diagonal in (-1, 0, 2):
                for view in ("contiguous", "transposed"):
                    file.op(op, f"{what}, diagonal {diagonal}, {view}", lambda x: function(x, diagonal),
                            {"x": In(shape, view)}, attributes={"diagonal": diagonal},
                            frozen=view == "contiguous" or (what, diagonal) == ("wide", 0))


def mask_cases(file: CaseFile) -> None:
    for what, sizes in (("square", "t4 t4"), ("more keys", "t2 s5"), ("fewer keys", "t5 s2"), ("one", "1 1")):

        def causal(case: Case) -> None:
            queries, keys = case.shape(sizes)
            case.attributes |= {"queries": queries, "keys": keys}
            case.output("y", torch.ones(queries, keys, dtype=torch.bool).triu(keys - queries + 1))

        file.both("causal_mask", what, causal)

    def padding(case: Case) -> None:
        count, width = case.shape("b4 t6")
        lengths = case.input("lengths", case.integers((count,), width + 1))
        case.attributes["width"] = width
        case.output("y", torch.arange(width)[None, :] >= lengths[:, None])

    file.both("padding_mask", "lengths from 0 to all", padding)
    file.op("mask_from_keep", "numbers", lambda keep: keep == 0, {
        "keep": In("b3 t5", "sliced", lambda case, shape: case.integers(shape, 3).to(case.dtype), False)})


def build(file: CaseFile) -> None:
    file.rung = "softmax, log_softmax"
    softmax_cases(file)
    file.rung = "masks"
    choice_cases(file)
    triangle_cases(file)
    mask_cases(file)
