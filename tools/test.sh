#!/usr/bin/env bash
# Installs what is missing, builds Headlight with warnings as errors, and runs every test.
# usage: test.sh [PRESET]     (release, debug or asan; default: release)
set -euo pipefail
cd "$(dirname "$0")/.."
preset=${1:-release}
./tools/install_packages.sh test
cmake --preset "$preset" -DCMAKE_CXX_COMPILER_LAUNCHER=ccache
cmake --build --preset "$preset"
ctest --preset "$preset" -j "$(nproc)"
