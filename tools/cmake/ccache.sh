#!/bin/sh
# Runs a compiler through ccache for a build with precompiled headers.
# usage: ccache.sh CCACHE COMPILER ARGUMENT...
# ccache must be told that macros which change with time do not matter. And it looks a header up by
# what the compiler makes of it, for which the compiler would take the old one that lies there.
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
