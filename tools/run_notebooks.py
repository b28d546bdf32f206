#!/usr/bin/env python3
"""Executes notebooks in their folders, as test_notebooks.sh describes. Needs nbclient and ipykernel.

usage: run_notebooks.py [--write] [NOTEBOOK ...]     (default: all of docs/notebooks)
"""

import sys
import time
from pathlib import Path

import nbclient
import nbformat

NOTEBOOKS = Path(__file__).resolve().parent.parent / "docs/notebooks"


def run(path, write):
    notebook = nbformat.read(path, as_version=4)
    start = time.monotonic()
    folder = {"metadata": {"path": str(path.parent)}}
    nbclient.NotebookClient(notebook, timeout=600, coalesce_streams=True, resources=folder).execute()
    print(f"{path.name}: {time.monotonic() - start:.0f} s", flush=True)
    if write:
        for cell in notebook.cells:
            cell.metadata = {}  # times of the execution
        nbformat.write(notebook, path)


def main():
    arguments = [argument for argument in sys.argv[1:] if argument != "--write"]
    for path in [Path(argument) for argument in arguments] or sorted(NOTEBOOKS.glob("*.ipynb")):
        run(path, "--write" in sys.argv)


main()
