"""Layers, and modules that are written in Python."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy

from ._headlight import Tensor, ops
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
    "Subspace",
    "Torch",
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


class Subspace(Module):
    """A subspace of activations that is learned (distributed alignment search, arXiv 2303.02536).

    Parameters
    ----------
    width : C, the width of the activations.
    size : K, the dimensions of the subspace, at most C.
    seed : number of the random directions at the start.
    """

    def __init__(self, width: int, size: int, *, seed: int = 0) -> None:
        if not 1 <= size <= width:
            raise ValueError(f"size: expected 1 to {width}, got {size}")
        values = numpy.random.default_rng(seed).normal(size=(size, width)) / width**0.5
        self.directions = Tensor(values, dtype="float32", requires_grad=True)

    def basis(self) -> Tensor:
        """Returns K orthonormal rows [K, C] that span the directions, by Gram and Schmidt."""
        basis = _unit(self.directions[:1])
        for i in range(1, len(self.directions)):
            row = self.directions[i : i + 1]
            for _ in range(2):  # again, for what rounding left
                row = row - (row @ ops.transpose(basis)) @ basis
            basis = ops.concat([basis, _unit(row)])
        return basis

    def forward(self, base: Any, source: Any) -> Tensor:
        """Returns `base` [..., C] with the part of `source` in the subspace in place of its own."""
        basis = self.basis()
        moved = ops.linear(source - base, basis)
        result: Tensor = base + ops.linear(moved, ops.transpose(basis))
        return result


class Torch(Module):
    """A module or function of PyTorch as a layer: from tensors to one tensor, through DLPack.

    `backward()` also adds to the gradients of its own parameters, which an optimizer of PyTorch
    changes. It must not change its inputs in place.
    """

    def __init__(self, module: Callable[..., Any]) -> None:
        self.module = module

    def forward(self, *inputs: Any) -> Tensor:
        """Returns the module's output of tensors and arrays."""
        recorded = Tensor([0.0], requires_grad=True)  # own parameters learn from constants, too
        return ops.custom(self._compute, recorded, *inputs)

    def _compute(self, _: Tensor, *inputs: Tensor) -> tuple[Any, Callable[[Tensor], list[Any]]]:
        torch = importlib.import_module("torch")
        own = [torch.from_dlpack(tensor) for tensor in inputs]
        own = [tensor.requires_grad_(tensor.is_floating_point()) for tensor in own]
        with torch.enable_grad():
            value = self.module(*own)

        def gradient(of_value: Tensor) -> list[Any]:
            for tensor in own:
                tensor.grad = None
            value.backward(torch.from_dlpack(of_value), retain_graph=True)
            return [None, *(tensor.grad for tensor in own)]

        return value.detach(), gradient


def _unit(row: Tensor) -> Tensor:
    return row / ops.sqrt(ops.sum(row * row))


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
