"""Draws the numbers of growth.sh: a panel for every size, time above, memory below, both axes logarithmic. Dotted lines
show growth in proportion to the size. Plain Python."""

import argparse
import json
import math
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from chart import FAINT, GRID, document, path, text

WIDTH, COLUMNS = 1180, 3
LEFT, TOP, GAP_X, GAP_Y = 64, 96, 84, 92
PLOT_W = (WIDTH - LEFT - 40 - (COLUMNS - 1) * GAP_X) / COLUMNS
TIME_H, MEMORY_H, BETWEEN = 150, 84, 34
TIME, MEMORY, PROPORTION = "#c2571a", "#27669e", "#a9afb6"
DOTTED = dict(stroke_dasharray="1.5 4", stroke_linecap="round", stroke_width=1.5)


@dataclass(frozen=True)
class Point:
    value: float
    ms: float
    mib: float


def read_points(path: str) -> dict[str, list[Point]]:
    """Points by size, in the order of the file that compare.sh --json wrote: medians, and the extremes of the time."""
    sizes: dict[str, list[Point]] = {}
    for row, reports in json.loads(Path(path).read_text()).items():
        size, value = row.rsplit(" ", 1)
        times, peaks = ([report[key] for report in reports["Headlight"]] for key in ("ms_per_step", "peak_rss_mib"))
        sizes.setdefault(size, []).append(Point(float(value), median(times), median(peaks)))
    return sizes


def short(value: float) -> str:
    """Three digits: 0.42, 7.3, 118, 2.4k."""
    if value >= 10000:
        return f"{value / 1000:.0f}k"
    if value >= 1000:
        return f"{value / 1000:.2g}k" if value < 9950 else "10k"
    return f"{value:.0f}" if value >= 10 else f"{value:.2g}"


def ticks(low: float, high: float) -> list[float]:
    """1, 10, 100 ...; with 2 and 5 between when there would be fewer than three."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for steps in ((1,), (1, 3), (1, 2, 5)):
        found = [step * 10.0**d for d in decades for step in steps]
        found = [tick for tick in found if low <= tick <= high]
        if len(found) >= 3:
            break
    return found


class Panel:
    """One plot with logarithmic axes; (x, y) is its upper left corner."""

    def __init__(self, x: float, y: float, height: float, xs: list[float], ys: list[float]):
        self.x, self.y, self.height = x, y, height
        # The axis spans at least a factor of four, so that small changes look flat.
        middle = math.sqrt(min(ys) * max(ys))
        self.low = min(min(ys) / 1.4, middle / 2)
        self.high = max(max(ys) * 1.4, middle * 2)
        self.first, self.last = min(xs), max(max(xs), 2 * min(xs))

    def px(self, value: float) -> float:
        return self.x + PLOT_W * math.log(value / self.first) / math.log(self.last / self.first)

    def py(self, value: float) -> float:
        return self.y + self.height * math.log(self.high / value) / math.log(self.high / self.low)

    def frame(self, unit: str) -> str:
        parts = []
        for tick in ticks(self.low, self.high):
            y = self.py(tick)
            if y < self.y + 14:
                continue  # leaves room for the unit
            parts.append(path([(self.x, y), (self.x + PLOT_W, y)], GRID))
            parts.append(text(self.x - 8, y + 4, short(tick), anchor="end", fill=FAINT))
        parts.append(text(self.x - 8, self.y + 2, unit, anchor="end", fill=FAINT, italic=True))
        return "".join(parts)

    def proportional(self, start: float, falling: bool) -> str:
        """Returns the line of growth in proportion, cut at the edges of the panel."""
        end = start * self.first / self.last if falling else start * self.last / self.first
        edge = min(max(end, self.low), self.high)
        stop = self.first * (start / edge if falling else edge / start)
        places = [(self.px(self.first), self.py(start)), (self.px(stop), self.py(edge))]
        return path(places, PROPORTION, **DOTTED)

    def curve(self, xs: list[float], ys: list[float], colour: str) -> str:
        places = [(self.px(x), self.py(y)) for x, y in zip(xs, ys)]
        dots = "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.2"/>' for x, y in places)
        ends = "".join(text(x - shift, y - 9, short(value), anchor="start" if shift > 0 else "end", fill=colour, bold=True)
                       for (x, y), value, shift in ((places[0], ys[0], 5), (places[-1], ys[-1], -5)))
        return path(places, colour, stroke_width=2) + f'<g fill="{colour}" stroke="#fff" stroke-width="1.2">{dots}</g>{ends}'


def size_panel(name: str, points: list[Point], x: float, y: float) -> str:
    xs = [point.value for point in points]
    times, peaks = [point.ms for point in points], [point.mib for point in points]
    above = Panel(x, y, TIME_H, xs, times)
    below = Panel(x, y + TIME_H + BETWEEN, MEMORY_H, xs, peaks)
    parts = [text(x, y - 22, name, size=15, bold=True), above.frame("ms"), below.frame("MiB")]
    falling = name == "threads"
    parts.append(above.proportional(times[0], falling))
    if not falling:
        parts.append(below.proportional(peaks[0], False))
    parts += [above.curve(xs, times, TIME), below.curve(xs, peaks, MEMORY)]
    bottom = y + TIME_H + BETWEEN + MEMORY_H
    parts.append(path([(x, bottom), (x + PLOT_W, bottom)], FAINT))
    parts += [text(above.px(value), bottom + 17, f"{value:.0f}", anchor="middle", fill=FAINT, size=11) for value in xs]
    return "".join(parts)


def picture(sizes: dict[str, list[Point]], title: str) -> str:
    rows = math.ceil(len(sizes) / COLUMNS)
    panel_h = TIME_H + BETWEEN + MEMORY_H
    height = TOP + rows * (panel_h + GAP_Y) - GAP_Y + 30
    parts = [text(LEFT, 30, "What a training step costs as a model grows", size=20, bold=True),
             text(LEFT, 50, title, fill=FAINT), legend(WIDTH - 40)]
    for number, (name, points) in enumerate(sizes.items()):
        x = LEFT + number % COLUMNS * (PLOT_W + GAP_X)
        y = TOP + 10 + number // COLUMNS * (panel_h + GAP_Y)
        parts.append(size_panel(name, points, x, y))
    return document(WIDTH, height, parts)


def legend(right: float) -> str:
    entries = (("time of a step", TIME, {}), ("peak memory", MEMORY, {}), ("in proportion", PROPORTION, DOTTED))
    parts = []
    for number, (words, colour, style) in enumerate(entries):
        x = right - 330 + 118 * number
        parts += [path([(x, 26), (x + 18, 26)], colour, **({"stroke_width": 2} | style)), text(x + 24, 30, words, fill=FAINT)]
    return "".join(parts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("measurements", help="file of compare.sh --rows growth --json")
    parser.add_argument("--title", default="")
    parser.add_argument("--svg", required=True)
    arguments = parser.parse_args()
    Path(arguments.svg).write_text(picture(read_points(arguments.measurements), arguments.title))


if __name__ == "__main__":
    main()
