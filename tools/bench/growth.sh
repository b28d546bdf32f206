#!/usr/bin/env bash
# Growth of time and memory of a training step with each size of a model, one at a time. Each round
# measures every point once, so that a disturbance affects one of several values.
# Writes growth.csv, growth.md and growth.svg into OUT. Needs a release build and plain Python 3.
# usage: growth.sh [OUT] [ROUNDS]
set -euo pipefail
cd "$(dirname "$0")/../.."
out=${1:-build/growth} rounds=${2:-3} steps=3
headlight=${HEADLIGHT:-build/release/headlight}
threads=$(nproc)
# Base model; each sweep changes one of its sizes.
base=(--n_layer 4 --n_head 4 --n_embd 256 --block_size 256 --batch_size 4 --vocab_size 1024)

doublings() { # FIRST LAST
  for ((value = $1; value <= $2; value *= 2)); do echo "$value"; done
}

number() { # KEY: prints its number in the JSON on stdin
  sed -E "s/.*\"$1\":([-+.0-9e]+).*/\1/"
}

measure() { # NAME VALUE [OPTION VALUE]...
  local name=$1 value=$2 json columns
  shift 2
  json=$("$headlight" bench train "${base[@]}" --threads "$threads" "$@" \
    --warmup 2 --steps "$steps" --json)
  columns=("$name" "$value")
  for key in ms_per_step ms_per_step_min ms_per_step_max tokens_per_second peak_rss_mib; do
    columns+=("$(number "$key" <<<"$json")")
  done
  (IFS=, && echo "${columns[*]}") | tee -a "$out/growth.csv" >&2
}

mkdir -p "$out"
echo "size,value,ms_per_step,ms_min,ms_max,tokens_per_second,peak_rss_mib" >"$out/growth.csv"
for ((round = 1; round <= rounds; ++round)); do
  for n in $(doublings 64 8192); do measure "sequence length T" "$n" --block_size "$n" --batch_size 1; done
  for n in $(doublings 1 32); do measure "batch B" "$n" --batch_size "$n"; done
  for n in $(doublings 64 1024); do measure "width C" "$n" --n_embd "$n"; done
  for n in $(doublings 1 16); do measure "layers L" "$n" --n_layer "$n"; done
  for n in 256 1024 4096 16384 50257; do measure "vocabulary V" "$n" --vocab_size "$n"; done
  for n in $(doublings 1 "$threads"); do measure "threads" "$n" --threads "$n"; done
done

title="$(lscpu | sed -n 's/^Model name: *//p'), $threads threads, float32. One size changes at a time; \
the others: L 4, H 4, C 256, T 256, B 4, V 1024 (with T: B 1)."
python3 tools/bench/growth_chart.py "$out/growth.csv" --title "$title" \
  --svg "$out/growth.svg" --markdown "$out/growth.md"
echo "$out/growth.svg"
