"""Sums, means, variances and maxima."""

import torch

from case_file import Case, CaseFile

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


def reduced(op: str, x: torch.Tensor, axes: list[int], keepdim: bool, correction: int):
    dim = axes or list(range(x.dim()))
    if op in ("var", "stddev"):
        function = torch.var if op == "var" else torch.std
        return function(x, dim, correction=correction, keepdim=keepdim)
    function = {"sum": torch.sum, "mean": torch.mean, "max": torch.amax}[op]
    return function(x, dim, keepdim=keepdim)


def reduce_case(file: CaseFile, op: str, correction: int, row: tuple) -> None:
    what, shape, axes, keepdim, view = row

    def build(case: Case) -> None:
        values = case.normal(shape, 2.0)
        if view == "equal":
            values = torch.round(values / 2)
        x = case.input("x", values, "contiguous" if view == "equal" else view)
        case.output("y", reduced(op, x, axes, keepdim, correction))

    name = f"{what}, correction {correction}" if op in ("var", "stddev") else what
    file.both(op, name, build,
              attributes={"axes": axes, "keepdim": keepdim, "correction": correction})


def build(file: CaseFile) -> None:
    file.rung = "sum, mean, var, max"
    for op, correction in (("sum", 0), ("mean", 0), ("max", 0), ("var", 0), ("var", 1),
                           ("stddev", 0), ("stddev", 1)):
        for row in SHAPES:
            if not (correction == 1 and "size 1" in row[0]):  # 0 / 0
                reduce_case(file, op, correction, row)
    for what, shape, to, view in TO_SHAPE:

        def to_shape(case: Case) -> None:
            x = case.input("x", case.normal(shape), view)
            target = case.shape(to)
            case.attributes["shape"] = list(target)
            case.output("y", x.sum_to_size(target))

        file.both("sum_to_shape", what, to_shape)
