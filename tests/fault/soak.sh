#!/usr/bin/env bash
# Trains a tiny model for many steps and saves after each. Memory and open files must not grow.
# usage: soak.sh PROGRAM [UPDATES]     (default: 20000)
set -euo pipefail
program=$1 updates=${2:-20000}
work=$(mktemp -d -p "$([ -d /dev/shm ] && echo /dev/shm || echo "${TMPDIR:-/tmp}")")
trainer=
trap '[ -z "$trainer" ] || kill -9 "$trainer" 2>/dev/null || true; rm -rf "$work"' EXIT
for i in $(seq 30); do echo "The cat $i sat on the mat. Mina has a red kite."; done >"$work/data.txt"

"$program" train --threads 1 --data "$work/data.txt" --out_dir "$work/run" \
  --n_layer 1 --n_head 1 --n_embd 8 --block_size 8 --batch_size 2 --dropout 0.1 --warmup_iters 2 \
  --max_iters "$updates" --lr_decay_iters "$updates" --eval_iters 1 --save_interval 1 --eval_interval 50 \
  >"$work/out" 2>"$work/err" &
trainer=$!

# One line for each sample: step, resident KB, open files.
pages=$(($(getconf PAGESIZE) / 1024))
while kill -0 "$trainer" 2>/dev/null; do
  step=$(readlink "$work/run/latest" 2>/dev/null || echo step_0)
  memory=$(cut -d ' ' -f 2 "/proc/$trainer/statm" 2>/dev/null || echo 0)
  files=$({ find "/proc/$trainer/fd" -mindepth 1 2>/dev/null || true; } | wc -l)  # it may have ended
  [ "${memory:-0}" = 0 ] || [ "$files" = 0 ] || echo "${step#step_} $((memory * pages)) $files"
  sleep 0.02
done >"$work/samples"
wait "$trainer" || { echo "soak: training failed"; tail -3 "$work/err"; exit 1; }
trainer=

# Leaves out the first fifth of the steps as warm-up.
awk -v updates="$updates" '
  $1 + 0 >= updates / 5 && $1 + 0 < updates {
    x = $1 + 0; n++; sx += x; sy += $2; sxx += x * x; sxy += x * $2
    half = x < updates * 3 / 5 ? 1 : 2
    if (!(half in low) || $3 < low[half]) low[half] = $3
  }
  END {
    if (n < 10 || !(1 in low) || !(2 in low)) { print "soak: too few samples (" n ")"; exit 2 }
    slope = 1000 * (n * sxy - sx * sy) / (n * sxx - sx * sx)
    printf "soak: %d updates and saves, %d samples, %.0f KB resident, %+.1f KB per 1,000 updates, %d open files at first, %d at last\n",
      updates, n, sy / n, slope, low[1], low[2]
    allowed = updates < 10000 ? 400 : 20
    if (slope > allowed || low[2] > low[1]) { print "soak: it GROWS (allowed: " allowed " KB)"; exit 1 }
  }' "$work/samples"
