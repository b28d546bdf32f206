#!/usr/bin/env python3
"""Draws docs/pictures/rooms.svg: the folders of src, and which includes which.

usage: draw_rooms.py [--check]     (--check: exit code 1 if the picture is not the present one)

A row holds the folders whose longest chain of includes has the same length; the last row includes nothing. An arrow leads
from a folder to one that it includes; those that follow from two others are left out.
"""

import re
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PICTURE = ROOT / "docs/pictures/rooms.svg"
LIBRARIES = {"core": "#dbeafe", "formats": "#dcfce7", "insight": "#fef9c3", "serve": "#fde2e2", "programs": "#e9e5f5"}
OTHERS = {"formats": "formats", "runs": "formats", "interpret": "insight", "show": "insight", "questions": "insight", "serve": "serve",
          "cli": "programs", "python": "programs", "page": "programs", "course": "programs"}
WIDTH, HEIGHT, GAP_X, GAP_Y, MARGIN = 104, 26, 36, 24, 14


def includes() -> dict[str, set[str]]:
    """Folders of src with the folders whose headers they include."""
    rooms = {path.name for path in (ROOT / "src").iterdir() if path.is_dir()}
    edges = {room: set() for room in rooms}
    for top in (ROOT / "src", ROOT / "include/headlight"):
        for path in sorted(top.rglob("*")):
            room = path.relative_to(top).parts[0]
            if path.suffix not in (".cpp", ".h") or room not in rooms:
                continue
            for target in re.findall(r'^#include "(?:headlight/)?(\w+)/', path.read_text(), re.M):
                if target in rooms and target != room:
                    edges[room].add(target)
    return edges


def reduced(edges: dict[str, set[str]]) -> dict[str, set[str]]:
    """The edges that do not follow from two others."""
    def reach(room: str) -> set[str]:
        found = set()
        for target in edges[room]:
            found |= {target} | reach(target)
        return found

    return {room: {target for target in targets if not any(target in reach(other) for other in targets)}
            for room, targets in edges.items()}


def corners(edges: dict[str, set[str]]) -> dict[str, tuple[int, int]]:
    """Left upper corners of the boxes."""
    depth = {}

    def depth_of(room: str) -> int:
        if room not in depth:
            depth[room] = max((depth_of(target) + 1 for target in edges[room]), default=0)
        return depth[room]

    rows = defaultdict(list)
    for room in sorted(edges, key=lambda room: (depth_of(room), len(edges[room]), room)):
        rows[depth[room]].append(room)
    widest = max(len(row) for row in rows.values())
    result = {}
    for number, row in rows.items():
        left = MARGIN + (widest - len(row)) * (WIDTH + GAP_X) // 2
        for column, room in enumerate(row):
            result[room] = (left + column * (WIDTH + GAP_X), MARGIN + (len(rows) - 1 - number) * (HEIGHT + GAP_Y))
    return result


def arrow(begin: tuple[int, int], end: tuple[int, int]) -> str:
    """A curve from the lower side of a box to the upper side of another."""
    x, y, to_x, to_y = begin[0] + WIDTH // 2, begin[1] + HEIGHT, end[0] + WIDTH // 2, end[1]
    bend = min(60, (to_y - y) // 2)
    return (f'<path d="M{x} {y}C{x} {y + bend} {to_x} {to_y - bend} {to_x} {to_y}" fill="none" stroke="#64748b" '
            'marker-end="url(#end)"/>')


def picture() -> str:
    edges = includes()
    boxes = corners(edges)
    width = max(max(x for x, _ in boxes.values()) + WIDTH + MARGIN, 84 * len(LIBRARIES) + MARGIN + 20)
    height = max(y for _, y in boxes.values()) + HEIGHT + 2 * MARGIN + 20
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
             'font-family="sans-serif" font-size="13">',
             '<defs><marker id="end" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
             '<path d="M0 0 8 4 0 8z" fill="#64748b"/></marker></defs>',
             f'<rect width="{width}" height="{height}" fill="white"/>']
    lines += [arrow(boxes[room], boxes[target]) for room, targets in sorted(reduced(edges).items())
              for target in sorted(targets)]
    for room, (x, y) in sorted(boxes.items()):
        colour = LIBRARIES[OTHERS.get(room, "core")]
        lines.append(f'<rect x="{x}" y="{y}" width="{WIDTH}" height="{HEIGHT}" rx="5" fill="{colour}" stroke="#334155"/>'
                     f'<text x="{x + WIDTH // 2}" y="{y + 18}" text-anchor="middle" fill="#0f172a">{room}</text>')
    for number, (name, colour) in enumerate(LIBRARIES.items()):
        x = MARGIN + number * 84
        lines.append(f'<rect x="{x}" y="{height - 24}" width="14" height="14" fill="{colour}" stroke="#334155"/>'
                     f'<text x="{x + 19}" y="{height - 12}" fill="#0f172a">{name}</text>')
    return "\n".join(lines) + "\n</svg>\n"


def main() -> None:
    if sys.argv[1:] == ["--check"]:
        if PICTURE.read_text() != picture():
            sys.exit(f"{PICTURE.relative_to(ROOT)} is not the picture of the present includes: run tools/draw_rooms.py")
    elif len(sys.argv) == 1:
        PICTURE.write_text(picture())
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
