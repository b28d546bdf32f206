"""Views and rearrangements: exact."""

import torch

from case_file import Case, CaseFile, In

VIEWS = ("contiguous", "transposed", "sliced")
RESHAPES = [("two axes to three", (3, 8), [3, 2, 4]), ("to a vector", (2, 3, 4), [-1]),
            ("axes of size 1", (6,), [1, 2, 1, 3, 1]), ("no elements", (0, 3), [3, 0]),
            ("one element to a scalar", (1, 1), [])]
SLICES = [("the middle", 1, 1, 3, 1), ("every second", 0, 0, 100, 2), ("from the end", -1, -3, -1, 1),
          ("nothing", 1, 2, 2, 1), ("clamped", 0, -100, 100, 3)]
EXPANDS = [("a row", "b4", "a3 b4"), ("a column", "a3 1", "a3 c5"),
           ("new axes", "1 b4", "a2 c3 b4"), ("to nothing", "1 b3", "0 b3"), ("a scalar", "", "a2 b3")]


THREE = "a2 b3 c4"
# Op, case, shape, attributes, function; in every view that the shape has.
VIEW_OPS = [
    *(("reshape", what, shape, {"shape": to}, lambda x, to=to: x.reshape(to)) for what, shape, to in RESHAPES),
    *(("transpose", f"axes {a} and {b}", THREE, {"a": a, "b": b}, lambda x, a=a, b=b: x.transpose(a, b))
      for a, b in ((-2, -1), (0, 2), (1, 1))),
    *(("permute", f"order {order}", THREE, {"order": order}, lambda x, order=order: x.permute(order))
      for order in ([2, 0, 1], [0, 1, 2], [1, 0, 2])),
    *(("slice", what, (5, 6), {"axis": axis, "start": start, "end": end, "step": step},
       lambda x, axis=axis, span=slice(start, end, step): x[span] if axis == 0 else x[:, span])
      for what, axis, start, end, step in SLICES),
    ("contiguous", "three axes", THREE, {}, lambda x: x.contiguous()),
    *(("select", f"{index} of axis {axis}", (2, 3, 4), {"axis": axis, "index": index},
       lambda x, axis=axis, index=index: x.select(axis, index)) for axis, index in ((0, 1), (1, -1), (-1, 0))),
    *(("unsqueeze", f"axis {axis}", "a2 b3", {"axis": axis}, lambda x, axis=axis: x.unsqueeze(axis))
      for axis in (0, 1, -1)),
    ("squeeze", "all axes", (1, 3, 1, 2), {}, lambda x: x.squeeze()),
    *(("squeeze", f"axis {axis}", (1, 3, 2), {"axis": axis}, lambda x, axis=axis: x.squeeze(axis)) for axis in (0, -1)),
]
JOINS = [(0, ("a2 b3", "0 b3", "c4 b3")), (1, ("a2 b3", "a2 1", "a2 c2")), (-1, ("a2 d2 b3", "a2 d2 c1"))]
GATHERED = {0: "d2 b4 c2", 1: "a3 d5 c2", -1: "a3 b4 d3"}  # shapes of the indices along each axis


def joined_cases(file: CaseFile) -> None:
    for what, shape, to in EXPANDS:

        def expand(case: Case) -> None:
            x = case.input("x", case.normal(shape))
            target = case.shape(to)
            case.attributes["shape"] = list(target)
            case.output("y", x.expand(target))

        file.both("expand", what, expand)
    for axis, shapes in JOINS:
        file.op("concat", f"axis {axis}", lambda *parts: torch.cat(parts, axis),
                {f"x{i}": In(shape, VIEWS[i]) for i, shape in enumerate(shapes)},
                attributes={"axis": axis, "count": len(shapes)})
    for axis in (0, 1, -1):
        file.op("stack", f"axis {axis}", lambda *parts: torch.stack(parts, axis),
                {f"x{i}": In("a2 b3", view) for i, view in enumerate(VIEWS)}, attributes={"axis": axis, "count": 3})
    for size, axis in ((2, 0), (3, 1), (100, -1)):
        for view in VIEWS:
            file.op("split", f"{size} along {axis}, {view}",
                    lambda x: {f"y{i}": part for i, part in enumerate(torch.split(x, size, axis))},
                    {"x": In("a5 b7", view)}, attributes={"size": size, "axis": axis})


def indexing_cases(file: CaseFile) -> None:
    for axis in (0, 1, -1):
        for view in VIEWS:

            def topk(case: Case) -> None:
                x = case.input("x", case.normal("a3 b4 c2"), view)
                case.attributes["k"] = case.integer(0, x.shape[axis])
                for name, values in zip(("values", "indices"), torch.topk(x, case.attributes["k"], axis)):
                    case.output(name, values)

            attributes = {"axis": axis, "keepdim": axis == 0}
            indices = In(GATHERED[axis], draw=lambda case, shape: case.integers(shape, case.shape("a3 b4 c2")[axis]))
            file.op("gather", f"axis {axis}, {view}", lambda x, indices: torch.gather(x, axis, indices),
                    {"x": In("a3 b4 c2", view), "indices": indices}, attributes=attributes)
            file.both("topk", f"axis {axis}, {view}", topk, attributes=attributes)
            file.op("argmax", f"axis {axis}, {view}", lambda x: torch.argmax(x, axis, keepdim=axis == 0),
                    {"x": In("a3 b4 c2", view, gradient=False)}, attributes=attributes)
    file.op("argmax", "all elements, equal ones", torch.argmax, {
        "x": In("a3 b4", draw=lambda case, shape: case.normal(shape).round(), gradient=False)})


def build(file: CaseFile) -> None:
    file.rung = "layout"
    for op, what, shape, attributes, function in VIEW_OPS:
        for view in VIEWS:
            file.op(op, f"{what}, {view}", function, {"x": In(shape, view)}, attributes=attributes)
    indexing_cases(file)
    joined_cases(file)
