#!/usr/bin/env bash
# Time of one training step of configs/shakespeare_char_cpu.toml, Headlight against PyTorch eager, in
# turn on the same machine. Needs Python 3 with venv, and PyPI.
# usage: compare_step.sh TEXT [ROUNDS]
set -euo pipefail
cd "$(dirname "$0")/../.."
text=$1 rounds=${2:-5} threads=2
venv=${HEADLIGHT_BENCH_VENV:-build/bench-venv}
[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
"$venv/bin/python" -c 'import torch' 2>/dev/null || "$venv/bin/pip" install -q torch==2.13.0 numpy

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for round in $(seq "$rounds"); do
  build/release/headlight train configs/shakespeare_char_cpu.toml --data "$text" --threads $threads \
    --out_dir "$work/run" --max_iters 100 --eval_interval 1000 --validation_fraction 0 \
    2>>"$work/log" || { cat "$work/log" >&2; exit 1; }
  tail -n +21 "$work/run/metrics.jsonl" >"$work/headlight.$round"
  rm -rf "$work/run"
  "$venv/bin/python" tools/bench/pytorch_step.py --threads $threads >"$work/torch.$round"
done
grep -m 1 'computing with' "$work/log"
lscpu | sed -n 's/^Model name: *//p'
echo "OPENBLAS_CORETYPE=${OPENBLAS_CORETYPE:-(unset)}"
"$venv/bin/python" - "$work" "$rounds" <<'PY'
import json, statistics, sys

work, rounds = sys.argv[1], int(sys.argv[2])
ours, theirs = [], []
for round_number in range(1, rounds + 1):
    steps = [json.loads(line) for line in open(f"{work}/headlight.{round_number}")]
    ours.append(1e3 * statistics.median(step["seconds"] for step in steps if "loss" in step))
    theirs.append(json.load(open(f"{work}/torch.{round_number}"))["ms_per_step"])
ratios = [b / a for a, b in zip(ours, theirs)]
for name, values in (("headlight ms", ours), ("pytorch ms", theirs), ("pytorch/headlight", ratios)):
    print(f"{name:18} median {statistics.median(values):7.2f}  min {min(values):7.2f}  max {max(values):7.2f}")
PY
