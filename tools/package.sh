#!/usr/bin/env bash
# Makes the Debian packages of a clean build: headlight and, if MPI is found, headlight-mpi. Prints
# their paths and SHA-256. The same source on the same system gives the same bytes, in any folder at
# any time (tools/package/reproducible.sh).
# usage: package.sh [BUILD_DIR]      (default: build/package)
# Needs dpkg-dev and file (for dpkg-shlibdeps), librsvg2-2 (its version stands in the bill of materials) and the packages
# for building the program.
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:-build/package}
for package in dpkg-dev file librsvg2-2; do
  dpkg-query -W "$package" >/dev/null 2>&1 || { echo "package.sh: $package not found: install it" >&2; exit 2; }
done
umask 022
export LC_ALL=C.UTF-8 TZ=UTC
# Times in the package are the commit's; without a Git history, the year 2020.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 1577836800)}
export SOURCE_DATE_EPOCH

cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX=/usr \
  -DHEADLIGHT_TESTS=OFF -DHEADLIGHT_ALL_CPUS=ON -DCMAKE_UNITY_BUILD=ON \
  -DHEADLIGHT_HARDENING=ON -DHEADLIGHT_REPRODUCIBLE=ON -DHEADLIGHT_PRECOMPILED=OFF >&2
cmake --build "$build" ${HEADLIGHT_JOBS:+-j "$HEADLIGHT_JOBS"} >&2
rm -f "$build"/headlight_*.deb "$build"/headlight-mpi_*.deb
(cd "$build" && cpack -G DEB >&2)
sha256sum "$build"/headlight*_*.deb
