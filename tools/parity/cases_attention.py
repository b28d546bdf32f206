"""Attention: dense with masks, ragged and cached."""

from functools import partial

import torch
import torch.nn.functional as F

import philox
from case_file import Case, CaseFile, In
from cases_softmax import first_seen

INPUTS = [  # query, key, value and their memory layout
    ("one head", "t4 d3", "s5 d3", "s5 e2", "contiguous"),
    ("heads", "b2 h3 t4 d5", "b2 h3 s6 d5", "b2 h3 s6 d5", "contiguous"),
    ("one query", "b2 h2 1 d4", "b2 h2 s5 d4", "b2 h2 s5 e3", "contiguous"),
    ("one key", "b2 h2 t3 d4", "b2 h2 1 d4", "b2 h2 1 e3", "contiguous"),
    ("width 1", "h2 t3 1", "h2 s4 1", "h2 s4 1", "contiguous"),
    ("no sequences", "0 t3 d4", "0 s3 d4", "0 s3 e2", "contiguous"),
    ("transposed", "b2 t4 d3", "b2 s5 d3", "b2 s5 e4", "transposed"),
    ("sliced", "b2 t4 d3", "b2 s5 d3", "b2 s5 e4", "sliced"),
]


def hidden_by(case: Case, kind: str, queries: int, keys: int) -> torch.Tensor | None:
    """The mask of this kind, true = hidden, with an input of its own where it needs one."""
    if kind in ("causal", "causal and random"):
        case.attributes["causal"] = True
    future = torch.ones(queries, keys, dtype=torch.bool).triu(keys - queries + 1)
    if kind == "causal":
        return future
    if "random" in kind or kind == "a row hidden":
        mask = case.booleans((queries, keys))
        mask[0, :] = kind == "a row hidden"
        case.input("mask", mask)
        return mask | future if kind == "causal and random" else mask
    return None


def inputs_of(case: Case, query: str, key: str, value: str, view: str = "contiguous") -> list[torch.Tensor]:
    return case.inputs_of({"query": In(query, view), "key": In(key, view), "value": In(value, view)})


def dense(case: Case, shapes: tuple, view: str, kind: str, scale: float) -> None:
    query, key, value = inputs_of(case, *shapes, view)
    hidden = hidden_by(case, kind, query.shape[-2], key.shape[-2])
    bias = None
    if kind == "added":
        bias = case.input("bias", case.normal((query.shape[-2], key.shape[-2])))
    mask = ~hidden if hidden is not None else bias
    y = F.scaled_dot_product_attention(query, key, value, attn_mask=mask, scale=scale or None)
    case.output("y", y)
    scores = query @ key.mT * (scale or query.shape[-1] ** -0.5)
    if hidden is not None:
        scores = scores.masked_fill(hidden, float("-inf"))
    weights = torch.softmax(scores + bias if bias is not None else scores, -1)
    everything_hidden = hidden is not None and bool(hidden.all(-1).any())
    # For a fully hidden row, PyTorch's softmax is NaN and Headlight's is 0.
    case.output("weights", torch.nan_to_num(weights), seed=not everything_hidden)


def dense_cases(file: CaseFile) -> None:
    op = "scaled_dot_product_attention"
    for what, *shapes, view in INPUTS:
        for kind in ("all seen", "causal", "random", "causal and random", "a row hidden", "added"):
            for scale in (0.0, 0.6) if kind == "all seen" else (0.0,):

                def build(case: Case) -> None:
                    dense(case, tuple(shapes), view, kind, scale)

                frozen = what in ("heads", "sliced") or kind in ("causal", "a row hidden")
                file.both(op, f"{what}, {kind}, scale {scale}", build, frozen, attributes={"scale": scale})

    def dropped(query, key, value) -> torch.Tensor:
        weights = torch.softmax(query @ key.mT * query.shape[-1] ** -0.5, -1)
        return weights * philox.keep_mask(tuple(weights.shape), 0.3, 11, 5) / 0.7 @ value

    inputs = {name: In("b2 h3 t5 d4") for name in ("query", "key", "value")}
    file.op(op, "PyTorch's own is_causal", partial(F.scaled_dot_product_attention, is_causal=True),
            {name: In("b2 h2 t5 d4") for name in inputs}, attributes={"causal": True})
    file.op(op, "one mask per sequence", lambda *qkv_mask: F.scaled_dot_product_attention(
        *qkv_mask[:3], attn_mask=~qkv_mask[3]), inputs | {"mask": In("b2 1 t5 t5", "transposed", first_seen)})
    file.op(op, "dropout", dropped, inputs, attributes={"dropout": 0.3, "seed": 11, "stream": 5})


def ragged_keep(case: Case, first: int, count: int, heads: int) -> torch.Tensor:
    """Dropout of one sequence's weights [H, T, T]: a row of weights has numbers of its own."""
    rows = (torch.arange(first, first + count)[None, :] * heads + torch.arange(heads)[:, None])
    positions = rows[:, :, None] * 2**24 + torch.arange(count)
    return philox.keep_at(positions, case.attributes["dropout"], case.attributes["seed"], case.attributes["stream"])


def ragged(case: Case, lengths: list[int], heads: int, width: int, view: str) -> None:
    case.attributes["heads"] = heads
    qkv = case.input("qkv", case.normal((sum(lengths), 3 * heads * width)), view)
    offsets = [0, *torch.tensor(lengths).cumsum(0).tolist()]
    case.input("offsets", torch.tensor(offsets))
    probability = case.attributes.get("dropout", 0.0)
    outputs = []
    for number, (first, last) in enumerate(zip(offsets, offsets[1:], strict=False)):
        count = last - first
        query, key, value = qkv[first:last].reshape(count, 3, heads, width).permute(1, 2, 0, 3)
        scores = query @ key.mT * (case.attributes.get("scale", 0.0) or width**-0.5)
        future = torch.ones(count, count, dtype=torch.bool).triu(1)
        weights = torch.softmax(scores.masked_fill(future, float("-inf")), -1)
        case.output(f"weights{number}", weights, seed=False)
        if probability:
            keep = ragged_keep(case, first, count, heads)
            y = weights * keep / (1 - probability) @ value
        else:
            scale = case.attributes.get("scale", 0.0) or None
            y = F.scaled_dot_product_attention(query, key, value, attn_mask=~future, scale=scale)
        outputs.append(y.transpose(0, 1).reshape(count, heads * width))
    case.output("y", torch.cat(outputs))


def ragged_cases(file: CaseFile) -> None:
    for what, lengths, heads, width in (("lengths 3, 1 and 5", [3, 1, 5], 2, 4),
                                        ("one token", [1], 1, 1), ("an empty sequence", [2, 0, 3], 2, 3),
                                        ("longer than a tile", [66, 9], 1, 5)):
        for view in ("contiguous", "transposed", "sliced"):
            for attributes in ({}, {"scale": 0.4}, {"dropout": 0.3, "seed": 3, "stream": 9}):
                if what == "longer than a tile" and (view != "contiguous" or "seed" not in attributes):
                    continue

                def build(case: Case) -> None:
                    sizes = [case.size(n, 1, 40) if n else 0 for n in lengths]
                    ragged(case, sizes, case.size(heads, 1, 4), case.size(width, 1, 9), view)

                name = ", ".join([what, view, *(f"{k} {v}" for k, v in attributes.items())])
                file.both("ragged_attention", name, build, view == "contiguous" or not attributes,
                          attributes=attributes)


def cached_cases(file: CaseFile) -> None:
    for what, queries, length, room in (("one query", 1, 5, 8), ("three queries", 3, 5, 5),
                                        ("the first tokens", 4, 4, 6), ("a long past", 1, 90, 96)):

        def build(case: Case) -> None:
            heads, width = case.size(2, 1, 4), case.size(4, 1, 9)
            query, keys, values = case.inputs_of({"query": In((queries, heads * width), gradient=False),
                                                  "keys": In((heads, room, width), gradient=False),
                                                  "values": In((heads, room, width), gradient=False)})
            case.attributes["length"] = length
            future = torch.ones(queries, length, dtype=torch.bool).triu(length - queries + 1)
            y = F.scaled_dot_product_attention(query.reshape(queries, heads, width).transpose(0, 1),
                                               keys[:, :length], values[:, :length], attn_mask=~future)
            case.output("y", y.transpose(0, 1).reshape(queries, heads * width))

        file.both("cached_attention", what, build)


def build(file: CaseFile) -> None:
    file.rung = "attention"
    dense_cases(file)
    ragged_cases(file)
    cached_cases(file)
