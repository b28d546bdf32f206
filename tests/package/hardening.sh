#!/usr/bin/env bash
# Checks that a built program is hardened: position independent, relocations read-only, stack not
# executable, libraries from absolute folders only, no path of the source inside. With "checked",
# the program must also check stacks, memory calls and container indices at run time.
# usage: hardening.sh PROGRAM SOURCE_DIR BUILD_DIR [checked]
set -euo pipefail
export LC_ALL=C
program=$1 source=$2 build=$3
failures=0

expect() {  # WHAT COMMAND...
  local what=$1
  shift
  if "$@"; then
    echo "ok: $what"
  else
    echo "FAILED: $what"
    failures=$((failures + 1))
  fi
}
has() { grep -Eq "$1" <<<"$2"; }
lacks() { ! grep -Eq "$1" <<<"$2"; }

segments=$(readelf -lW "$program")
dynamic=$(readelf -dW "$program")
imports=$(readelf --dyn-syms -W "$program")
# An empty entry would make the loader look into the current folder.
search_path=$(sed -n 's/.*(\(RUNPATH\|RPATH\)).*\[\(.*\)\]/\2/p' <<<"$dynamic")

expect "the program is position independent" has 'Elf file type is DYN' "$segments"
expect "its relocations become read-only" has 'GNU_RELRO' "$segments"
expect "all symbols are bound at start" has 'BIND_NOW|FLAGS_1.*NOW' "$dynamic"
expect "the stack is not executable" has 'GNU_STACK.* RW ' "$segments"
expect "no segment is both writable and executable" lacks ' RWE ' "$segments"
expect "code needs no relocation" lacks 'TEXTREL' "$dynamic"
expect "libraries come from absolute folders" has '^(/[^:]+(:/[^:]+)*)?$' "$search_path"
expect "no folder of the build is searched" lacks "$source|$build" "$search_path"
if [ "${4-}" = checked ]; then
  expect "functions with buffers check the stack" has '__stack_chk_fail' "$imports"
  expect "memory calls check their sizes" has '__(memcpy|memset|memmove|snprintf|read|fread|strncpy)_chk' "$imports"
  expect "containers check their indices" has '__glibcxx_assert_fail' "$imports"
fi
expect "no path of the source is inside" bash -c '! grep -aqF -- "$1/" "$2"' - "$source" "$program"
exit $((failures > 0))
