"""Functions of single elements."""

import operator
from math import inf, nan

import torch
import torch.nn.functional as F

import philox
from case_file import DTYPES, Case, CaseFile, In

# Shapes and memory layouts of two operands.
PAIRS = [
    ("equal shapes", "b3 c4", "b3 c4", "contiguous", "contiguous"),
    ("a row", "b3 c4", "c4", "contiguous", "contiguous"),
    ("a column from the left", "b3 1", "b3 c4", "contiguous", "contiguous"),
    ("axes of size 1 on both sides", "a2 1 c3 1", "1 b4 1 d2", "contiguous", "contiguous"),
    ("no elements", "0 c3", "1 c3", "contiguous", "contiguous"),
    ("no axes", "", "b3", "contiguous", "contiguous"),
    ("transposed and sliced", "b3 c5", "b3 c5", "transposed", "sliced"),
    ("sliced and a transposed row", "a2 b3 c4", "b3 c4", "sliced", "transposed"),
    ("an expanded view", "b3 c4", "b3 c4", "expanded", "contiguous"),
]
SINGLE = [
    ("a vector", "b7", "contiguous"),
    ("more than one vector register", "a70", "contiguous"),
    ("three axes", "a2 1 c5", "contiguous"),
    ("no elements", "3 0", "contiguous"),
    ("no axes", "", "contiguous"),
    ("transposed", "b4 c5", "transposed"),
    ("sliced", "a2 b3 c4", "sliced"),
    ("expanded", "b3 c4", "expanded"),
]


def any_values(case: Case, shape: str) -> torch.Tensor:
    return case.normal(shape, 2.0)


def positive(case: Case, shape: str) -> torch.Tensor:
    return case.uniform(shape, 0.1, 9.0)


def away_from_zero(case: Case, shape: str) -> torch.Tensor:
    values = case.normal(shape)
    return values + 0.5 * torch.sign(values)


def whole_numbers(case: Case, shape: str) -> torch.Tensor:
    return case.normal(shape).round()


def power(exponent: float):
    return lambda x: torch.pow(x, exponent)


def gelu(form: str):
    return lambda x: F.gelu(x, approximate=form)


def soft_cap(cap: float):
    return lambda x: cap * torch.tanh(x / cap)


def clamp(low: float, high: float):
    return lambda x: torch.clamp(x, low, high)


# Op, attributes, function, how its input is drawn, special values.
GELU, SOFT_CAP, CLAMP = ([0.0, 1e-9, -1e-4, 6.0, -6.0, 12.0, -12.0], [0.0, -0.5, 100.0, inf, -inf, nan],
                         [0.0, -0.5, 1.25, inf, -inf, nan])
FUNCTIONS = [
    ("neg", {}, operator.neg, any_values, []),
    ("exp", {}, torch.exp, any_values, [0.0, -0.0, -inf, inf, nan, -800.0, -80.0, 80.0]),
    ("log", {}, torch.log, positive, [1.0, inf, nan, 1e-30, 1e30]),
    ("sqrt", {}, torch.sqrt, positive, []),
    ("tanh", {}, torch.tanh, any_values, [0.0, 1e-9, -1e-4, 20.0, -400.0, inf, -inf, nan]),
    ("relu", {}, F.relu, any_values, [0.0, -0.0, -1e-30, 1e-30, inf, -inf]),
    ("sigmoid", {}, torch.sigmoid, any_values, [0.0, 1e-9, -40.0, 40.0, -400.0, 400.0, inf, -inf, nan]),
    ("silu", {}, F.silu, any_values, [0.0, 1e-9, -40.0, 40.0, -80.0, 400.0, inf, nan]),
    ("pow", {"exponent": 2.0}, power(2.0), any_values, []),
    ("pow", {"exponent": 3.0}, power(3.0), any_values, []),
    ("pow", {"exponent": 0.5}, power(0.5), positive, []),
    ("pow", {"exponent": -1.5}, power(-1.5), positive, []),
    ("pow", {"exponent": 0.0}, power(0.0), any_values, []),
    ("pow", {"exponent": 1.0}, power(1.0), any_values, []),
    ("gelu", {"form": "tanh"}, gelu("tanh"), any_values, GELU),
    ("gelu", {"form": "erf"}, gelu("none"), any_values, GELU),
    ("soft_cap", {"cap": 0.75}, soft_cap(0.75), any_values, SOFT_CAP),
    ("soft_cap", {"cap": 30.0}, soft_cap(30.0), any_values, SOFT_CAP),
    ("clamp", {"low": "-0.5", "high": "1.25"}, clamp(-0.5, 1.25), any_values, CLAMP),
    ("clamp", {"low": "-inf", "high": "0.0"}, clamp(-inf, 0.0), any_values, CLAMP),
]
OPERATORS = [("add", "+", operator.add), ("sub", "-", operator.sub), ("mul", "*", operator.mul),
             ("div", "/", operator.truediv)]
COMPARISONS = [("equal", torch.eq), ("not_equal", torch.ne), ("less", torch.lt), ("less_equal", torch.le),
               ("greater", torch.gt), ("greater_equal", torch.ge), ("logical_and", torch.logical_and),
               ("logical_or", torch.logical_or)]


def single_cases(file: CaseFile) -> None:
    for op, attributes, function, draw, values in FUNCTIONS:
        prefix = " to ".join(map(str, attributes.values())) + ", " if attributes else ""
        for what, shape, view in SINGLE:
            # All powers share their loops over memory, so two shapes are enough.
            file.op(op, prefix + what, function, {"x": In(shape, view, draw)}, attributes=attributes,
                    frozen=op != "pow" or what in ("a vector", "transposed"))
        if values:
            special = In((), draw=lambda case, _: torch.tensor(values, dtype=case.dtype))
            file.op(op, f"{prefix}special values", function, {"x": special}, attributes=attributes)


def pair_cases(file: CaseFile) -> None:
    for what, a, b, a_view, b_view in PAIRS:
        for name, sign, function in OPERATORS:
            for op in (name, f"operator{sign}"):
                file.op(op, what, function, {"a": In(a, a_view), "b": In(b, b_view, away_from_zero)})
        for op, function in COMPARISONS:
            inputs = {"a": In(a, a_view, whole_numbers, False), "b": In(b, b_view, whole_numbers, False)}
            file.op(op, what, function, inputs, frozen=a_view == "contiguous" or b_view == "sliced")


def number_cases(file: CaseFile) -> None:
    for name, sign, function in OPERATORS:
        for number in (0.0, -1.7, 3.25):
            options = {"attributes": {"b": number}}
            if name in ("add", "mul"):
                file.op(name, f"the number {number}", lambda a: function(a, number), {"a": In("b3 c4")}, **options)
            if (sign, number) != ("/", 0.0):
                # Headlight's runner has the number on the right, then on the left: b - (a - b).
                file.op(f"operator{sign}", f"the number {number}", lambda a: function(number, function(a, number)),
                        {"a": In("b3 c4")}, **options)
    values = In((), draw=lambda case, _: torch.tensor([0.0, 1.0, -2.0, 1.5, nan, inf], dtype=case.dtype), gradient=False)
    for op, function in COMPARISONS[:6]:
        for number in (0.0, 1.0):
            file.op(op, f"the number {number}", lambda a: function(a, number), {"a": values}, attributes={"b": number})


def other_cases(file: CaseFile) -> None:
    """Negation, casts, dropout."""
    for what, shape, view in SINGLE:
        file.op("logical_not", what, torch.logical_not, {"x": In(shape, view, whole_numbers, False)})
        for to, dtype in DTYPES.items():
            file.op("cast", f"to {to}, {what}", lambda x: x.to(dtype), {"x": In(shape, view, any_values)},
                    attributes={"to": to})
        for probability in (0.1, 0.5, 0.99):

            def dropout(case: Case) -> None:
                x = case.input("x", any_values(case, shape), view)
                seed = case.integer(0, 2**40)
                case.attributes |= {"probability": probability, "seed": seed, "stream": 7}
                keep = philox.keep_mask(tuple(x.shape), probability, seed, 7)
                case.output("y", torch.where(keep, x / (1 - probability), torch.zeros_like(x)))

            file.both("dropout", f"{probability}, {what}", dropout, frozen=probability == 0.5 or view == "sliced")


def build(file: CaseFile) -> None:
    file.rung = "elementwise"
    single_cases(file)
    pair_cases(file)
    number_cases(file)
    other_cases(file)
