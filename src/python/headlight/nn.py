"""Layers, and modules that are written in Python."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ._headlight import Tensor
from ._headlight.nn import (
    Dropout,
    Embedding,
    Gpt,
    Layer,
    LayerNorm,
    Linear,
    Mlp,
    MultiHeadAttention,
)

__all__ = [
    "Dropout",
    "Embedding",
    "Gpt",
    "Layer",
    "LayerNorm",
    "Linear",
    "Mlp",
    "Module",
    "MultiHeadAttention",
]


class Module:
    """A part of a model: its attributes hold tensors, layers and modules, also in lists."""

    def forward(self, *inputs: Any) -> Any:
        """Computes the output; a subclass defines it."""
        raise NotImplementedError

    def __call__(self, *inputs: Any) -> Any:
        return self.forward(*inputs)

    def parameters(self) -> dict[str, Tensor]:
        """Returns the tensors that require gradients, by the dotted names of their attributes."""
        return dict(_parameters(vars(self)))

    def zero_grad(self) -> None:
        """Drops all gradients."""
        for tensor in self.parameters().values():
            tensor.zero_grad()


def _parameters(parts: dict[str, Any]) -> Iterator[tuple[str, Tensor]]:
    for name, part in parts.items():
        if isinstance(part, Tensor):
            if part.requires_grad:
                yield name, part
        elif isinstance(part, (Module, Layer)):
            yield from ((f"{name}.{inner}", tensor) for inner, tensor in part.parameters().items())
        elif isinstance(part, (list, tuple)):
            numbered = {f"{name}.{i}": item for i, item in enumerate(part)}
            yield from _parameters(numbered)
