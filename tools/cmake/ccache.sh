#!/bin/sh
# Runs a compiler through ccache for a build with precompiled headers.
# usage: ccache.sh CCACHE COMPILER ARGUMENT...
# Lets ccache ignore time macros. Deletes an existing precompiled header first: ccache preprocesses
# the header, and the compiler would use the old one.
# Compares the files of a precompiled header by content (depend mode), not by preprocessed text: GCC
# reads a file with #pragma once again if a comment has changed since.
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
if [ -n "$is_header" ]; then
  rm -f "$output"
  export CCACHE_DEPEND=1
fi
export CCACHE_SLOPPINESS=pch_defines,time_macros
exec "$@"
