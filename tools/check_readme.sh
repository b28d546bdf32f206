#!/usr/bin/env bash
# Runs every headlight command of README.md, in order, in a scratch folder; shortens training and
# benchmarks. Ends with 1 at the first failure.
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
cp data/toy.txt book.txt  # stands for the reader's own text

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

# Starts a server, ends it once it listens, and returns its exit code.
ends_well() {
  "$@" >server.txt &
  local server=$!
  until [ -s server.txt ] || ! kill -0 "$server"; do sleep 0.1; done
  kill -TERM "$server"
  wait "$server"
}

# Reads the sh blocks; joins lines that end in a backslash.
mapfile -t commands < <(awk '/^```sh$/ {on = 1; next} /^```$/ {on = 0} on' "$readme" |
  sed -e ':a' -e '/\\$/{N;s/\\\n *//;ba' -e '}' |
  sed -n -e 's/--max_iters [0-9]*//' -e '/^headlight /p')
[ ${#commands[@]} -gt 0 ] || { echo "check_readme.sh: $readme shows no command" >&2; exit 1; }
for command in "${commands[@]}"; do
  # Creates the README's example of a model written by transformers.
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
