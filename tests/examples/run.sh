#!/usr/bin/env bash
# Runs the programs of docs/examples and compares each output with the text beside its source.
# usage: run.sh DIR   DIR: folder of the built programs
set -euo pipefail
examples=$(cd "$(dirname "$0")/../../docs/examples" && pwd)
for source in "$examples"/*.cpp; do
  name=$(basename "$source" .cpp)
  "$1/$name" | diff "$examples/$name.txt" -
done
