#!/usr/bin/env bash
# Compares exported GGUF models with llama.cpp: token ids, logits, greedy text; see
# tools/parity/check_llama_cpp.py. Needs the packages of parity.sh and, the first time, some minutes
# to build llama-cpp-python from PyPI. Ends with 1 if anything differs, and with 3 if the packages
# cannot be installed.
# usage: llama_cpp.sh [FILE.gguf ...]      (PARITY_VENV: a virtual environment to use)
set -euo pipefail
cd "$(dirname "$0")/.."
venv=${PARITY_VENV:-build/parity-venv}
[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
python=$venv/bin/python
packages=(torch==2.13.0 transformers tokenizers safetensors numpy gguf accelerate llama-cpp-python==0.3.36)
"$python" -c 'import torch, transformers, safetensors, numpy, gguf, accelerate, llama_cpp' 2>/dev/null ||
  CMAKE_ARGS=${CMAKE_ARGS--DGGML_NATIVE=OFF -DGGML_AVX2=ON -DGGML_FMA=ON -DGGML_F16C=ON} \
    "$python" -m pip install -q "${packages[@]}" || {
  echo "$0: llama.cpp cannot be installed" >&2
  exit 3
}
cmake --preset release -DCMAKE_CXX_COMPILER_LAUNCHER=ccache >/dev/null
cmake --build --preset release --target headlight_cli >&2
"$python" tools/parity/check_llama_cpp.py build/release/headlight --file "$@" | "$python" tools/parity/table.py
