#!/usr/bin/env bash
# Compares activation points with TransformerLens under the shared names: those of the frozen models
# (tools/parity/check_transformer_lens.py) and those that PROGRAM computes for a tiny model of every
# family (check_points.py). Needs the packages of parity.sh and, the first time, PyPI.
# Ends with 1 if anything differs, and with 3 if the packages cannot be installed.
# usage: transformer_lens.sh [PROGRAM]      (default: build/release/headlight;
#                                            PARITY_VENV: a virtual environment to use)
set -euo pipefail
[ $# -eq 0 ] || set -- "$(realpath "$1")"
cd "$(dirname "$0")/.."
venv=${PARITY_VENV:-build/parity-venv}
[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
python=$venv/bin/python
packages=(torch==2.13.0 transformers tokenizers safetensors transformer-lens==4.3.0)
"$python" -c 'import torch, transformers, safetensors, transformer_lens' 2>/dev/null ||
  "$python" -m pip install -q "${packages[@]}" || {
  echo "$0: TransformerLens cannot be installed" >&2
  exit 3
}
"$python" tools/parity/check_transformer_lens.py | "$python" tools/parity/table.py
"$python" tools/parity/check_points.py "${1:-build/release/headlight}" | "$python" tools/parity/table.py
