#!/usr/bin/env bash
# Growth of time and memory of a training step with each size of a model, one at a time (the rows "growth" of compare.sh).
# Writes growth.json, growth.md and growth.svg into OUT. Needs a release build and plain Python 3.
# usage: growth.sh [OUT] [ROUNDS]
set -euo pipefail
cd "$(dirname "$0")/../.."
out=${1:-build/growth}
mkdir -p "$out"
tools/bench/compare.sh --rows growth --rounds "${2:-3}" --json "$out/growth.json" | tee "$out/growth.md"
title="$(lscpu | sed -n 's/^Model name: *//p'), $(nproc) threads, float32. One size changes at a time; \
the others: L 4, H 4, C 256, T 256, B 4, V 1024 (with T: B 1)."
python3 tools/bench/growth_chart.py "$out/growth.json" --title "$title" --svg "$out/growth.svg"
