#!/usr/bin/env python3
"""Runs check(table, program, options) of a file check_NAME.py and prints the table; exit code 1 if something differs.

usage: check.py NAME PROGRAM [--seed N] [OPTIONS]     (check.py NAME --help: what it compares, with its OPTIONS)
"""

import argparse
import importlib
import sys
import tempfile
from pathlib import Path

from checker import Headlight, Table


def main() -> None:
    names = sorted(path.stem.removeprefix("check_") for path in Path(__file__).parent.glob("check_*.py"))
    if len(sys.argv) < 2 or sys.argv[1] not in names:
        sys.exit(f"{__doc__}\nnames: {' '.join(names)}")
    module = importlib.import_module(f"check_{sys.argv[1]}")
    parser = argparse.ArgumentParser(f"check.py {sys.argv[1]}", description=module.__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=lambda path: str(Path(path).resolve()), help="path of headlight")
    parser.add_argument("--seed", type=int, default=1, help="draws other cases [1]")
    for name, settings in getattr(module, "OPTIONS", {}).items():
        parser.add_argument(name, **settings)
    options = parser.parse_intermixed_args(sys.argv[2:])
    table = Table()
    with tempfile.TemporaryDirectory() as folder:
        module.check(table, Headlight(options.program, Path(folder)), options)
    sys.exit(1 if table.show() else 0)


main()
