#!/usr/bin/env bash
# Cost of checkpoints: runs of a configuration with a checkpoint every 50 steps and without
# alternate, so that a disturbance affects both. Prints tokens/s of each run from the first step to
# the last save, and compares medians and best runs. Both save once at the end.
# usage: saving.sh [ROUNDS] [UPDATES] [INTERVAL] [CONFIG] [DATA]
#   default: 5 500 50 configs/toy.toml; DATA replaces the data of CONFIG
# HEADLIGHT is the program (default: build/release/headlight); TMPDIR is on the tested disk.
set -euo pipefail
cd "$(dirname "$0")/../.."
rounds=${1:-5} updates=${2:-500} interval=${3:-50} config=${4:-configs/toy.toml} data=${5-}
headlight=${HEADLIGHT:-build/release/headlight}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

speed() { # INTERVAL: tokens/s from the first step to the last save
  rm -rf "$work/run"
  "$headlight" train "$config" ${data:+--data "$data"} --out_dir "$work/run" --max_iters "$updates" \
    --lr_decay_iters "$updates" --eval_interval 1000000 --validation_fraction 0 \
    --save_interval "$1" --log_level warn --json |
    sed -E 's/.*"tokens_per_second":([0-9.e+]+).*/\1/'
}

for ((round = 1; round <= rounds; ++round)); do
  with=$(speed "$interval")
  without=$(speed 0)
  echo "$with $without" >&2
  echo "$with $without"
done | awk -v interval="$interval" '
  function median(values, n, i, j, t) {
    for (i = 2; i <= n; ++i)
      for (j = i; j > 1 && values[j - 1] > values[j]; --j) {
        t = values[j]; values[j] = values[j - 1]; values[j - 1] = t
      }
    return n % 2 ? values[(n + 1) / 2] : (values[n / 2] + values[n / 2 + 1]) / 2
  }
  { with[NR] = $1; without[NR] = $2 }
  END {
    a = median(with, NR); b = median(without, NR)
    print "| tokens/s | saving every " interval " updates | not saving | cost |"
    print "| --- | ---: | ---: | ---: |"
    printf "| median of %d | %.0f | %.0f | %.1f %% |\n", NR, a, b, 100 * (b / a - 1)
    printf "| best | %.0f | %.0f | %.1f %% |\n", with[NR], without[NR], 100 * (without[NR] / with[NR] - 1)
  }'
