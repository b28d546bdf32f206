"""Figures of attention, heads, losses and models."""

from __future__ import annotations

from ._headlight.plot import Figure, attention_maps, heads, loss, model, model_view
from .cache import ActivationCache

__all__ = ["Figure", "attention", "attention_maps", "heads", "loss", "model", "model_view"]


def attention(
    cache: ActivationCache, layer: int, head: int | None = None, *, sequence: int = 0
) -> Figure:
    """Draws the attention patterns of a layer, or of one head, in one sequence of a cache."""
    tokens = cache.tokens[sequence]
    maps = cache["pattern", layer][sequence, :, : len(tokens), : len(tokens)]
    if head is None:
        return attention_maps(maps, tokens, layer=layer)
    return attention_maps(maps[head : head + 1], tokens, layer=layer, heads=[head])
