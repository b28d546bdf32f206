"""Options that all checkers share."""

import argparse
from pathlib import Path


def parser(doc: str, **program) -> argparse.ArgumentParser:
    """The program to check, and the seed of the cases that a checker draws: parity.sh prints it."""
    made = argparse.ArgumentParser(usage=doc.split("usage: ")[-1])
    made.add_argument("program", type=lambda path: str(Path(path).resolve()), help="path of headlight", **program)
    made.add_argument("--seed", type=int, default=1, help="draws other cases [1]")
    return made
