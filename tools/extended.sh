#!/usr/bin/env bash
# Tests that are too slow for every change: each file compiled alone (to check its includes), thread tests with
# ThreadSanitizer, every fuzz target for SECONDS (default 60), every text for every tokenizer, the commands of the
# documentation, what other programs say about drawn and exported models, adapters, conversations and points
# (tools/peers.sh), heads of the toy model with three seeds, the lab's longer experiments, the Python package and its
# notebooks, clients of the server, and with Emscripten the pages of one file (five minutes of compiling), which are
# compared with docs/demo.html. Continues after a failure; ends with a table of the steps, and with 1 if one failed.
# `HEADLIGHT_EXTENDED=on .ci/run` runs it after the ordinary tests.
# usage: extended.sh [SECONDS]
set -euo pipefail
cd "$(dirname "$0")/.."
source tools/common.sh
seconds=${1:-60}

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
# COMMAND: runs a part, and continues after a failure.
part() {
  echo "== $*"
  step "$scratch/steps" "$*" "$@" || true
}
# The compiler checks each source in the project without generating code, which takes half of the time.
each_file_alone() {
  cmake --preset debug -DHEADLIGHT_PRECOMPILED=OFF >/dev/null
  jq -r --arg build "$PWD/build/" '.[] | select(.file | startswith($build) | not) | .command' \
    build/debug/compile_commands.json | sed 's/ -o [^ ]*/ -fsyntax-only/' |
    xargs -d '\n' -n 1 -P "$(nproc)" bash -c
}
lab_experiments() {
  build_release headlight_tests
  build/release/tests/headlight_tests '[lab_experiments]'
}
pages_of_one_file() {
  command -v emcc >/dev/null || { echo 'skipped: emscripten is not installed'; return 77; }
  cmake --preset wasm -DCMAKE_CXX_COMPILER_LAUNCHER=ccache && cmake --build --preset wasm || return 1
  local test
  for test in page_engine page_training file_page file_page_training file_page_memory; do
    "tests/web/$test.sh" build/release/headlight || return 1
  done
  tests/web/demo.sh || return 1
  ./tools/make_demo.sh --check
}
part each_file_alone
part ./tools/test.sh tsan
part ./tools/fuzz.sh "$seconds"
part build_release headlight_cli
part ./tools/peers.sh
# The checkers that peers.sh has run are not repeated.
grep -q 'skipped | ./tools/peers.sh' "$scratch/steps" && part ./tools/parity.sh --all_texts ||
  part ./tools/parity.sh --all_texts --without_peers
part ./tools/check_readme.sh build/release/headlight
part ./tools/toy_heads.sh
part lab_experiments
part ./tools/test_python.sh
part ./tools/test_notebooks.sh
part ./tools/clients.sh
part pages_of_one_file
part ./tools/wheel.sh  # with the WebAssembly program
show_steps "$scratch/steps"
