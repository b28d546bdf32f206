"""Matrix products."""

from functools import partial

import torch
import torch.nn.functional as F

from case_file import Case, CaseFile, In

MATMUL = [
    ("matrices", "m3 k4", "k4 n5", "contiguous", "contiguous"),
    ("larger matrices", "m19 k17", "k17 n21", "contiguous", "contiguous"),
    ("size 1 everywhere", "1 1", "1 1", "contiguous", "contiguous"),
    ("a row and a column", "1 k7", "k7 1", "contiguous", "contiguous"),
    ("an outer product", "m4 1", "1 n5", "contiguous", "contiguous"),
    ("nothing to sum over", "m3 0", "0 n2", "contiguous", "contiguous"),
    ("no rows", "0 k3", "k3 n2", "contiguous", "contiguous"),
    ("vectors", "k5", "k5", "contiguous", "contiguous"),
    ("a vector on the left", "k5", "k5 n3", "contiguous", "contiguous"),
    ("a vector on the right", "a2 m3 k5", "k5", "contiguous", "contiguous"),
    ("batches", "a2 m3 k4", "a2 k4 n5", "contiguous", "contiguous"),
    ("broadcast batches", "a2 1 m3 k4", "b3 k4 n2", "contiguous", "contiguous"),
    ("one matrix for every batch", "a2 b3 m2 k4", "k4 n5", "contiguous", "contiguous"),
    ("transposed and sliced", "m3 k4", "k4 n5", "transposed", "sliced"),
    ("sliced batches", "a2 m3 k4", "a2 k4 n5", "sliced", "transposed"),
    ("an expanded operand", "a2 m3 k4", "a2 k4 n5", "expanded", "contiguous"),
]
EINSUM = [
    ("thd,shd->hts", "t4 h2 d3", "s5 h2 d3"),
    ("ij,jk->ik", "i3 j4", "j4 k5"),
    ("i,j->ij", "i3", "j4"),
    ("bij,bjk->bik", "b2 i3 j4", "b2 j4 k1"),
    ("bhts,bhsd->bthd", "b2 h3 t4 s5", "b2 h3 s5 d2"),
    ("ij,ij->", "i3 j4", "i3 j4"),
    ("i,i->i", "i5", "i5"),
    ("abc,cd->bd", "a2 b3 c4", "c4 d5"),
    ("ij->ji", "i3 j4", None),
    ("abc->b", "a2 b3 c4", None),
    ("ij->", "i3 j4", None),
]
LINEAR = [
    ("rows", "n3 i4", "o5 i4", True, "contiguous", "contiguous"),
    ("no bias", "n3 i4", "o5 i4", False, "contiguous", "contiguous"),
    ("a batch", "b2 n3 i4", "o5 i4", True, "contiguous", "contiguous"),
    ("a vector", "i4", "o5 i4", True, "contiguous", "contiguous"),
    ("one output", "n3 i4", "1 i4", True, "contiguous", "contiguous"),
    ("one input", "n3 1", "o4 1", True, "contiguous", "contiguous"),
    ("no rows", "0 i4", "o5 i4", True, "contiguous", "contiguous"),
    ("larger", "n17 i35", "o19 i35", True, "contiguous", "contiguous"),
    ("transposed and sliced", "n3 i4", "o5 i4", True, "transposed", "sliced"),
]
# Changed rows of the weight, and the factor of the change.
LOW_RANK = [
    ("all rows", "n3 i4", 5, 0, 5, 1.0),
    ("rows in the middle, a batch", "b2 n3 i4", 7, 2, 3, 0.5),
    ("the last rows, larger", "n17 i35", 19, 11, 8, 2.5),
    ("no rows of x", "0 i4", 5, 0, 5, 2.0),
]


def updated(case: Case, x: torch.Tensor, row: tuple) -> torch.Tensor:
    """The weight with its changed rows."""
    _, _, rows, first, changed, scale = row
    weight, a, b = case.inputs_of({"weight": In((rows, x.shape[-1])), "a": In((2, x.shape[-1])), "b": In((changed, 2))})
    return weight + F.pad(scale * b @ a, (0, 0, first, rows - first - changed))


def low_rank_linear(case: Case, row: tuple) -> None:
    x = case.input("x", case.normal(row[1]))
    weight = updated(case, x, row)
    case.output("y", F.linear(x, weight, case.input("bias", case.normal(row[2:3]))))


def updated_weight(case: Case, row: tuple) -> None:
    case.output("y", updated(case, case.normal(row[1]), row))


def with_row_lengths(case: Case, row: tuple) -> None:
    """DoRA: the lengths of rows before are constants."""
    _, x_shape, rows, first, changed, scale = row
    x = case.normal(x_shape)
    weight, a, b = case.inputs_of({"weight": In((rows, x.shape[-1]), gradient=False),
                                   "a": In((2, x.shape[-1]), gradient=False), "b": In((changed, 2), gradient=False)})
    before = (weight[first:first + changed] + scale * b @ a).norm(dim=1)
    factors = case.input("lengths", case.uniform((changed,), 0.5, 2)) / before
    product, bias = case.inputs_of({"product": In((*x.shape[:-1], rows)), "bias": In((rows,))})
    factors = F.pad(factors, (first, rows - first - changed), value=1.0)
    case.output("y", (product - bias) * factors + bias)


def row_lengths(case: Case, row: tuple) -> None:
    columns = case.normal(row[1]).shape[-1]
    case.output("y", case.input("x", case.normal((row[2], columns))).norm(dim=1))


def build(file: CaseFile) -> None:
    file.rung = "matmul, linear, einsum"
    for what, a, b, a_view, b_view in MATMUL:
        file.op("matmul", what, torch.matmul, {"a": In(a, a_view), "b": In(b, b_view)})
    for equation, a, b in EINSUM:
        for view in ("contiguous", "transposed"):
            file.op("einsum", f"{equation}, {view}", lambda *operands: torch.einsum(equation, *operands),
                    {"a": In(a, view)} | ({"b": In(b)} if b else {}), attributes={"equation": equation})
    for what, x, weight, has_bias, x_view, weight_view in LINEAR:
        file.op("linear", what, F.linear, {"x": In(x, x_view), "weight": In(weight, weight_view)} |
                ({"bias": In(weight.split()[0])} if has_bias else {}))
    for row in LOW_RANK:
        attributes = {"first_row": row[3], "scale": row[5]}
        for build_case in (low_rank_linear, updated_weight, with_row_lengths, row_lengths):
            file.both(build_case.__name__, row[0], partial(build_case, row=row),
                      attributes=attributes if build_case != row_lengths else {})
