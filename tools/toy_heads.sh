#!/usr/bin/env bash
# Trains configs/toy.toml with three seeds. Each time at least 40 % of the heads must have a pattern that
# `headlight heads` names, with a mean score of at least 0.4. Prints a line a seed; ends with 1 if a seed fails.
# usage: toy_heads.sh [PROGRAM]      (default: build/release/headlight)
set -euo pipefail
headlight=$(realpath "${1:-$(dirname "$0")/../build/release/headlight}")
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
status=0
for seed in 1 2 3; do
  "$headlight" train configs/toy.toml --seed "$seed" --out_dir "$work/$seed" --log_level error >/dev/null
  "$headlight" heads "$work/$seed" --data data/toy.txt --documents blank_line --annotations data/toy.annotations.jsonl \
    --log_level error --json >"$work/heads.json"
  jq -r --arg seed "$seed" '
    [.heads[] | select(.verdict | IN("local", "diffuse", "mixed") | not)] as $named |
    "seed \($seed): \($named | length) of \(.heads | length) heads named",
    ($named[] | "  \(.head) \(.verdict) (\(.verdict_measure)) \(.verdict_score * 100 | round / 100)")' "$work/heads.json"
  jq -e '[.heads[] | select(.verdict | IN("local", "diffuse", "mixed") | not)] as $named |
    ($named | length) >= 0.4 * (.heads | length) and ($named | map(.verdict_score) | add / length) >= 0.4' \
    "$work/heads.json" >/dev/null || status=1
done
exit $status
