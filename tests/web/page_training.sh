#!/usr/bin/env bash
# Trains a small model with the WebAssembly program of the pages under Node, to the end and with a
# stop, and compares the losses with those of `headlight train`. Opens the downloaded run with
# `headlight info`, `generate` and `train --resume`. Exits with 77 (skipped) if node, jq, unzip or
# the WebAssembly build is missing.
# usage: page_training.sh HEADLIGHT
set -euo pipefail
for program in node jq unzip; do
  command -v "$program" >/dev/null || { echo "skipped: $program is not installed"; exit 77; }
done
here=$(cd "$(dirname "$0")" && pwd)
headlight=$(realpath "$1")
engine=$(realpath "${HEADLIGHT_ENGINE:-$(dirname "$headlight")/../wasm}")
[ -e "$engine/headlight.wasm.gz" ] || { echo "skipped: no WebAssembly build in $engine"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0
check() {  # check WHAT COMMAND...
  local what=$1
  shift
  "$@" >"$work/out.txt" 2>&1 || { failures=$((failures + 1)); echo "FAILED: $what"; cat "$work/out.txt"; }
}

head -c 30000 "$here/../../data/toy.txt" >"$work/text.txt"
cd "$work"

# trained STEPS STOP: trains in the page's program, and unpacks the download to small/.
trained() {
  rm -rf small small.zip
  node "$here/page_training.mjs" "$engine" text.txt "$1" "$2" small.zip >small.json
  unzip -q small.zip
}

trained 200 200
check 'the loss falls' jq -e '(.losses | length) == 200 and .losses[-1] < .losses[0] - 1 and .validation[-1] < .validation[0]' small.json
check 'heads are scored and samples written' jq -e '.heads == 5 and .samples == 4 and (.continued | length) > 0' small.json
check 'headlight info opens the run' "$headlight" info small
check 'headlight generate writes what the page writes' bash -c '
  [ "$("$0" generate small --prompt The --max_new_tokens 8 --temperature 0 --json | jq -r ".samples[0].text // .text")" = \
    "$(jq -r ".continued" small.json)" ]' "$headlight"
"$headlight" train small/config.toml --out_dir native --cpu_variant baseline --products own --log_level error >/dev/null
jq -s '[.[] | .loss // empty]' native/metrics.jsonl >native.json
jq --slurpfile native native.json '.apart = ([.losses, $native[0]] | transpose | map((.[0] - .[1]) | fabs) | max)' small.json >apart.json
check 'the same settings give the same losses' jq -e '.apart < 0.02' apart.json
jq -r '"200 steps under Node: \(.seconds) s; largest difference of the losses from headlight train: \(.apart)"' apart.json

trained 1000 20
check 'a stop ends the run early' jq -e '(.losses | length) >= 20 and (.losses | length) < 500' small.json
check 'a stopped run goes on with --resume' "$headlight" train --resume small --max_iters 1000 --log_level error
printf 'too short' >text.txt
node "$here/page_training.mjs" "$engine" text.txt 10 10 none.zip >small.json || true
check 'a text that is too short gets one line' jq -e '.problem | test("expected") and (test("\n") | not)' small.json
jq -r '.problem' small.json
echo "$failures failures"
[ "$failures" = 0 ]
