#!/usr/bin/env bash
# Makes docs/demo.html: a page of one file with the stories of data/stories in both languages. A release makes it
# anew. It needs Emscripten (docs/page.md), jq, and a CPU with AVX2.
# usage: make_demo.sh [--check] [MODEL]
#   --check  does not write docs/demo.html, but compares it with the page that this makes, and tests that page. Ends
#            with 1 if stories or tabs differ. Weights, program and code may be newer until the next release.
#   MODEL    run directory, or a GGUF file, which stays as it is; default: trains configs/toy.toml (a minute on 2 cores)
# Environment variables: HEADLIGHT, a program, and HEADLIGHT_ENGINE, the folder of a WebAssembly build. Without them,
# the script builds both (build/release, build/wasm).
set -euo pipefail
project=$(realpath "$(dirname "$0")/..")
demo=$project/docs/demo.html
most_bytes=2500000
is_check=
[ "${1:-}" != --check ] || { is_check=1; shift; }
[ $# -le 1 ] && [[ ${1:-} != -* ]] || { sed -n 's/^# usage: /usage: /p' "$0" >&2; exit 2; }
model=${1:+$(realpath "$1")}
# build PRESET TARGET
build() { (cd "$project" && cmake --preset "$1" && cmake --build --preset "$1" --target "$2") >&2; }
[ -n "${HEADLIGHT:-}" ] || build release headlight_cli
[ -n "${HEADLIGHT_ENGINE:-}" ] || build wasm headlight_page_engine
headlight=$(realpath "${HEADLIGHT:-$project/build/release/headlight}")
engine=$(realpath "${HEADLIGHT_ENGINE:-$project/build/wasm}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

export LC_ALL=C.UTF-8

# The kernels for AVX2 train the same bits on every CPU that has it. Weights of 4 bits keep the page small.
if [ -z "$model" ]; then
  model=$work/trained
  "$headlight" train "$project/configs/toy.toml" --data "$project/data/toy.txt" --out_dir "$model" \
    --cpu_variant v3 --products own --log_level warn
fi
if [[ $model == *.gguf ]]; then
  cp "$model" toy.gguf
else
  "$headlight" export "$model" --to gguf --type q4_0 --calibrate "$project/data/toy.txt" --documents blank_line \
    --cpu_variant v3 --products own --log_level error --out toy.gguf >/dev/null
fi
"$headlight" page toy.gguf --story "$project/data/stories/heads.md" --story "$project/data/stories/heads.ko.md" \
  --views heads,pair,layers,write --engine "$engine" --log_level error --out demo.html >/dev/null
# Commands that readers copy name the run of the quickstart.
sed -i '/^<script type="text\/plain" id="page-settings">/s|"source":"toy.gguf"|"source":"runs/toy"|' demo.html
bytes=$(stat -c %s demo.html)
[ "$bytes" -le "$most_bytes" ] || { echo "make_demo.sh: the page has $bytes bytes, more than $most_bytes" >&2; exit 1; }

if [ -z "$is_check" ]; then
  mv demo.html "$demo"
  chmod 644 "$demo"
  echo "$demo: $bytes bytes"
  exit
fi

settings() { sed -n 's,^<script type="text/plain" id="page-settings">\(.*\)</script>$,\1,p' "$1" | jq -S "$2"; }
# part NAME FILE: prints a part of a page.
part() {
  case $1 in
    stories) settings "$2" '[.stories, .views, .name, .source, .text]' ;;
    model) grep -F 'class="page-model"' "$2" ;;
    program) settings "$2" .engine; grep -F 'id="page-program"' "$2" ;;
    code) settings "$2" .script; grep -vE '(id="page-(settings|program)"|class="page-model")' "$2" ;;
  esac
}
status=0
for name in stories model program code; do
  if cmp -s <(part "$name" demo.html) <(part "$name" "$demo"); then
    echo "$name: equal"
  elif [ "$name" = stories ]; then
    echo "$name: docs/demo.html has others; make it anew with tools/make_demo.sh" >&2
    status=1
  else
    echo "$name: newer than docs/demo.html; the next release makes it anew"
  fi
done
"$project/tests/web/demo.sh" demo.html || [ $? = 77 ] || status=1
exit $status
