#!/usr/bin/env bash
# Runs every command of the sh blocks and tables of README.md and docs/*.md, in order, as after the quickstart:
# in a scratch folder with configs, data and a model in runs/toy. Pages show what a reader should run; this
# script shortens training, experiments, benchmarks and data (shortened), and leaves out builds. Ends with 1
# at the first failure.
# usage: check_readme.sh PROGRAM [FILE ...]
#   FILEs run one after the other in one folder; without any, each page has a folder of its own.
set -euo pipefail
[ $# -ge 1 ] || { sed -n 's/^# usage: /usage: /p' "$0" >&2; exit 2; }
program=$(realpath "$1")
shift
project=$(realpath "$(dirname "$0")/..")
files=()
[ $# = 0 ] || mapfile -t files < <(realpath "$@")
work=$(mktemp -d)
server=   # process of headlight serve
address=  # its host and port
trap '[ -z "$server" ] || kill "$server"; rm -rf "$work"' EXIT

# Sets `words` to a command with few steps and repeats instead of those that it asks for.
shortened() {
  words=()
  while [ $# -gt 0 ]; do
    case $1 in
      --max_iters | --iters | --starts) shift ;;
      --full) ;;
      'off name_mover') words+=('off diffuse') ;;  # the class of heads that have learned nothing
      *) words+=("$1") ;;
    esac
    shift
  done
  case "${words[*]:0:2}" in
    train*) words+=(--eval_interval 4 --eval_iters 1 --max_iters "$([[ ${words[*]} == *--resume* ]] && echo 6 || echo 4)") ;;
    bench*) words+=(--steps 2 --warmup 1) ;;
    'lab single-vs-multi') words+=(--iters 20 --starts 2) ;;
    'lab heads' | 'lab pre-post-ln') words+=(--iters 20) ;;
  esac
}

headlight() {
  local words
  [ "$1" != serve ] || { start_server "$@"; return; }
  shortened "$@"
  "$program" "${words[@]}" --log_level warn
}

# Starts a server on a free port. It runs until the next one or the end of the page.
start_server() {
  stop_server
  rm -f server.txt
  "$program" "$@" --port 0 --json >server.txt &
  server=$!
  until [ -s server.txt ] || ! kill -0 "$server"; do sleep 0.1; done
  address=$(sed -n 's|.*"http://\([^"/]*\).*|\1|p' server.txt)
}

# Ends the server, if one runs, and returns its exit code.
stop_server() {
  [ -n "$server" ] || return 0
  local process=$server
  server=
  kill -TERM "$process"
  wait "$process"
}

curl() { command curl --fail-with-body "${@//localhost:8080/$address}"; }

# Prints the commands of the sh blocks of a page, each on one line, without comments and builds, and
# those with arguments in the last column of tables or at the end of list items ("- **Command:** `...`").
commands_of() {
  awk '/^```sh$/ {on = 1; next} /^```$/ {on = 0} on
       match($0, /^\|.*\| `headlight [^`]+ [^`]+` \|$/) {sub(/.*\| `/, ""); sub(/` \|$/, ""); print}
       match($0, /^- \*\*.*:\*\* `headlight [^`]+`$/) {sub(/^[^`]*`/, ""); sub(/`$/, ""); print}' "$1" |
    sed -e ':a' -e '/\\$/{N;s/\\\n *//;ba' -e '}' |
    sed -e '/^\.\/tools\//d' -e '/^cmake /d' -e '/^ctest /d' -e '/^build\//d' -e '/^$/d'
}

run_page() {
  local page=$1 commands command
  mapfile -t commands < <(commands_of "$page")
  for command in "${commands[@]}"; do
    if ! eval "$command" >out.txt 2>err.txt </dev/null; then
      echo "FAILED: ${page#"$project"/}: $command" >&2
      cat err.txt >&2
      exit 1
    fi
    echo "ok: $command"
  done
  stop_server || { echo "FAILED: ${page#"$project"/}: the server exited with an error" >&2; exit 1; }
}

# Makes a folder as the quickstart leaves it, with 100 stories and a model that has the tokens of all
# stories and has hardly been trained.
cd "$work"
mkdir -p start/data
ln -s "$project/configs" start
awk -v RS= -v ORS='\n\n' 'NR <= 100' "$project/data/toy.txt" >start/data/toy.txt
head -n 100 "$project/data/toy.annotations.jsonl" >start/data/toy.annotations.jsonl
head -n 40 "$project/data/cards.jsonl" >start/data/cards.jsonl
head -n 10 "$project/data/cards_held_out.jsonl" >start/data/cards_held_out.jsonl
(cd start && headlight train configs/toy.toml --data "$project/data/toy.txt" >/dev/null 2>&1)
if [ ${#files[@]} -gt 0 ]; then
  cd start
  for page in "${files[@]}"; do run_page "$page"; done
else
  for page in "$project/README.md" "$project"/docs/*.md; do
    cp -r start "$work/page"
    cd "$work/page"
    run_page "$page"
    cd "$work"
    rm -r "$work/page"
  done
fi
