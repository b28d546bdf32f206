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

    def column(self, name: str) -> NDArray[Any]:
        """Returns one neuron or element [B, T], such as "neuron.3.17" or "resid_post.2.5"."""
        point, _, number = name.rpartition(".")
        if not point or not number.isdigit():
            raise ValueError(f"name: expected a column such as neuron.3.17, got '{name}'")
        full = point_name(point)
        values = self[full]
        if values.ndim != 3:
            raise ValueError(f"name: expected a point without heads, got '{name}'")
        items = self[full + "/items"].tolist() if full + "/items" in self else range(values.shape[2])
        if int(number) not in items:
            raise KeyError(name)
        return values[:, :, list(items).index(int(number))]

    def __missing__(self, key: str | tuple[str, int]) -> NDArray[Any]:
        short = key if isinstance(key, str) else ".".join(map(str, key))
        name = point_name(short)
        if name == key or name not in self:
            raise KeyError(key)
        return self[name]
