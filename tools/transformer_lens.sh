#!/usr/bin/env bash
# Compares activation points with TransformerLens under the shared names; see
# tools/parity/check_transformer_lens.py. Needs the packages of parity.sh and, the first time, PyPI.
# Ends with 1 if anything differs, and with 3 if the packages cannot be installed.
# usage: transformer_lens.sh      (PARITY_VENV: a virtual environment to use)
set -euo pipefail
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
