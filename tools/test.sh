#!/usr/bin/env bash
# Installs what is missing, builds Headlight with warnings as errors, runs every test, and compares the numbers with
# PyTorch's (tools/parity.sh) unless HEADLIGHT_PARITY=off or PyPI cannot be reached.
# usage: test.sh [PRESET]     (release, debug, asan or tsan; default: release)
#   asan   AddressSanitizer and UndefinedBehaviorSanitizer; Clang, which compiles them faster (CXX=g++ for GCC)
#   tsan   ThreadSanitizer on the tests about threads, also by Clang
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
ctest --preset "$preset" -j "$(nproc)"
if [ "$preset" = release ] && [ "${HEADLIGHT_PARITY:-on}" != off ]; then
  ./tools/parity.sh || { [ $? = 3 ] && echo "left out: the comparison with PyTorch"; }
fi
