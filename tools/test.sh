#!/usr/bin/env bash
# Installs missing packages, builds Headlight with warnings as errors, runs every test, and compares
# numbers with PyTorch's (tools/parity.sh) and tests the Python package (tools/test_python.sh)
# unless HEADLIGHT_PARITY=off or PyPI is unreachable.
# usage: test.sh [PRESET]     (release, debug, asan or tsan; default: release)
#   asan   AddressSanitizer and UndefinedBehaviorSanitizer, by default with Clang (CXX=g++ for GCC)
#   tsan   ThreadSanitizer on the tests of threads, by default with Clang
set -euo pipefail
cd "$(dirname "$0")/.."
preset=${1:-release}
if [ "$preset" = asan ] || [ "$preset" = tsan ]; then
  ./tools/install_packages.sh fuzz
  export CXX=${CXX:-$(command -v clang++ || command -v clang++-14)}
else
  ./tools/install_packages.sh test
fi
cmake --preset "$preset" -DCMAKE_CXX_COMPILER_LAUNCHER=ccache
cmake --build --preset "$preset"

# Many tests wait for disks, processes or a browser, so one test more than CPUs runs at a time,
# beside the comparison with PyTorch. Its cases are the same in every run; extended.sh draws new ones.
parity=  # process group of the comparison
scratch=$(mktemp -d)
trap '[ -z "$parity" ] || kill -- "-$parity" 2>/dev/null || true; rm -rf "$scratch"' EXIT
if [ "$preset" = release ] && [ "${HEADLIGHT_PARITY:-on}" != off ]; then
  set -m
  ./tools/parity.sh --built --seed 1 >"$scratch/parity" 2>&1 &
  parity=$!
  set +m
fi
# Prints the last 40 lines of each failed test once more, so that they stand at the end.
print_failures() {
  local test
  cut -d: -f2- "build/$preset/Testing/Temporary/LastTestsFailed.log" | while read -r test; do
    echo "== $test"
    awk -v test="$test" '$0 ~ /^[0-9]+\/[0-9]+ Testing: / {inside = substr($0, index($0, ": ") + 2) == test}
      inside' "build/$preset/Testing/Temporary/LastTest.log" | sed '/^<end of output>/q' | tail -n 40
  done
}
ctest --preset "$preset" -j "$(($(nproc) + 1))" || { print_failures; exit 1; }
if [ -n "$parity" ]; then
  status=0
  wait "$parity" || status=$?
  parity=
  cat "$scratch/parity"
  [ "$status" != 3 ] || echo "skipped: the comparison with PyTorch"
  [ "$status" = 0 ] || [ "$status" = 3 ]
  status=0
  ./tools/test_python.sh --built || status=$?
  [ "$status" != 3 ] || echo "skipped: the Python package"
  [ "$status" = 0 ] || [ "$status" = 3 ]
fi
