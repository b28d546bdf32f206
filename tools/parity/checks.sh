#!/usr/bin/env bash
# Runs checkers and prints their results; tools/parity.sh and tools/peers.sh source it after common.sh. Needs $again, the
# command that repeats the run, $seed, $program and $python. check() keeps tables and messages, show_results() prints them.
scratch=$(mktemp -d)
lane=  # process group of checks beside the others
trap '[ -z "$lane" ] || kill -- "-$lane" 2>/dev/null || true; rm -rf "$scratch"' EXIT
echo "seed $seed (repeat with: $again)" >&2

# NAME COMMAND: keeps the table and the messages of a command, and the command if it found a difference or failed.
check() {
  step "$scratch/steps" "$1" "${@:2}" >"$scratch/$1.table" 2>"$scratch/$1.messages" ||
    [ $? = 77 ] || echo "${*:2}" >"$scratch/$1.differs"
  grep "| $1\$" "$scratch/steps" >&2
}
# NAME CHECKER OPTIONS: runs tools/parity/check_CHECKER.py on the cases of the seed.
checker() {
  check "$1" "$python" tools/parity/check.py "$2" "$program" "${@:3}" --seed "$seed"
}
# Logs are cut at their beginning: what failed comes last, with the command that repeats it.
show_results() {
  local messages differs
  for messages in "$scratch"/*.messages; do
    [ -e "${messages%.messages}.differs" ] || cut -c -300 "$messages"
  done >&2
  cat "$scratch"/*.table | python3 tools/parity/table.py
  for differs in "$scratch"/*.differs; do
    [ -e "$differs" ] || continue
    echo "== $(cat "$differs")"
    tail -n 20 "${differs%.differs}.messages" | cut -c -2000
  done
  show_steps "$scratch/steps" || { echo "seed $seed: DIFFERS or failed; repeat with: $again"; return 1; }
  echo "seed $seed: all agree"
}
