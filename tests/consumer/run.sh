#!/usr/bin/env bash
# Installs a build of Headlight into a fresh folder, builds the programs beside this script against
# it, and runs them.
# usage: run.sh CMAKE BUILD_DIR CXX_COMPILER
set -euo pipefail
cmake=$1 build=$2 compiler=$3
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$cmake" --install "$build" --prefix "$work/prefix" >/dev/null
"$cmake" -S "$here" -B "$work/build" -DCMAKE_PREFIX_PATH="$work/prefix" \
  -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_BUILD_TYPE=Release >/dev/null
"$cmake" --build "$work/build" >/dev/null
"$work/build/consumer"
"$work/build/own_op"
"$work/build/own_model"
cd "$work" && "$work/build/steering"
