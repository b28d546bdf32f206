#!/usr/bin/env bash
# Installs the packages that Headlight is built from, if any is missing (Debian 12 or newer, Ubuntu).
# usage: install_packages.sh [build|test|fuzz|style]
#   build   packages for the program
#   test    packages of build and for the tests
#   fuzz    packages of test, and Clang with its sanitizers and OpenMP
#   style   packages of fuzz, clang-format and clang-tidy
set -euo pipefail

# The CMake package of libzip-dev requires zipcmp, zipmerge and ziptool.
build_packages=(g++ cmake ninja-build libopenblas-openmp-dev libspdlog-dev libcxxopts-dev
  libtomlplusplus-dev nlohmann-json3-dev libzip-dev zipcmp zipmerge ziptool libxxhash-dev libutfcpp-dev
  zlib1g-dev libzstd-dev libpcre2-dev pkg-config libboost-dev libedit-dev)
# ccache shortens repeated builds, librsvg draws PNG files, chromium, its driver, curl and jq test the
# pages in a browser, and MPI tests several processes.
test_packages=(ccache librsvg2-2 catch2 python3 python3-dev python3-venv chromium chromium-driver curl jq libopenmpi-dev openmpi-bin)
fuzz_packages=(clang libclang-rt-dev libomp-dev)
style_packages=(clang-format clang-tidy)

case ${1:-build} in
  build) wanted=("${build_packages[@]}") ;;
  test) wanted=("${build_packages[@]}" "${test_packages[@]}") ;;
  fuzz) wanted=("${build_packages[@]}" "${test_packages[@]}" "${fuzz_packages[@]}") ;;
  style) wanted=("${build_packages[@]}" "${test_packages[@]}" "${fuzz_packages[@]}" "${style_packages[@]}") ;;
  *) echo "usage: $0 [build|test|fuzz|style]" >&2; exit 2 ;;
esac

# With packages of several architectures, dpkg-query prints a line for each.
native=$(dpkg --print-architecture)
is_installed() {
  local states
  states=$(dpkg-query -W -f '${Architecture} ${db:Status-Status}\n' "$1" 2>/dev/null) || true
  grep -Eqx "($native|all) installed" <<<"$states"
}

missing=()
for package in "${wanted[@]}"; do
  is_installed "$package" || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

echo "installing: ${missing[*]}" >&2
as_root=()
[ "$(id -u)" = 0 ] || as_root=(sudo)
"${as_root[@]}" apt-get update -qq
DEBIAN_FRONTEND=noninteractive "${as_root[@]}" apt-get install -y -qq --no-install-recommends \
  "${missing[@]}" >/dev/null
