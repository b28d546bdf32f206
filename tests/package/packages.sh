#!/usr/bin/env bash
# Checks that tools/install_packages.sh requests exactly the missing packages, also if packages of a
# second architecture are installed. Installs nothing: scripts replace dpkg and apt-get.
# usage: packages.sh SOURCE_DIR
set -euo pipefail
source_dir=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "FAILED: $*" >&2; exit 1; }

mkdir "$work/bin"
play() { printf '#!/bin/sh\n%s\n' "$2" >"$work/bin/$1"; chmod +x "$work/bin/$1"; }
play dpkg 'echo amd64'
play sudo 'exec "$@"'
play apt-get 'echo "$*" >>"$ASKED"'
# dpkg-query fails for a name that it does not know; else it prints a line for each architecture.
play dpkg-query '
for package; do :; done
states=$(sed -n "s/^$package: //p" "$STATES")
[ -n "$states" ] || exit 1
format=$3
for state in $states; do
  line=$(printf "%s" "$format" | sed "s/[$]{Architecture}/${state%%=*}/; s/[$]{db:Status-Status}/${state#*=}/")
  printf "$line"
done'

# usage: asks_for STATE... : prints the packages requested of apt-get if all have these states
asks_for() {
  : >"$work/asked"
  sed -n '/^[a-z_]*packages=(/,/)/p' "$source_dir/tools/install_packages.sh" | sed 's/^[a-z_]*packages=//' |
    tr -d '()' | tr -s ' ' '\n' | sed -n "s/..*/&: $*/p" >"$work/states"
  [ -s "$work/states" ] || fail "found no package in tools/install_packages.sh"
  sed -i "${CHANGE:-}" "$work/states"
  PATH="$work/bin:$PATH" ASKED="$work/asked" STATES="$work/states" \
    "$source_dir/tools/install_packages.sh" style 2>/dev/null
  sed -n 's/^install .*--no-install-recommends //p' "$work/asked"
}

asked=$(asks_for amd64=installed)
[ -z "$asked" ] || fail "all packages are installed, but requested: $asked"
asked=$(asks_for amd64=installed i386=installed)
[ -z "$asked" ] || fail "all packages are installed for two architectures, but requested: $asked"
asked=$(asks_for all=installed)
[ -z "$asked" ] || fail "all packages are installed for every architecture, but requested: $asked"
asked=$(CHANGE='s/^g++: .*/g++: i386=installed amd64=config-files/; /^cmake:/d' asks_for amd64=installed)
[ "$asked" = "g++ cmake" ] || fail "expected g++ and cmake to be requested, got: $asked"
