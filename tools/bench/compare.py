"""Times Headlight and others in turn and prints a table; compare.sh starts it.

In every round each contender of a row runs once, in a process of its own, so that a disturbance of
the machine meets all of them. The best of the others is the one with the lowest median; ratios are
taken round by round. --before adds an older Headlight to every round.
"""

import argparse
import json
import os
import platform
import statistics
import sys
import tempfile
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from process import Refused, run_json
from program_rows import program_rows
from rows import Contender, Row, Setting, all_rows
from shapes import ROOT

BEFORE = "Headlight before"


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="compare.sh", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="runs of every contender [5]")
    parser.add_argument("--rows", help="only the rows of these names, or that contain one of these texts: train,int8")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="[all]")
    parser.add_argument("--list", action="store_true", help="print the names of the rows")
    parser.add_argument("--before", help="an older headlight program, measured in turn with the others")
    parser.add_argument("--data", type=Path, help="a text for the rows of saving, encoding and learning [data/toy.txt]")
    parser.add_argument("--tokenizer", type=Path, help="a folder with tokenizer.json for encoding [learned from the data]")
    parser.add_argument("--model", type=Path, help="for the row of streaming [made from cpu-char]")
    parser.add_argument("--json", help="also write every measurement to this file")
    return parser.parse_args()


def version_of(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "missing"


def machine_lines(setting: Setting) -> list[str]:
    machine = run_json([setting.headlight, "bench", "memory", "--json"], setting.threads)
    blas = machine["blas"]
    packages = ["torch", "transformers", "ctranslate2", "tokenizers"]
    return [
        f"CPU: {machine['cpu']}, {os.cpu_count()} logical cores, {setting.threads} threads used",
        f"memory: {machine['read_gb_per_second']:.1f} GB/s read",
        f"Headlight: {machine['kernel_variant']} loops, {blas['library']} {blas['version']}, "
        f"core {blas['core']}, OPENBLAS_CORETYPE={blas['coretype_variable'] or '(unset)'}",
        f"Python {platform.python_version()}, "
        + ", ".join(f"{package} {version_of(package)}" for package in packages),
    ]


def rows_of(setting: Setting) -> list[Row]:
    return [*all_rows(setting), *program_rows(setting)]


def rows_with_before(setting: Setting, before: str | None) -> list[Row]:
    rows = rows_of(setting)
    if before is None:
        return rows
    older = [Contender(BEFORE, row.headlight.run) for row in rows_of(replace(setting, headlight=before))]
    return [replace(row, others=[old, *row.others]) for row, old in zip(rows, older)]


def run_row(row: Row, rounds: int) -> dict[str, list[dict]]:
    """Returns the reports by contender, one per round. Raises Refused if Headlight's command fails."""
    reports: dict[str, list[dict]] = {}
    refused: set[str] = set()

    def run(contender: Contender) -> None:
        reports.setdefault(contender.name, []).append(contender.run())

    for _ in range(rounds):
        run(row.headlight)
        for contender in row.others:
            try:
                if contender.name not in refused:
                    run(contender)
            except Refused as reason:
                refused.add(contender.name)
                print(f"{row.name}: {contender.name} skipped: {reason}", file=sys.stderr)
    return reports


def spread(values: list[float], digits: int = 2) -> str:
    low, high = min(values), max(values)
    return f"{statistics.median(values):.{digits}f} ({low:.{digits}f}-{high:.{digits}f})"


def memory(reports: list[dict]) -> str:
    peaks = [report["peak_rss_mib"] for report in reports if "peak_rss_mib" in report]
    return f"{statistics.median(peaks):.0f}" if peaks else ""


def table_line(row: Row, reports: dict[str, list[dict]]) -> str:
    values = {name: [row.value(r) for r in several] for name, several in reports.items()}
    ours = values.pop("Headlight")
    before = spread(values.pop(BEFORE)) if BEFORE in values else ""
    if not values:
        return f"| {row.name} | {row.unit} | {before} | {spread(ours)} | | | | | |"
    best = min(values, key=lambda name: statistics.median(values[name]))
    ratios = [other / own for own, other in zip(ours, values[best])]
    cells = [row.name, row.unit, before, spread(ours), best, spread(values[best]), spread(ratios)]
    cells += [memory(reports["Headlight"]), memory(reports[best])]
    return "| " + " | ".join(cells) + " |"


def chosen(rows: list[Row], texts: list[str]) -> list[Row]:
    names = {row.name for row in rows}
    return [
        row
        for row in rows
        if any(text == row.name if text in names else text in row.name for text in texts)
    ]


def main() -> None:
    arguments = parse_arguments()
    with tempfile.TemporaryDirectory() as scratch:
        program = os.environ.get("HEADLIGHT", str(ROOT / "build" / "release" / "headlight"))
        setting = Setting(program, arguments.threads, Path(scratch), arguments.data, arguments.tokenizer, arguments.model)
        rows = chosen(rows_with_before(setting, arguments.before), arguments.rows.split(",") if arguments.rows else [""])
        if arguments.list:
            print("\n".join(row.name for row in rows))
            return
        print("\n".join(machine_lines(setting)) + f"\n{arguments.rounds} rounds\n")
        print("| row | unit | before | Headlight | best other | | other / Headlight | peak MiB | other's |")
        print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |", flush=True)
        results = {}
        for row in rows:
            try:
                results[row.name] = run_row(row, arguments.rounds)
                print(table_line(row, results[row.name]), flush=True)
            except Refused as reason:
                print(f"{row.name}: skipped: {reason}", file=sys.stderr)
    if arguments.json:
        Path(arguments.json).write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
