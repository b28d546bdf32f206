#!/usr/bin/env bash
# What another program on the machine costs: steps of training with one thread and with several, on
# idle CPUs and beside a busy loop on the same ones. Several threads must never be slower than one,
# even when not all of them have a CPU. The four kinds of run take turns, so that a disturbance from
# elsewhere meets all. Prints the median milliseconds of a step, with extremes.
# usage: busy.sh [ROUNDS] [THREADS]     (default: 5 2)
# The program runs on as many CPUs as it has threads. HEADLIGHT names another one than
# build/release/headlight.
set -euo pipefail
cd "$(dirname "$0")/../.."
rounds=${1:-5} threads=${2:-2}
headlight=${HEADLIGHT:-build/release/headlight}
# The first CPUs that this shell may use: "0-3,8" as 0 1 2 3 8.
cpus=$(taskset -cp $$ | sed 's/.*: //' | tr , '\n' |
  awk -F - '{ for (i = $1; i <= $NF; ++i) print i }' | head -n "$threads" | paste -sd ,)
busy=
trap '[ -z "$busy" ] || kill "$busy"' EXIT

step() { # THREADS WIDTH
  taskset -c "$cpus" "$headlight" bench train --threads "$1" --n_embd "$2" --steps 60 --json \
    --log_level error | sed -E 's/.*"ms_per_step":([0-9.e+-]+).*/\1/'
}

for ((round = 1; round <= rounds; ++round)); do
  for width in 128 64; do
    for count in 1 "$threads"; do
      echo "$width idle $count $(step "$count" "$width")"
    done
    taskset -c "$cpus" bash -c 'while :; do :; done' &
    busy=$!
    for count in 1 "$threads"; do
      echo "$width busy $count $(step "$count" "$width")"
    done
    kill "$busy"
    wait "$busy" 2>/dev/null || true
    busy=
  done
done | sort -k1,1nr -k2,2r -k3,3n -k4,4g | awk '
  function show() {
    if (n)
      printf "| %s | %s | %s | %.2f (%.2f-%.2f) |\n", row[1], row[2], row[3],
             (values[int((n + 1) / 2)] + values[int(n / 2) + 1]) / 2, values[1], values[n]
    n = 0
  }
  BEGIN {
    print "| width | CPUs | threads | ms/step |"
    print "| ---: | --- | ---: | ---: |"
  }
  $1 " " $2 " " $3 != key { show(); key = $1 " " $2 " " $3; split(key, row, " ") }
  { values[++n] = $4 }
  END { show() }'
