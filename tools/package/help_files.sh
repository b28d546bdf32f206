#!/usr/bin/env bash
# Writes the program's manual pages and shell completions into a folder, which is replaced.
# usage: help_files.sh PROGRAM FOLDER
set -euo pipefail
program=$1 folder=$2
rm -rf "$folder"
mkdir -p "$folder/man1"

"$program" --help bash >"$folder/headlight.bash"
"$program" --help zsh >"$folder/_headlight"
"$program" --help fish >"$folder/headlight.fish"

# usage: write_pages NAME [COMMAND]: the page NAME.1 and the pages of all commands below
write_pages() {
  local name=$1 command
  shift
  "$program" "$@" --help man >"$folder/man1/$name.1"
  [ $# -eq 0 ] || [ "$*" = tokenizer ] || return 0
  for command in $("$program" "$@" --help | sed -n 's/^  \([a-z][a-z]*\)  *[A-Z].*/\1/p'); do
    write_pages "$name-$command" "$@" "$command"
  done
}
write_pages headlight
