#!/usr/bin/env bash
# Makes a folder with the ARM packages that the preset aarch64 needs, and installs its compiler (Debian 12).
# usage: aarch64_sysroot.sh FOLDER
set -euo pipefail

[ $# = 1 ] || { echo "usage: $0 FOLDER" >&2; exit 2; }

as_root=()
[ "$(id -u)" = 0 ] || as_root=(sudo)
DEBIAN_FRONTEND=noninteractive "${as_root[@]}" apt-get install -y -qq --no-install-recommends \
  g++-12-aarch64-linux-gnu mmdebstrap qemu-user-static >/dev/null

# As in install_packages.sh, without programs that run on this machine.
packages=(libc6-dev libstdc++-12-dev libgomp1 libopenblas-openmp-dev libspdlog-dev libcxxopts-dev
  libtomlplusplus-dev nlohmann-json3-dev libzip-dev zipcmp zipmerge ziptool libxxhash-dev libutfcpp-dev
  zlib1g-dev libzstd-dev libpcre2-dev libboost-dev libedit-dev catch2)
mmdebstrap --quiet --variant=extract --arch=arm64 --include="$(IFS=,; echo "${packages[*]}")" bookworm "$1"
# qemu-user looks for files in this folder first, and its /dev/ptmx opens no terminals.
"${as_root[@]}" rm -rf "$1/dev"
