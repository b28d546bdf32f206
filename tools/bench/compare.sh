#!/usr/bin/env bash
# Compares Headlight with PyTorch, transformers and CTranslate2; see README.md beside it.
# Needs a release build, Python 3.11 with venv, g++ (for torch.compile) and, the first time, PyPI.
# usage: compare.sh [--rounds N] [--rows PART,PART] [--threads N] [--list] [--before PROGRAM] [--json FILE]
#   [--data TEXT] [--tokenizer FOLDER] [--model MODEL]
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/../.."
venv=${HEADLIGHT_BENCH_VENV:-build/bench-venv}
[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
"$venv/bin/python" -c 'import torch, transformers, ctranslate2' 2>/dev/null || {
  "$venv/bin/pip" install -q torch==2.13.0 transformers ctranslate2 numpy
}
venv=$(cd "$venv" && pwd)
export HEADLIGHT_BENCH_CACHE=$venv/headlight-cache
export TORCHINDUCTOR_CACHE_DIR=$HEADLIGHT_BENCH_CACHE/inductor
mkdir -p "$HEADLIGHT_BENCH_CACHE"
exec "$venv/bin/python" "$here/compare.py" "$@"
