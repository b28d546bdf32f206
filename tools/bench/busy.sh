#!/usr/bin/env bash
# Cost of another program on the machine: training steps and generated tokens with one thread and
# several, on idle CPUs and beside a busy loop on them. Several threads must never be slower than
# one, even without a CPU each. Runs of all kinds alternate, so that a disturbance affects all of
# them. Prints median milliseconds with extremes.
# usage: busy.sh [ROUNDS] [THREADS]     (default: 5 2)
# The program runs on as many CPUs as it has threads. HEADLIGHT is the program (default:
# build/release/headlight).
set -euo pipefail
cd "$(dirname "$0")/../.."
rounds=${1:-5} threads=${2:-2}
headlight=${HEADLIGHT:-build/release/headlight}
# Lists the first CPUs that this shell may use: "0-3,8" becomes 0 1 2 3 8.
cpus=$(taskset -cp $$ | sed 's/.*: //' | tr , '\n' |
  awk -F - '{ for (i = $1; i <= $NF; ++i) print i }' | head -n "$threads" | paste -sd ,)

train() { # THREADS WIDTH
  taskset -c "$cpus" "$headlight" bench train --threads "$1" --n_embd "$2" --steps 60 --json \
    --log_level error | sed -E 's/.*"ms_per_step":([0-9.e+-]+).*/\1/'
}
generate() { # THREADS CONFIG
  taskset -c "$cpus" "$headlight" bench generate --threads "$1" --config "configs/bench/$2.toml" \
    --weights int8 --rounds 8 --json --log_level error | sed -E 's/.*"ms_per_token":([0-9.e+-]+).*/\1/'
}
rows() { # idle|busy
  for what in "train 128" "train 64" "generate gpt2-256"; do
    for count in 1 "$threads"; do
      milliseconds=$("${what% *}" "$count" "${what#* }")
      echo "${what/ /,} $1 $count $milliseconds"
    done
  done
}

all_rows() {
  local busy=
  trap '[ -z "$busy" ] || kill "$busy"' EXIT
  for ((round = 1; round <= rounds; ++round)); do
    rows idle
    taskset -c "$cpus" bash -c 'while :; do :; done' &
    busy=$!
    rows busy
    kill "$busy"
    wait "$busy" 2>/dev/null || true
    busy=
  done
}

all_rows | sort -k1,1r -k2,2r -k3,3n -k4,4g | awk '
  function show() {
    sub(",", ", ", row[1])
    if (n)
      printf "| %s | %s | %s | %.2f (%.2f-%.2f) |\n", row[1], row[2], row[3],
             (values[int((n + 1) / 2)] + values[int(n / 2) + 1]) / 2, values[1], values[n]
    n = 0
  }
  BEGIN {
    print "| what | CPUs | threads | ms |"
    print "| --- | --- | ---: | ---: |"
  }
  $1 " " $2 " " $3 != key { show(); key = $1 " " $2 " " $3; split(key, row, " ") }
  { values[++n] = $4 }
  END { show() }'
