"""The scores of heads as a table."""

from __future__ import annotations

import html
import importlib
from typing import Any

import numpy

_CELL = "padding: 1px 8px; text-align: {}; white-space: nowrap"
_MOST_ROWS = 400


class HeadTable(numpy.ndarray[Any, Any]):
    """Structured array with a row for each head; `table["induction"]` is one score [heads].

    A notebook shows it as a table.
    """

    def __getitem__(self, key: Any) -> Any:
        part = super().__getitem__(key)
        is_table = isinstance(part, HeadTable) and part.dtype.names is not None
        return part if is_table or not isinstance(part, HeadTable) else part.view(numpy.ndarray)

    def frame(self) -> Any:
        """Returns a pandas.DataFrame, with the names of heads as its index."""
        pandas = importlib.import_module("pandas")
        return pandas.DataFrame(self.view(numpy.ndarray)).set_index("head")

    def _repr_html_(self) -> str:
        table = numpy.atleast_1d(self.view(numpy.ndarray))
        shown = [name for name in table.dtype.names or () if _is_shown(name, table)]
        scores = [name for name in shown if table[name].dtype.kind == "f" and name != "best_offset"]
        shaded = {name for name in scores if _is_share(table[name])}
        head = "".join(
            f'<th style="{_CELL.format("left")}; position: sticky; top: 0; background: #fff">'
            f"{html.escape(name)}</th>"
            for name in shown
        )
        body = "".join(
            f"<tr>{''.join(_cell(row[name], name in shaded) for name in shown)}</tr>\n"
            for row in table[:_MOST_ROWS]
        )
        return (
            '<div style="overflow: auto; max-height: 480px; color: #1d2030; background: #fff">'
            f"<table><thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table></div>"
        )


def _is_shown(name: str, table: numpy.ndarray[Any, Any]) -> bool:
    """Returns whether a notebook shows a column: not the evidence of verdicts, nor columns of NaN."""
    if name in ("layer", "index", "settled") or name.startswith("verdict_"):
        return False
    return table[name].dtype.kind == "U" or bool(numpy.isfinite(table[name]).any())


def _is_share(column: numpy.ndarray[Any, Any]) -> bool:
    values = column[numpy.isfinite(column)]
    return bool((values >= 0).all() and (values <= 1).all())


def _cell(value: Any, is_shaded: bool) -> str:
    """Returns a cell, shaded by a score from 0 to 1."""
    if isinstance(value, str):
        return f'<td style="{_CELL.format("left")}">{html.escape(value)}</td>'
    if not numpy.isfinite(value):
        return "<td></td>"
    colour = f"; background: rgba(0, 90, 181, {0.6 * float(value):.2f})" if is_shaded else ""
    return f'<td style="{_CELL.format("right")}{colour}">{value:.3g}</td>'
