"""Views and rearrangements: exact."""

import torch

from case_file import Case, CaseFile

VIEWS = ("contiguous", "transposed", "sliced")
RESHAPES = [("two axes to three", [3, 8], [3, 2, 4]), ("to a vector", [2, 3, 4], [-1]),
            ("axes of size 1", [6], [1, 2, 1, 3, 1]), ("no elements", [0, 3], [3, 0]),
            ("one element to a scalar", [1, 1], [])]
SLICES = [("the middle", 1, 1, 3, 1), ("every second", 0, 0, 100, 2), ("from the end", -1, -3, -1, 1),
          ("nothing", 1, 2, 2, 1), ("clamped", 0, -100, 100, 3)]
EXPANDS = [("a row", "b4", "a3 b4"), ("a column", "a3 1", "a3 c5"),
           ("new axes", "1 b4", "a2 c3 b4"), ("to nothing", "1 b3", "0 b3"), ("a scalar", "", "a2 b3")]


def one_input(file: CaseFile, op: str, what: str, shape: str | list[int], function,
              attributes: dict) -> None:
    for view in VIEWS:
        if view != "contiguous" and not (shape if isinstance(shape, list) else shape.split()):
            continue

        def build(case: Case) -> None:
            values = case.normal(shape if isinstance(shape, str) else tuple(shape))
            case.output("y", function(case.input("x", values, view)))

        file.both(op, f"{what}, {view}", build, attributes=attributes)


def expand_cases(file: CaseFile) -> None:
    for what, shape, to in EXPANDS:

        def build(case: Case) -> None:
            x = case.input("x", case.normal(shape))
            target = case.shape(to)
            case.attributes["shape"] = list(target)
            case.output("y", x.expand(target))

        file.both("expand", what, build)


def join_cases(file: CaseFile) -> None:
    for axis, shapes in ((0, ("a2 b3", "0 b3", "c4 b3")), (1, ("a2 b3", "a2 1", "a2 c2")),
                         (-1, ("a2 d2 b3", "a2 d2 c1"))):

        def concat(case: Case) -> None:
            parts = [case.input(f"x{i}", case.normal(shape), VIEWS[i])
                     for i, shape in enumerate(shapes)]
            case.attributes["count"] = len(parts)
            case.output("y", torch.cat(parts, axis))

        file.both("concat", f"axis {axis}", concat, attributes={"axis": axis})
    for axis in (0, 1, -1):

        def stack(case: Case) -> None:
            parts = [case.input(f"x{i}", case.normal("a2 b3"), view)
                     for i, view in enumerate(VIEWS)]
            case.output("y", torch.stack(parts, axis))

        file.both("stack", f"axis {axis}", stack, attributes={"axis": axis, "count": 3})


def split_cases(file: CaseFile) -> None:
    for size, axis in ((2, 0), (3, 1), (100, -1)):
        for view in VIEWS:

            def build(case: Case) -> None:
                parts = torch.split(case.input("x", case.normal("a5 b7"), view), size, axis)
                for i, part in enumerate(parts):
                    case.output(f"y{i}", part)

            file.both("split", f"{size} along {axis}, {view}", build,
                      attributes={"size": size, "axis": axis})


def indexing_cases(file: CaseFile) -> None:
    for axis in (0, 1, -1):
        for view in VIEWS:

            def gather(case: Case) -> None:
                x = case.input("x", case.normal("a3 b4 c2"), view)
                indices = case.integers("d2 b4 c2" if axis == 0 else "a3 d5 c2" if axis == 1 else
                                        "a3 b4 d3", x.shape[axis])
                case.output("y", torch.gather(x, axis, case.input("indices", indices)))

            def argmax(case: Case) -> None:
                x = case.input("x", case.normal("a3 b4 c2"), view, gradient=False)
                case.output("y", torch.argmax(x, axis, keepdim=axis == 0))

            def topk(case: Case) -> None:
                x = case.input("x", case.normal("a3 b4 c2"), view)
                case.attributes["k"] = case.integer(0, x.shape[axis])
                values, indices = torch.topk(x, case.attributes["k"], axis)
                case.output("values", values)
                case.output("indices", indices)

            attributes = {"axis": axis, "keepdim": axis == 0}
            for op, function in (("gather", gather), ("argmax", argmax), ("topk", topk)):
                file.both(op, f"axis {axis}, {view}", function, attributes=attributes)

    def flat_argmax(case: Case) -> None:
        x = case.input("x", case.normal("a3 b4").round(), gradient=False)
        case.output("y", torch.argmax(x))

    file.both("argmax", "all elements, equal ones", flat_argmax)


def build(file: CaseFile) -> None:
    file.rung = "layout"
    for what, shape, to in RESHAPES:
        one_input(file, "reshape", what, shape, lambda x, to=to: x.reshape(to), {"shape": to})
    for a, b in ((-2, -1), (0, 2), (1, 1)):
        one_input(file, "transpose", f"axes {a} and {b}", "a2 b3 c4",
                  lambda x, a=a, b=b: x.transpose(a, b), {"a": a, "b": b})
    for order in ([2, 0, 1], [0, 1, 2], [1, 0, 2]):
        one_input(file, "permute", f"order {order}", "a2 b3 c4",
                  lambda x, order=order: x.permute(order), {"order": order})
    for what, axis, start, end, step in SLICES:
        one_input(file, "slice", what, [5, 6],
                  lambda x, axis=axis, span=slice(start, end, step):
                  x[span] if axis == 0 else x[:, span],
                  {"axis": axis, "start": start, "end": end, "step": step})
    one_input(file, "contiguous", "three axes", "a2 b3 c4", lambda x: x.contiguous(), {})
    for axis, index in ((0, 1), (1, -1), (-1, 0)):
        one_input(file, "select", f"{index} of axis {axis}", [2, 3, 4],
                  lambda x, axis=axis, index=index: x.select(axis, index),
                  {"axis": axis, "index": index})
    for axis in (0, 1, -1):
        one_input(file, "unsqueeze", f"axis {axis}", "a2 b3",
                  lambda x, axis=axis: x.unsqueeze(axis), {"axis": axis})
    one_input(file, "squeeze", "all axes", [1, 3, 1, 2], lambda x: x.squeeze(), {})
    for axis in (0, -1):
        one_input(file, "squeeze", f"axis {axis}", [1, 3, 2],
                  lambda x, axis=axis: x.squeeze(axis), {"axis": axis})
    indexing_cases(file)
    expand_cases(file)
    join_cases(file)
    split_cases(file)
