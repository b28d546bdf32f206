#!/bin/sh
# Runs a compiler through ccache for a build with precompiled headers.
# usage: ccache.sh CCACHE COMPILER ARGUMENT...
# Lets ccache ignore time macros. Deletes an existing precompiled header first: ccache preprocesses
# the header, and the compiler would use the old one.
output=
is_header=
previous=
for argument; do
  case $previous in
    -o) output=$argument ;;
    -x) [ "$argument" = c++-header ] && is_header=yes ;;
  esac
  previous=$argument
done
[ -z "$is_header" ] || rm -f "$output"
export CCACHE_SLOPPINESS=pch_defines,time_macros
exec "$@"
