"""The program `headlight`, which the package contains."""

import os
import pathlib
import sys


def main() -> None:
    """Runs the program in place of this process."""
    program = pathlib.Path(__file__).parent / "bin/headlight"
    os.execv(program, [str(program), *sys.argv[1:]])
