#!/usr/bin/env bash
# Compares exported GGUF models with llama.cpp: token ids, logits, greedy text; see
# tools/parity/check_llama_cpp.py. Needs the packages of parity.sh and, the first time, some minutes
# to build llama-cpp-python from PyPI. Ends with 1 if anything differs, and with 77 if the packages
# cannot be installed.
# usage: llama_cpp.sh [FILE.gguf ...]      (PARITY_VENV: a virtual environment to use)
set -euo pipefail
cd "$(dirname "$0")/.."
source tools/common.sh
venv=${PARITY_VENV:-build/parity-venv}
packages=(torch==2.13.0 transformers tokenizers safetensors numpy gguf accelerate llama-cpp-python==0.3.36)
export CMAKE_ARGS=${CMAKE_ARGS--DGGML_NATIVE=OFF -DGGML_AVX2=ON -DGGML_FMA=ON -DGGML_F16C=ON}
environment "$venv" torch,transformers,safetensors,numpy,gguf,accelerate,llama_cpp "${packages[@]}" || exit 77
build_release headlight_cli
"$venv/bin/python" tools/parity/check_llama_cpp.py build/release/headlight --file "$@" | python3 tools/parity/table.py
