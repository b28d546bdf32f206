"""SVG pieces that the pictures of growth and of optimizers share."""

from collections.abc import Iterable
from xml.sax.saxutils import escape

INK, FAINT, GRID = "#22262b", "#6b7178", "#e6e8eb"


def text(x, y, words, anchor="start", fill=INK, size=12, bold=False, italic=False) -> str:
    style = (' font-weight="600"' if bold else "") + (' font-style="italic"' if italic else "")
    return (f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{fill}" paint-order="stroke" stroke="#fff" '
            f'stroke-width="4" stroke-linejoin="round" font-size="{size}"{style}>{escape(words)}</text>')


def path(places: Iterable[tuple[float, float]], stroke: str, **more) -> str:
    """A line through places; `more`: attributes, with _ for -."""
    points = "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
    style = "".join(f' {name.replace("_", "-")}="{value}"' for name, value in more.items())
    return f'<path d="M{points}" fill="none" stroke="{stroke}" stroke-linejoin="round"{style}/>'


def document(width: float, height: float, parts: Iterable[str]) -> str:
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
            'font-family="system-ui, Segoe UI, Helvetica, Arial, sans-serif"><rect width="100%" height="100%" fill="#fff"/>'
            + "".join(parts) + "</svg>\n")
