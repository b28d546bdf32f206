"""Softmax and masks."""

import torch
import torch.nn.functional as F

from case_file import Case, CaseFile

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


def softmax_cases(file: CaseFile) -> None:
    for op, function in (("softmax", F.softmax), ("log_softmax", F.log_softmax)):
        for what, shape, axis, view in SHAPES:
            for scale in (1.0, 30.0):

                def build(case: Case) -> None:
                    x = case.input("x", case.normal(shape, scale), view)
                    case.output("y", function(x, dim=axis))

                file.both(op, f"{what}, scale {scale}", build, frozen=scale == 1.0 or what == "rows",
                          attributes={"axis": axis})


def masked_softmax_cases(file: CaseFile) -> None:
    for what, shape, mask_shape, view, mask_view in MASKS:

        def build(case: Case) -> None:
            x = case.input("x", case.normal(shape), view)
            mask = case.booleans(mask_shape)
            mask[..., 0] = False  # a fully hidden row is NaN in PyTorch
            mask = case.input("mask", mask, mask_view)
            case.output("y", F.softmax(x.masked_fill(mask, float("-inf")), -1))

        file.both("masked_softmax", what, build)


def choice_cases(file: CaseFile) -> None:
    for what, shape, mask_shape, view, mask_view in MASKS:

        def masked_fill(case: Case) -> None:
            x = case.input("x", case.normal(shape), view)
            mask = case.input("mask", case.booleans(mask_shape), mask_view)
            case.output("y", x.masked_fill(mask, -2.5))

        def where(case: Case) -> None:
            a = case.input("a", case.normal(shape), view)
            b = case.input("b", case.normal(tuple(case.shape(shape)[-1:])))
            condition = case.input("condition", case.booleans(mask_shape), mask_view)
            case.output("y", torch.where(condition, a, b))

        def combine(case: Case) -> None:
            a = case.input("a", case.booleans(shape), view)
            b = case.input("b", case.booleans(mask_shape), mask_view)
            case.output("y", a | b)

        file.both("masked_fill", what, masked_fill, attributes={"value": -2.5})
        file.both("where", what, where)
        file.both("combine_masks", what, combine)


def triangle_cases(file: CaseFile) -> None:
    for op, function in (("tril", torch.tril), ("triu", torch.triu)):
        for what, shape in TRIANGLES:
            for diagonal in (-1, 0, 2):
                for view in ("contiguous", "transposed"):

                    def build(case: Case) -> None:
                        x = case.input("x", case.normal(shape), view)
                        case.output("y", function(x, diagonal))

                    file.both(op, f"{what}, diagonal {diagonal}, {view}", build,
                              frozen=view == "contiguous" or (what, diagonal) == ("wide", 0),
                              attributes={"diagonal": diagonal})


def mask_cases(file: CaseFile) -> None:
    for what, sizes in (("square", "t4 t4"), ("more keys", "t2 s5"), ("fewer keys", "t5 s2"),
                        ("one", "1 1")):

        def causal(case: Case) -> None:
            queries, keys = case.shape(sizes)
            case.attributes |= {"queries": queries, "keys": keys}
            future = torch.ones(queries, keys, dtype=torch.bool).triu(keys - queries + 1)
            case.output("y", future)

        file.both("causal_mask", what, causal)

    def padding(case: Case) -> None:
        count, width = case.shape("b4 t6")
        lengths = case.input("lengths", case.integers((count,), width + 1))
        case.attributes["width"] = width
        case.output("y", torch.arange(width)[None, :] >= lengths[:, None])

    def keep(case: Case) -> None:
        values = case.integers("b3 t5", 3).to(case.dtype)
        keep = case.input("keep", values, "sliced", gradient=False)
        case.output("y", keep == 0)

    file.both("padding_mask", "lengths from 0 to all", padding)
    file.both("mask_from_keep", "numbers", keep)


def build(file: CaseFile) -> None:
    file.rung = "softmax, log_softmax"
    softmax_cases(file)
    masked_softmax_cases(file)
    file.rung = "masks"
    choice_cases(file)
    triangle_cases(file)
    mask_cases(file)
