#!/usr/bin/env bash
# Runs every headlight command that README.md shows, in its order, in a scratch folder; training and
# benchmarks are cut short. Ends with 1 at the first that fails.
# usage: check_readme.sh PROGRAM [README]
set -euo pipefail
[ $# -ge 1 ] || { sed -n 's/^# usage: /usage: /p' "$0" >&2; exit 2; }
program=$(realpath "$1")
project=$(realpath "$(dirname "$0")/..")
readme=$(realpath "${2:-$project/README.md}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
ln -s "$project/configs" "$project/data" .
cp data/toy.txt book.txt  # what a reader calls a text of their own

headlight() {
  case $1 in
    train) set -- "$@" --max_iters 4 --eval_interval 4 --eval_iters 1 ;;
    bench) set -- bench --config configs/bench/cpu-char.toml --steps 2 --warmup 1 ;;
  esac
  if [ "$1" = serve ]; then
    ends_well "$program" "$@" --port 0 --json
    return
  fi
  "$program" "$@" --log_level warn
}

# Runs a server until it listens, and ends it: with the exit code of the server.
ends_well() {
  "$@" >server.txt &
  local server=$!
  until [ -s server.txt ] || ! kill -0 "$server"; do sleep 0.1; done
  kill -TERM "$server"
  wait "$server"
}

# Blocks of sh, with lines that end in a backslash joined.
mapfile -t commands < <(awk '/^```sh$/ {on = 1; next} /^```$/ {on = 0} on' "$readme" |
  sed -e ':a' -e '/\\$/{N;s/\\\n *//;ba' -e '}' |
  sed -n -e 's/--max_iters [0-9]*//' -e '/^headlight /p')
[ ${#commands[@]} -gt 0 ] || { echo "check_readme.sh: $readme shows no command" >&2; exit 1; }
for command in "${commands[@]}"; do
  # What transformers wrote, in the README's words.
  if [[ $command == *gpt2_dir* && ! -e gpt2_dir ]]; then
    headlight export runs/toy --to hf --out gpt2_dir >out.txt
  fi
  if ! eval "$command" >out.txt 2>err.txt </dev/null; then
    echo "FAILED: $command" >&2
    cat err.txt >&2
    exit 1
  fi
  echo "ok: $command"
done
