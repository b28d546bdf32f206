#!/usr/bin/env bash
# Checks the manual pages and shell completions. Every command and option must occur. Bash must
# complete commands, options, choices and file names. groff, zsh and fish must accept the files, if
# they are installed.
# usage: help_files.sh PROGRAM FOLDER
set -euo pipefail
program=$1 folder=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "FAILED: $*" >&2; exit 1; }
names() { "$program" "$@" --help | sed -n 's/^  \([a-z][a-z]*\)  *[A-Z].*/\1/p'; }
options() { "$program" "$@" --help all | sed -n 's/^  --\([a-z_0-9]*\).*/\1/p'; }

. "$folder/headlight.bash"
# usage: completed WORD... : completions of the last word, on one line
completed() {
  COMP_WORDS=(headlight "$@") COMP_CWORD=$#
  _headlight
  echo "${COMPREPLY[*]}"
}
# usage: expect EXPECTED WORD...
expect() {
  local expected=$1
  shift
  [ "$(completed "$@")" = "$expected" ] || fail "bash completes '$*' as: $(completed "$@")"
}

mapfile -t commands < <(names; names tokenizer | sed 's/^/tokenizer /')
[ ${#commands[@]} -eq 32 ] || fail "found ${#commands[@]} commands: ${commands[*]}"
for command in "${commands[@]}"; do
  read -ra words <<<"$command"
  [[ " $(completed "${words[@]}") " == *" ${words[-1]} "* ]] || fail "bash does not complete $command"
  page=$folder/man1/headlight-${command// /-}.1
  fish=$(grep -F "'$command *'" "$folder/headlight.fish" || true)
  zsh=$(sed -n "/^ *('$command '\*)/,/^ *) ;;/p" "$folder/_headlight")
  [ "$command" = tokenizer ] && continue
  bash=" $(completed "${words[@]}" --) "
  for option in $(options "${words[@]}"); do
    [[ $bash == *" --$option "* ]] || fail "bash does not complete $command --$option"
    grep -Eq -- "--$option(=|\\[)" <<<"$zsh" || fail "zsh does not complete $command --$option"
    grep -q -- " -l $option " <<<"$fish" || fail "fish does not complete $command --$option"
    grep -qF -- "\\-\\-$option\\fR" "$page" || fail "$page lacks --$option"
  done
done

cd "$work"
mkdir runs
touch book.txt
expect --n_layer train --n_l
expect "float32 bfloat16" train --dtype ""
expect bfloat16 train --dtype = b
expect "adamw sgd muon" train --optimizer =
expect "" train --n_layer ""
expect "book.txt runs" train --data ""
expect "book.txt runs" train ""
expect runs generate r
expect "int8" generate runs --weights i
expect worked-example lab w
expect generate bench gen
expect "show" tokenizer s
expect "generate gradcheck" g
expect prune help pr

if command -v groff >/dev/null; then
  for page in "$folder"/man1/*.1; do
    LC_ALL=C.UTF-8 groff -k -man -ww -Tutf8 -z "$page" 2>"$work/warnings"
    [ ! -s "$work/warnings" ] || fail "$page: $(head -3 "$work/warnings")"
  done
fi
if command -v zsh >/dev/null; then
  zsh -n "$folder/_headlight"
fi
if command -v fish >/dev/null; then
  fish --no-execute "$folder/headlight.fish"
fi
