#!/usr/bin/env bash
# Compares Headlight with other programs, or two builds of Headlight, in turn; see README.md beside it and --help.
# Needs a release build and Python 3.11 with venv; the rows of others need g++ (for torch.compile) and, at first, PyPI.
# usage: compare.sh [--list] [--rounds N] [--rows PART,PART] [--before PROGRAM [--alone]] [--model MODEL] [--json FILE]
set -euo pipefail
exec python3 "$(dirname "$0")/bench.py" "$@"
