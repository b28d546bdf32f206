#!/usr/bin/env bash
# Compares the answers of the WebAssembly program under Node with those of `headlight serve`, which
# computes with plain kernels here, on random questions to a small model trained here. Exits with 77
# (skipped) if node, curl or the WebAssembly build is missing.
# usage: page_engine.sh HEADLIGHT [MODEL.gguf]
set -euo pipefail
for program in node curl; do
  command -v "$program" >/dev/null || { echo "skipped: $program is not installed"; exit 77; }
done
here=$(cd "$(dirname "$0")" && pwd)
headlight=$1
engine=${HEADLIGHT_ENGINE:-$(dirname "$headlight")/../wasm}
[ -e "$engine/headlight.wasm.gz" ] || { echo "skipped: no WebAssembly build in $engine"; exit 77; }
work=$(mktemp -d)
server_pid=
. "$here/webdriver.sh"
trap '[ -z "$server_pid" ] || kill "$server_pid" 2>/dev/null || true; rm -rf "$work"' EXIT

model=${2:-}
if [ -z "$model" ]; then
  model=$work/small.gguf
  head -c 20000 "$here/../../data/toy.txt" >"$work/text.txt"
  "$headlight" train --data "$work/text.txt" --out_dir "$work/run" --tokenizer bpe --vocab_size 300 --n_layer 2 --n_head 2 --n_embd 32 \
    --block_size 64 --batch_size 4 --max_iters 30 --eval_interval 30 --eval_iters 1 --log_level error >/dev/null
  "$headlight" export "$work/run" --to gguf --type q8_0 --out "$model" >/dev/null
fi
: >"$work/server.json"
"$headlight" serve "$model" --port 0 --cpu_variant baseline --products own --json >"$work/server.json" 2>"$work/server.log" &
server_pid=$!
site=http://127.0.0.1:$(port_in "$work/server.json" '.*127\.0\.0\.1:\([0-9]*\).*')
node "$here/page_engine.mjs" "$engine" "$model" "$site" 60
