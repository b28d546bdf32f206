"""Sums, means, variances and maxima."""

from functools import partial

import torch

from case_file import Case, CaseFile, In

# Capitals mean at least 2 elements: the variance of one sample is 0 / 0.
SHAPES = [
    ("one axis", "A3 B4", [1], False, "contiguous"),
    ("the first axis", "A3 B4", [0], True, "contiguous"),
    ("all axes", "A3 B4 C2", [], False, "contiguous"),
    ("two axes", "A2 B3 C4", [0, -1], False, "contiguous"),
    ("two axes kept", "A2 B3 C4", [-2, 0], True, "contiguous"),
    ("a long axis", "A2 B300", [1], False, "contiguous"),
    ("an axis of size 1", "A3 1 C2", [1], False, "contiguous"),
    ("no outputs", "0 B3", [1], False, "contiguous"),
    ("transposed", "A3 B4 C2", [0], False, "transposed"),
    ("sliced", "A3 B4", [-1], False, "sliced"),
    ("expanded", "A3 B4", [0], False, "expanded"),
    ("equal elements", "A3 B4", [1], False, "equal"),
]
TO_SHAPE = [
    ("rows to one", "a3 b4", "b4", "contiguous"),
    ("axes of size 1", "a2 b3 c4", "1 b3 1", "contiguous"),
    ("the same shape", "a2 b3", "a2 b3", "contiguous"),
    ("to a scalar", "a2 b3", "", "contiguous"),
    ("no rows", "0 b3", "b3", "contiguous"),
    ("transposed", "a2 b3 c4", "b3 1", "transposed"),
]


VARIANCES = {"var": torch.var, "stddev": torch.std}
OTHERS = {"sum": torch.sum, "mean": torch.mean, "max": torch.amax}


def wide_values(case: Case, shape: str) -> torch.Tensor:
    return case.normal(shape, 2.0)


def with_equal_ones(case: Case, shape: str) -> torch.Tensor:
    return torch.round(case.normal(shape, 2.0) / 2)


def reduce_case(file: CaseFile, op: str, correction: int, row: tuple) -> None:
    what, shape, axes, keepdim, view = row
    function = OTHERS.get(op) or partial(VARIANCES[op], correction=correction)
    file.op(op, f"{what}, correction {correction}" if op in VARIANCES else what,
            lambda x: function(x, axes or list(range(x.dim())), keepdim=keepdim),
            {"x": In(shape, draw=with_equal_ones) if view == "equal" else In(shape, view, wide_values)},
            attributes={"axes": axes, "keepdim": keepdim, "correction": correction})


def build(file: CaseFile) -> None:
    file.rung = "sum, mean, var, max"
    for row in SHAPES:
        for op in (*OTHERS, *VARIANCES):
            reduce_case(file, op, 0, row)
        for op in VARIANCES if "size 1" not in row[0] else ():  # 0 / 0
            reduce_case(file, op, 1, row)
    for what, shape, to, view in TO_SHAPE:

        def to_shape(case: Case) -> None:
            x = case.input("x", case.normal(shape), view)
            target = case.shape(to)
            case.attributes["shape"] = list(target)
            case.output("y", x.sum_to_size(target))

        file.both("sum_to_shape", what, to_shape)
