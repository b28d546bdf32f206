"""Values of a pass by their names."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from ._headlight import point_name

Cell = tuple[int, int, str]


class ActivationCache(dict[str | tuple[str, int], NDArray[Any]]):
    """Arrays by TransformerLens's names; short names ("z.3") and pairs ("z", 3) find them, too.

    `tokens` holds the labels of the tokens of each sequence, and `cells` the characters that they
    form: (first token, one past the last, label). Tokens that cut a character share a cell.
    """

    def __init__(
        self,
        arrays: dict[str | tuple[str, int], NDArray[Any]] | None = None,
        tokens: list[list[str]] | None = None,
        cells: list[list[Cell]] | None = None,
    ) -> None:
        super().__init__(arrays or {})
        self.tokens = tokens or []
        self.cells = cells or [[(i, i + 1, label) for i, label in enumerate(labels)] for labels in self.tokens]

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

    def heads(self, name: str | tuple[str, int]) -> list[int]:
        """Returns the numbers of the heads of a point, such as "z.3": 0, 1, 2 ... unless some were pruned."""
        values = self[name]
        full = _full_name(name)
        if values.ndim != 4:
            raise ValueError(f"name: expected a point with heads, got '{name}'")
        items = full + "/items"
        axis = 1 if full.endswith(("hook_pattern", "hook_attn_scores")) else 2
        return [int(number) for number in self[items]] if items in self else list(range(values.shape[axis]))

    def place(self, name: str | tuple[str, int], head: int) -> int:
        """Returns the index of a head in the axis of heads of a point: cache["z.3"][:, :, cache.place("z.3", 5)]."""
        heads = self.heads(name)
        if head not in heads:
            raise ValueError(f"head: {_full_name(name)} has the heads {heads}, got {head}")
        return heads.index(head)

    def __contains__(self, key: object) -> bool:
        if super().__contains__(key):
            return True
        try:
            return super().__contains__(_full_name(key))  # type: ignore[arg-type]
        except (TypeError, ValueError):
            return False  # no name of a point

    def get(self, key: Any, default: Any = None) -> Any:
        """Returns the array of a name, short or TransformerLens's; `default` if there is none."""
        return self[key] if key in self else default

    def copy(self) -> ActivationCache:
        """Returns a cache of the same arrays, with their tokens and heads."""
        return ActivationCache(dict(self), self.tokens, self.cells)

    def __missing__(self, key: str | tuple[str, int]) -> NDArray[Any]:
        name = _full_name(key)
        if name == key or name not in self:
            raise KeyError(key)
        return self[name]


def _full_name(key: str | tuple[str, int]) -> str:
    return point_name(key if isinstance(key, str) else ".".join(map(str, key)))
