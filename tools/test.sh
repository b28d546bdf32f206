#!/usr/bin/env bash
# Installs missing packages, builds Headlight with warnings as errors, runs every test, and compares
# numbers with PyTorch's (tools/parity.sh) and tests the Python package (tools/test_python.sh)
# unless HEADLIGHT_PARITY=off or PyPI is unreachable.
# usage: test.sh [PRESET ...]     (release, debug, asan or tsan; default: release)
#   asan   AddressSanitizer and UndefinedBehaviorSanitizer, by default with Clang (CXX=g++ for GCC)
#   tsan   ThreadSanitizer on the tests of threads, by default with Clang
set -euo pipefail
cd "$(dirname "$0")/.."

scratch=$(mktemp -d)
jobs=()  # process groups of commands that run beside others
trap 'for job in "${jobs[@]}"; do kill -- "-$job" 2>/dev/null || true; done; rm -rf "$scratch"' EXIT
# NAME COMMAND...: runs a command that needs PyPI beside the next ones.
start() {
  set -m
  "${@:2}" >"$scratch/$1" 2>&1 &
  set +m
  jobs+=("$!")
}
# NAME: waits for the command that was started last, and prints what it has printed. 3: it could not reach PyPI.
finish() {
  local status=0
  wait "${jobs[-1]}" || status=$?
  unset 'jobs[-1]'
  cat "$scratch/$1"
  [ "$status" != 3 ] || echo "skipped: $1"
  [ "$status" = 0 ] || [ "$status" = 3 ]
}

# PRESET: prints the last 40 lines of each failed test once more, so that they stand at the end.
print_failures() {
  local test folder=build/$1/Testing/Temporary
  cut -d: -f2- "$folder/LastTestsFailed.log" | while read -r test; do
    echo "== $test"
    awk -v test="$test" '$0 ~ /^[0-9]+\/[0-9]+ Testing: / {inside = substr($0, index($0, ": ") + 2) == test}
      inside' "$folder/LastTest.log" | sed '/^<end of output>/q' | tail -n 40
  done
}
# PRESET: builds. Many tests wait for disks, processes or a browser, so one test more than CPUs runs at a time.
build() {
  if [ "$1" = asan ] || [ "$1" = tsan ]; then
    ./tools/install_packages.sh fuzz
    local -x CXX=${CXX:-$(command -v clang++ || command -v clang++-14)}
  else
    ./tools/install_packages.sh test
  fi
  cmake --preset "$1" -DCMAKE_CXX_COMPILER_LAUNCHER=ccache
  cmake --build --preset "$1"
}
run_tests() {
  ctest --preset "$1" -j "$(($(nproc) + 1))" || { print_failures "$1"; exit 1; }
}

for preset in "${@:-release}"; do
  build "$preset"
  if [ "$preset" = release ] && [ "${HEADLIGHT_PARITY:-on}" != off ]; then
    # The cases are the same in every run, of a seed that few ill-conditioned models slow down; extended.sh draws others.
    start "the comparison with PyTorch" ./tools/parity.sh --built --seed 5
    run_tests release
    finish "the comparison with PyTorch"
    start "the Python package" ./tools/test_python.sh --built  # beside the next build
  else
    run_tests "$preset"
  fi
done
[ ${#jobs[@]} = 0 ] || finish "the Python package"
