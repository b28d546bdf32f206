"""Functions of single elements."""

import operator

import torch
import torch.nn.functional as F

import philox
from case_file import DTYPES, Case, CaseFile

RUNG = "elementwise"
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


def away_from_zero(values: torch.Tensor) -> torch.Tensor:
    return values + 0.5 * torch.sign(values)


def pair_cases(file: CaseFile, op: str, function) -> None:
    for what, a_shape, b_shape, a_view, b_view in PAIRS:

        def build(case: Case) -> None:
            a = case.input("a", case.normal(a_shape), a_view)
            b = case.input("b", away_from_zero(case.normal(b_shape)), b_view)
            case.output("y", function(a, b))

        file.both(op, what, build)


def number_cases(file: CaseFile, op: str, function) -> None:
    for number in (0.0, -1.7, 3.25) if op not in ("operator/",) else (-1.7, 3.25):

        def build(case: Case) -> None:
            case.output("y", function(case.input("a", case.normal("b3 c4")), number))

        file.both(op, f"the number {number}", build, attributes={"b": number})


def single_cases(file: CaseFile, op: str, function, draw, attributes: dict | None = None,
                 name: str = "") -> None:
    for what, shape, view in SINGLE:

        def build(case: Case) -> None:
            case.output("y", function(case.input("x", draw(case, shape), view)))

        # All powers share their loops over memory, so two shapes are enough.
        frozen = op != "pow" or what in ("a vector", "transposed")
        file.both(op, name + what, build, frozen, attributes=attributes or {})


def special_cases(file: CaseFile, op: str, function, values: list[float],
                  attributes: dict | None = None, name: str = "") -> None:
    def build(case: Case) -> None:
        x = torch.tensor(values, dtype=case.dtype)
        case.output("y", function(case.input("x", x)))

    file.both(op, f"{name}special values", build, attributes=attributes or {})


def any_values(case: Case, shape: str) -> torch.Tensor:
    return case.normal(shape, 2.0)


def positive(case: Case, shape: str) -> torch.Tensor:
    return case.uniform(shape, 0.1, 9.0)


def comparison_cases(file: CaseFile) -> None:
    """Of equal and of different numbers, of two tensors and of a tensor and a number."""
    comparisons = {"equal": torch.eq, "not_equal": torch.ne, "less": torch.lt,
                   "less_equal": torch.le, "greater": torch.gt, "greater_equal": torch.ge,
                   "logical_and": torch.logical_and, "logical_or": torch.logical_or}
    for op, function in comparisons.items():
        for what, a_shape, b_shape, a_view, b_view in PAIRS:

            def build(case: Case) -> None:
                a = case.input("a", case.normal(a_shape).round(), a_view, gradient=False)
                b = case.input("b", case.normal(b_shape).round(), b_view, gradient=False)
                case.output("y", function(a, b))

            file.both(op, what, build, frozen=a_view == "contiguous" or b_view == "sliced")
        if op.startswith("logical"):
            continue
        for number in (0.0, 1.0):

            def beside(case: Case) -> None:
                values = torch.tensor([0.0, 1.0, -2.0, 1.5, float("nan"), float("inf")])
                a = case.input("a", values.to(case.dtype), gradient=False)
                case.output("y", function(a, number))

            file.both(op, f"the number {number}", beside, attributes={"b": number})
    for what, shape, view in SINGLE:

        def build(case: Case) -> None:
            x = case.input("x", case.normal(shape).round(), view, gradient=False)
            case.output("y", torch.logical_not(x))

        file.both("logical_not", what, build)


def cast_cases(file: CaseFile) -> None:
    for what, shape, view in SINGLE:
        for to in DTYPES:

            def build(case: Case) -> None:
                case.output("y", case.input("x", any_values(case, shape), view).to(DTYPES[to]))

            file.both("cast", f"to {to}, {what}", build, attributes={"to": to})


def dropout_cases(file: CaseFile) -> None:
    for probability in (0.1, 0.5, 0.99):
        for what, shape, view in SINGLE:

            def build(case: Case) -> None:
                x = case.input("x", any_values(case, shape), view)
                seed = case.integer(0, 2**40)
                case.attributes |= {"probability": probability, "seed": seed, "stream": 7}
                keep = philox.keep_mask(tuple(x.shape), probability, seed, 7)
                case.output("y", torch.where(keep, x / (1 - probability), torch.zeros_like(x)))

            file.both("dropout", f"{probability}, {what}", build,
                      frozen=probability == 0.5 or view == "sliced")


def build(file: CaseFile) -> None:
    file.rung = RUNG
    infinity, nan = float("inf"), float("nan")
    operators = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}
    for op, function in zip(("add", "sub", "mul", "div"), operators.values(), strict=True):
        pair_cases(file, op, function)
    for sign, function in operators.items():
        pair_cases(file, f"operator{sign}", function)
    number_cases(file, "add", operator.add)
    number_cases(file, "mul", operator.mul)
    for sign, function in operators.items():
        # Headlight's runner has the number on the right, then on the left: b - (a - b).
        number_cases(file, f"operator{sign}", lambda a, b, f=function: f(b, f(a, b)))
    for op, function, draw in (("neg", operator.neg, any_values), ("exp", torch.exp, any_values),
                               ("log", torch.log, positive), ("sqrt", torch.sqrt, positive),
                               ("tanh", torch.tanh, any_values), ("relu", F.relu, any_values),
                               ("sigmoid", torch.sigmoid, any_values), ("silu", F.silu, any_values)):
        single_cases(file, op, function, draw)
    special_cases(file, "exp", torch.exp, [0.0, -0.0, -infinity, infinity, nan, -800.0, -80.0, 80.0])
    special_cases(file, "log", torch.log, [1.0, infinity, nan, 1e-30, 1e30])
    special_cases(file, "tanh", torch.tanh, [0.0, 1e-9, -1e-4, 20.0, -400.0, infinity, -infinity, nan])
    special_cases(file, "sigmoid", torch.sigmoid, [0.0, 1e-9, -40.0, 40.0, -400.0, 400.0, infinity, -infinity, nan])
    special_cases(file, "silu", F.silu, [0.0, 1e-9, -40.0, 40.0, -80.0, 400.0, infinity, nan])
    special_cases(file, "relu", F.relu, [0.0, -0.0, -1e-30, 1e-30, infinity, -infinity])
    for exponent, draw in ((2.0, any_values), (3.0, any_values), (0.5, positive), (-1.5, positive),
                           (0.0, any_values), (1.0, any_values)):
        single_cases(file, "pow", lambda x, e=exponent: torch.pow(x, e), draw,
                     {"exponent": exponent}, f"{exponent}, ")
    for form, approximate in (("tanh", "tanh"), ("erf", "none")):
        function = lambda x, kind=approximate: F.gelu(x, approximate=kind)
        single_cases(file, "gelu", function, any_values, {"form": form}, f"{form}, ")
        special_cases(file, "gelu", function, [0.0, 1e-9, -1e-4, 6.0, -6.0, 12.0, -12.0],
                      {"form": form}, f"{form}, ")
    for cap in (0.75, 30.0):
        function = lambda x, cap=cap: cap * torch.tanh(x / cap)
        single_cases(file, "soft_cap", function, any_values, {"cap": cap}, f"{cap}, ")
        special_cases(file, "soft_cap", function, [0.0, -0.5, 100.0, infinity, -infinity, nan], {"cap": cap}, f"{cap}, ")
    for low, high in ((-0.5, 1.25), (-infinity, 0.0)):
        limits = {"low": str(low), "high": str(high)}
        function = lambda x, low=low, high=high: torch.clamp(x, low, high)
        single_cases(file, "clamp", function, any_values, limits, f"{low} to {high}, ")
        special_cases(file, "clamp", function, [0.0, -0.5, 1.25, infinity, -infinity, nan], limits,
                      f"{low} to {high}, ")
    comparison_cases(file)
    cast_cases(file)
    dropout_cases(file)
