"""Validation loss against time of training with AdamW and with Muon: the same model, data and
batches, several seeds, and for each optimizer the learning rate that ends lowest. Time is that of
updates alone, without evaluations. --keys gives an optimizer's runs keys of their own, such as
another kind of model. Writes optimizers.csv, optimizers.md and optimizers.svg into
OUT. Needs a release build and plain Python.

    tools/bench/optimizers.py OUT [--rates 5e-3 1e-2] [--seeds 1 2 3] [-- options of headlight train]
"""

import argparse
import csv
import json
import math
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median

from chart import FAINT, GRID, INK, document, path, text

DEFAULT_OPTIONS = ["configs/toy.toml", "--eval_interval", "50", "--eval_iters", "0"]
COLOURS = {"adamw": "#27669e", "muon": "#c2571a", "sgd": "#4d7c3a"}
WIDTH, HEIGHT, LEFT, TOP, PLOT_W, PLOT_H = 760, 470, 70, 84, 640, 320


@dataclass(frozen=True)
class Curve:
    """One run: its losses with the updates and seconds at which they were measured."""

    optimizer: str
    rate: float
    seed: int
    updates: list[int]
    seconds: list[float]
    losses: list[float]


def train(options: list[str], keys: list[str], optimizer: str, rate: float, seed: int) -> Curve:
    headlight = os.environ.get("HEADLIGHT", "build/release/headlight")
    with tempfile.TemporaryDirectory() as folder:
        run = f"{folder}/run"
        command = [headlight, "train", *options, *keys, "--out_dir", run, "--optimizer", optimizer,
                   "--learning_rate", str(rate), "--min_lr", "-1", "--seed", str(seed),
                   "--always_save_checkpoint", "false"]
        subprocess.run(command, check=True, capture_output=True)
        lines = [json.loads(line) for line in Path(run, "metrics.jsonl").read_text().splitlines()]
    updates, times, losses, clock = [], [], [], 0.0
    for line in lines:
        if "validation_loss" in line:
            updates.append(line["iteration"])
            times.append(clock)
            losses.append(line["validation_loss"])
        elif "loss" in line:
            clock += line["seconds"]
    return Curve(optimizer, rate, seed, updates, times, losses)


def best_rate(curves: list[Curve], optimizer: str) -> float:
    """Returns the learning rate with the lowest final loss, the median over the seeds."""
    ends: dict[float, list[float]] = {}
    for curve in curves:
        if curve.optimizer == optimizer:
            ends.setdefault(curve.rate, []).append(curve.losses[-1])
    return min(ends, key=lambda rate: median(ends[rate]))


def seconds_to(curve: Curve, loss: float) -> float:
    """Returns the time at which the curve first reaches this loss, interpolated between points."""
    points = list(zip(curve.seconds, curve.losses))
    for (t0, l0), (t1, l1) in zip(points, points[1:]):
        if l1 <= loss:
            return t0 + (t1 - t0) * (l0 - loss) / (l0 - l1) if l0 > loss else t0
    return math.inf


def markdown(curves: list[Curve], optimizers: list[str]) -> str:
    # The highest final loss of the first optimizer's runs at its best learning rate.
    goal = max(c.losses[-1] for c in curves
               if c.optimizer == optimizers[0] and c.rate == best_rate(curves, optimizers[0]))
    lines = [f"| optimizer | learning rate | final loss, seeds | ms an update | s to {goal:.3f} |",
             "| --- | ---: | --- | ---: | ---: |"]
    for optimizer, rate in sorted({(c.optimizer, c.rate) for c in curves}):
        mine = [c for c in curves if (c.optimizer, c.rate) == (optimizer, rate)]
        ends = ", ".join(f"{c.losses[-1]:.3f}" for c in mine)
        update = median(1000 * c.seconds[-1] / c.updates[-1] for c in mine)
        reached = median(seconds_to(c, goal) for c in mine)
        mark = " (best)" if rate == best_rate(curves, optimizer) else ""
        lines.append(f"| {optimizer} | {rate:g}{mark} | {ends} | {update:.1f} | "
                     f"{'never' if math.isinf(reached) else f'{reached:.1f}'} |")
    return "\n".join(lines) + "\n"


class Plot:
    """A plot of the logarithm of the loss against time."""

    def __init__(self, curves: list[Curve]):
        self.end = max(c.seconds[-1] for c in curves)
        self.low = min(min(c.losses) for c in curves) / 1.05
        self.high = max(c.losses[0] for c in curves) * 1.05

    def at(self, seconds: float, loss: float) -> tuple[float, float]:
        return (LEFT + PLOT_W * seconds / self.end,
                TOP + PLOT_H * math.log(self.high / loss) / math.log(self.high / self.low))

    def line(self, seconds: list[float], losses: list[float], colour: str, **style) -> str:
        return path(map(self.at, seconds, losses), colour, **style)

    def frame(self) -> str:
        parts = []
        for tick in (0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1, 1.5, 2, 3, 4, 6, 8):
            if self.low <= tick <= self.high:
                x, y = self.at(0, tick)
                parts += [path([(x, y), (x + PLOT_W, y)], GRID), text(LEFT - 8, y + 4, f"{tick:g}", anchor="end", fill=FAINT)]
        for part in range(5):
            label = f"{self.end * part / 4:.0f} s"
            parts.append(text(LEFT + PLOT_W * part / 4, TOP + PLOT_H + 20, label, anchor="middle", fill=FAINT))
        return "".join(parts)


def picture(curves: list[Curve], optimizers: list[str], options: str) -> str:
    chosen = [c for c in curves if c.rate == best_rate(curves, c.optimizer)]
    plot = Plot(chosen)
    parts = [text(LEFT, 28, "Validation loss against seconds of training", size=19, bold=True),
             *(text(LEFT, 48 + 16 * i, line, fill=FAINT) for i, line in enumerate(options.splitlines())), plot.frame()]
    for number, optimizer in enumerate(optimizers):
        mine = [c for c in chosen if c.optimizer == optimizer]
        colour = COLOURS.get(optimizer, INK)
        parts += [plot.line(curve.seconds, curve.losses, colour, stroke_width=1, opacity=0.35) for curve in mine]
        parts.append(plot.line([mean(t) for t in zip(*(c.seconds for c in mine))],
                               [mean(v) for v in zip(*(c.losses for c in mine))], colour, stroke_width=2.4))
        label = f"{optimizer}, learning rate {mine[0].rate:g}"
        parts.append(text(LEFT + PLOT_W, TOP + 16 + 20 * number, label, anchor="end", fill=colour, bold=True))
    note = "Thin: every seed. Thick: their mean. Each optimizer at the learning rate that ends lowest."
    return document(WIDTH, HEIGHT, [*parts, text(LEFT, HEIGHT - 20, note, fill=FAINT)])


def write(out: Path, curves: list[Curve], optimizers: list[str], options: str) -> None:
    out.mkdir(parents=True, exist_ok=True)
    with open(out / "optimizers.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["optimizer", "learning_rate", "seed", "update", "seconds", "loss"])
        for c in curves:
            for update, seconds, loss in zip(c.updates, c.seconds, c.losses):
                writer.writerow([c.optimizer, c.rate, c.seed, update, f"{seconds:.4f}", loss])
    (out / "optimizers.md").write_text(markdown(curves, optimizers))
    (out / "optimizers.svg").write_text(picture(curves, optimizers, options))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--optimizers", nargs="+", default=["adamw", "muon"])
    parser.add_argument("--rates", nargs="+", type=float, default=[2.5e-3, 5e-3, 1e-2])
    parser.add_argument("--seeds", nargs="+", type=int, default=[1, 2, 3])
    parser.add_argument("--keys", nargs=2, action="append", default=[], metavar=("OPTIMIZER", "OPTIONS"))
    given = sys.argv[1:]
    end = given.index("--") if "--" in given else len(given)
    arguments = parser.parse_args(given[:end])
    options = given[end + 1:] or DEFAULT_OPTIONS
    keys = {optimizer: text.split() for optimizer, text in arguments.keys}
    curves = []
    for seed in arguments.seeds:
        # Runs alternate, so that a disturbance of the machine affects both optimizers.
        for rate in arguments.rates:
            for optimizer in arguments.optimizers:
                curves.append(train(options, keys.get(optimizer, []), optimizer, rate, seed))
                last = curves[-1]
                print(f"{optimizer} {rate:g} seed {seed}: loss {last.losses[-1]:.4f} "
                      f"after {last.seconds[-1]:.1f} s", flush=True)
    described = [" ".join(options), *(f"{name}: {more}" for name, more in arguments.keys)]
    write(arguments.out, curves, arguments.optimizers, "\n".join(described))
    print(markdown(curves, arguments.optimizers), end="")


if __name__ == "__main__":
    main()
