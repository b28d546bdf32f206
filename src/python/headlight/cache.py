"""Values of a pass by their names."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from ._headlight import point_name


class ActivationCache(dict[str | tuple[str, int], NDArray[Any]]):
    """Arrays by TransformerLens's names; short names ("z.3") and pairs ("z", 3) find them, too.

    `tokens` holds the labels of the tokens of each sequence.
    """

    def __init__(
        self,
        arrays: dict[str | tuple[str, int], NDArray[Any]] | None = None,
        tokens: list[list[str]] | None = None,
    ) -> None:
        super().__init__(arrays or {})
        self.tokens = tokens or []

    def __missing__(self, key: str | tuple[str, int]) -> NDArray[Any]:
        short = key if isinstance(key, str) else ".".join(map(str, key))
        name = point_name(short)
        if name == key or name not in self:
            raise KeyError(key)
        return self[name]
