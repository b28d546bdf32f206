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

# One line for each sample: step, KB of memory that maps no file, open files.
while kill -0 "$trainer" 2>/dev/null; do
  step=$(readlink "$work/run/latest" 2>/dev/null || echo step_0)
  memory=$(awk '$1 == "RssAnon:" { print $2 }' "/proc/$trainer/status" 2>/dev/null || echo 0)
  files=$({ find "/proc/$trainer/fd" -mindepth 1 2>/dev/null || true; } | wc -l)  # it may have ended
  [ "${memory:-0}" = 0 ] || [ "$files" = 0 ] || echo "${step#step_} $memory $files"
  sleep 0.02
done >"$work/samples"
wait "$trainer" || { echo "soak: training failed"; tail -3 "$work/err"; exit 1; }
trainer=

# The first fifth of the steps is warm-up. Each later fifth has a slope; the mean of the middle two is
# the growth, since the system adds or takes a huge page now and then.
awk -v updates="$updates" '
  $1 + 0 >= updates / 5 && $1 + 0 < updates {
    x = $1 + 0; f = int(5 * x / updates)
    n[f]++; sx[f] += x; sy[f] += $2; sxx[f] += x * x; sxy[f] += x * $2; samples++; sum += $2
    half = x < updates * 3 / 5 ? 1 : 2
    if (!(half in low) || $3 < low[half]) low[half] = $3
  }
  END {
    for (f = 1; f <= 4; f++) {
      spread = n[f] * sxx[f] - sx[f] * sx[f]
      if (n[f] < 2 || spread == 0) { print "soak: too few samples (" samples + 0 ")"; exit 2 }
      slope = 1000 * (n[f] * sxy[f] - sx[f] * sy[f]) / spread
      total += slope
      if (f == 1 || slope < smallest) smallest = slope
      if (f == 1 || slope > largest) largest = slope
    }
    growth = (total - smallest - largest) / 2
    printf "soak: %d updates and saves, %d samples, %.0f KB without files, %+.1f KB per 1,000 updates, %d open files at first, %d at last\n",
      updates, samples, sum / samples, growth, low[1], low[2]
    allowed = updates < 10000 ? 400 : 20
    if (growth > allowed || low[2] > low[1]) { print "soak: it GROWS (allowed: " allowed " KB)"; exit 1 }
  }' "$work/samples"
