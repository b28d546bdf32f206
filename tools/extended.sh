#!/usr/bin/env bash
# Tests that are too slow for every change: each file compiled alone (to check its includes), thread
# tests with ThreadSanitizer, every fuzz target for SECONDS (default 60), every text for every
# tokenizer, the commands of the documentation, exported models in llama.cpp, what other programs say about drawn
# models, adapters, conversations and points (tools/peers.sh), heads of the toy model with three seeds, the Python
# package and its notebooks, clients of the server, and with Emscripten the pages of one file (five minutes of
# compiling), which are compared with docs/demo.html. Continues after a failure; ends with a table of the steps, and
# with 1 if one failed.
# `HEADLIGHT_EXTENDED=on .ci/run` runs it after the ordinary tests.
# usage: extended.sh [SECONDS]
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-60}

failed=() results=()
step() {
  echo "== $*"
  local status=0 start=$SECONDS verdict=passed
  "$@" || status=$?
  case $status in
    0) ;;
    77) verdict=skipped ;;
    *) verdict=FAILED failed+=("$*") ;;
  esac
  results+=("$(printf '%5d s | %-7s | %s' "$((SECONDS - start))" "$verdict" "$*")")
}
each_file_alone() {
  cmake --preset debug -DHEADLIGHT_PRECOMPILED=OFF -DCMAKE_CXX_COMPILER_LAUNCHER=ccache
  cmake --build --preset debug
}
step each_file_alone
step ./tools/test.sh tsan
step ./tools/fuzz.sh "$seconds"
step ./tools/parity.sh --all_texts
step ./tools/check_readme.sh build/release/headlight
json_schemas() {
  cmake --build --preset release --target headlight_schema_texts &&
    ./tools/json_schema.sh build/release/tests/parity/headlight_schema_texts
}
step json_schemas
step ./tools/llama_cpp.sh
step ./tools/peers.sh
step ./tools/toy_heads.sh
step ./tools/test_python.sh
step ./tools/test_notebooks.sh
step ./tools/clients.sh
pages_of_one_file() {
  command -v emcc >/dev/null || { echo 'skipped: emscripten is not installed'; return; }
  cmake --preset wasm -DCMAKE_CXX_COMPILER_LAUNCHER=ccache && cmake --build --preset wasm &&
    tests/web/page_engine.sh build/release/headlight && tests/web/page_training.sh build/release/headlight &&
    tests/web/file_page.sh build/release/headlight && tests/web/file_page_training.sh build/release/headlight &&
    tests/web/file_page_memory.sh build/release/headlight && ./tools/make_demo.sh --check
}
step pages_of_one_file
step ./tools/wheel.sh  # with the WebAssembly program
printf '%s\n' "${results[@]}"
if [ ${#failed[@]} -gt 0 ]; then
  printf 'failed: %s\n' "${failed[@]}" >&2
  exit 1
fi
