"""Figures of attention, heads, texts, losses and models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy
from numpy.typing import ArrayLike, NDArray

from ._headlight import Example, Model, Result
from ._headlight.plot import (
    Figure,
    attention_maps,
    heads,
    loss,
    matrix,
    model,
    model_view,
    scatter,
    score_scatter,
    texts,
    token_circuit,
    value_weighted,
)
from .cache import ActivationCache, Cell

__all__ = [
    "Figure",
    "attention",
    "attention_difference",
    "attention_maps",
    "attribution",
    "heads",
    "loss",
    "matrix",
    "model",
    "model_view",
    "ov_circuit",
    "qk_circuit",
    "scatter",
    "scores_and_ablation",
    "text",
    "texts",
    "top_examples",
    "value_weighted",
]


def attention(
    cache: ActivationCache,
    layer: int,
    head: int | None = None,
    *,
    sequence: int = 0,
    lang: str = "en",
) -> Figure:
    """Draws the attention patterns of a layer, or of one head, in one sequence of a cache.

    Tokens that cut a character share a row and a column.
    """
    heads = cache.heads(("pattern", layer)) if head is None else [head]
    maps, tokens = _patterns(cache, layer, heads, sequence)
    return attention_maps(
        maps, tokens, layer=layer, heads=heads, lang=lang, cells=cache.cells[sequence]
    )


def attention_difference(
    cache: ActivationCache,
    other: ActivationCache,
    layer: int,
    head: int | None = None,
    *,
    sequence: int = 0,
    other_sequence: int = 0,
    lang: str = "en",
) -> Figure:
    """Draws patterns minus those of another cache with as many tokens: blue above 0, orange below.

    A token that differs has the label "first/second". Heads that one of the models lacks are left out.
    """
    others = other.heads(("pattern", layer))
    heads = [h for h in cache.heads(("pattern", layer)) if h in others] if head is None else [head]
    maps, tokens = _patterns(cache, layer, heads, sequence)
    other_maps, other_tokens = _patterns(other, layer, heads, other_sequence)
    if len(tokens) != len(other_tokens):
        raise ValueError(f"other: expected {len(tokens)} tokens, got {len(other_tokens)}")
    labels = [a if a == b else f"{a}/{b}" for a, b in zip(tokens, other_tokens)]
    return attention_maps(
        maps - other_maps,
        labels,
        layer=layer,
        heads=heads,
        differences=True,
        lang=lang,
        cells=_common_cells(cache.cells[sequence], other.cells[other_sequence]),
    )


def attribution(result: Result) -> Figure:
    """Draws attribution against patching, of `Model.patch(..., method="both")`."""
    if "recovered" not in result or "attribution" not in result:
        raise ValueError('result: expected one of patch(..., method="both")')
    return scatter(
        result["attribution"],
        result["recovered"],
        _cell_names(result, "recovered"),
        title="Attribution against patching",
        x_label="attributed (gradient)",
        y_label="recovered (patched)",
        diagonal=True,
    )


def scores_and_ablation(
    scores: NDArray[Any], ablation: Result, score: str = "induction"
) -> Figure:
    """Draws a score of `Model.head_scores()` against the rise of `Model.ablate()`."""
    rises = ablation["rise"]
    chosen = [row for row in scores if row["layer"] < len(rises) and row["index"] < rises.shape[1]]
    return score_scatter(
        numpy.array([row[score] for row in chosen]),
        numpy.array([rises[row["layer"], row["index"]] for row in chosen]),
        [str(row["head"]) for row in chosen],
        score,
        str(ablation.summary["metric"]),
    )


def ov_circuit(
    model: Model, layer: int, head: int, tokens_in: ArrayLike, tokens_out: ArrayLike | None = None
) -> Figure:
    """Draws how much attending to each token (rows) raises the logits of tokens (columns)."""
    return _token_circuit(model, "ov_circuit", (layer, head), tokens_in, tokens_out)


def qk_circuit(
    model: Model, layer: int, head: int, tokens_in: ArrayLike, tokens_out: ArrayLike | None = None
) -> Figure:
    """Draws the attention scores of query tokens (rows) for key tokens (columns)."""
    return _token_circuit(model, "qk_circuit", (layer, head), tokens_in, tokens_out)


def text(
    cache: ActivationCache,
    points: str | Sequence[str],
    *,
    sequence: int = 0,
    title: str = "",
) -> Figure:
    """Colours a text by neurons or other columns, such as "neuron.3.17" or "resid_post.2.5".

    The cache must hold the points, with all or with these columns. A character of several tokens
    has the colour of its value furthest from 0.
    """
    names = [points] if isinstance(points, str) else list(points)
    tokens = cache.tokens[sequence]
    values = [cache.column(name)[sequence, : len(tokens)] for name in names]
    cells = [cache.cells[sequence]] * len(names)
    return texts([tokens] * len(names), values, names, title=title, cells=cells)


def top_examples(examples: Sequence[Example], title: str = "Most active texts") -> Figure:
    """Colours the texts of `Model.top_examples()`; a frame marks the most active token."""
    return texts(
        [example.tokens for example in examples],
        [example.values for example in examples],
        [
            f"{example.value:.4g}, text {example.sequence}, token {example.position}"
            for example in examples
        ],
        marked=[example.position - example.begin for example in examples],
        title=title,
        cells=[example.cells for example in examples],
    )


def _patterns(
    cache: ActivationCache, layer: int, heads: list[int], sequence: int
) -> tuple[NDArray[Any], list[str]]:
    tokens = cache.tokens[sequence]
    places = [cache.place(("pattern", layer), head) for head in heads]
    maps = cache["pattern", layer][sequence, :, : len(tokens), : len(tokens)]
    return maps[places], tokens


def _common_cells(cells: list[Cell], others: list[Cell]) -> list[Cell]:
    """Returns the smallest cells that end where cells of both sequences end."""
    ends = sorted({end for _, end, _ in cells} & {end for _, end, _ in others})

    def label(of: list[Cell], begin: int, end: int) -> str:
        return "".join(text for first, _, text in of if begin <= first < end)

    pairs = [(begin, end) for begin, end in zip([0, *ends], ends)]
    names = [(label(cells, *pair), label(others, *pair)) for pair in pairs]
    return [(*pair, a if a == b else f"{a}/{b}") for pair, (a, b) in zip(pairs, names)]


def _cell_names(result: Result, name: str) -> list[str]:
    """Returns the labels of the cells of a grid in order: "3.1", or "3 @5 the" with positions."""
    values = result[name]
    axes = [axis for axis in ("layer", "head", "position", "group") if _has_axis(result, axis)]
    labels = [result.labels(axis) for axis in axes][: values.ndim]
    if [len(axis) for axis in labels] != list(values.shape):
        labels = [[str(i) for i in range(size)] for size in values.shape]
    if values.ndim == 1:
        return labels[0]
    mark = "." if axes[1:2] == ["head"] else " @"
    return [f"{row}{mark}{column}" for row in labels[0] for column in labels[1]]


def _has_axis(result: Result, axis: str) -> bool:
    try:
        result.labels(axis)
    except KeyError:
        return False
    return True


def _token_circuit(
    model: Model,
    kind: str,
    head: tuple[int, int],
    tokens_in: ArrayLike,
    tokens_out: ArrayLike | None,
) -> Figure:
    columns = tokens_in if tokens_out is None else tokens_out
    values = getattr(model, kind)(*head, tokens_in, columns)
    labels = (_labels(model, tokens_in), _labels(model, columns))
    return token_circuit(values, *labels, kind.removesuffix("_circuit"), *head)


def _labels(model: Model, tokens: ArrayLike) -> list[str]:
    ids = model.tokenizer.encode(tokens) if isinstance(tokens, str) else numpy.ravel(tokens)
    return [model.tokenizer.token(int(token)).replace(" ", "·") for token in ids]
