#!/usr/bin/env bash
# Installs the runtime component into a fresh folder and uses it from there: presets and corpus
# belong together, the manual and the completion know every command, nothing to compile with is in it,
# and relative links of the documentation lead to installed files.
# usage: install.sh CMAKE BUILD_DIR
set -euo pipefail
cmake=$1 build=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$cmake" --install "$build" --component runtime --prefix "$work/prefix" >/dev/null
fail() { echo "FAILED: $*" >&2; exit 1; }

headlight=$work/prefix/bin/headlight
cd "$work"
"$headlight" train "$work/prefix/share/headlight/configs/toy.toml" --out_dir "$work/run" --max_iters 1 \
  --n_layer 1 --n_embd 16 --n_head 2 --eval_iters 1 --log_level error >/dev/null
"$headlight" generate "$work/run" --prompt "One " --max_new_tokens 3 >/dev/null
cd "$work/prefix/share/headlight"
[ -f configs/bench/cpu-char.toml ] || fail "the presets of bench are missing"
[ -s "$work/prefix/share/doc/headlight/copyright" ] || fail "the licence is missing"
[ ! -e "$work/prefix/include" ] || fail "headers are in the runtime component"

# Prints "PAGE LINK" for the relative links of all pages, outside of code blocks.
links() {
  find . -name '*.md' -exec awk 'FNR == 1 {code = 0} /^```/ {code = !code}
    !code {while (match($0, /(\]\(|src="|href=")[^)"# ]+/)) {
      link = substr($0, RSTART, RLENGTH); $0 = substr($0, RSTART + RLENGTH)
      sub(/^[^("]*[("]/, "", link)
      if (link !~ /:/) print FILENAME, link}}' {} +
}
cd "$work/prefix/share/doc/headlight"
[ "$(links | wc -l)" -gt 50 ] || fail "found few links in the documentation"
while read -r page link; do
  [ -e "$(dirname "$page")/$link" ] || fail "$page links to $link, which is not installed"
done < <(links)

mapfile -t commands < <("$headlight" --help | sed -n 's/^  \([a-z]*\)  *[A-Z].*/\1/p')
[ ${#commands[@]} -gt 5 ] || fail "found only these commands: ${commands[*]}"
. "$work/prefix/share/bash-completion/completions/headlight"
for command in "${commands[@]}"; do
  summary=$("$headlight" --help | sed -n "s/^  $command  *//p")
  grep -A1 -x -- ".B $command" "$work/prefix/share/man/man1/headlight.1" | grep -qxF -- "$summary." ||
    fail "headlight.1 does not say of $command: $summary."
  COMP_WORDS=("$headlight" "$command") COMP_CWORD=1
  _headlight
  [[ " ${COMPREPLY[*]} " == *" $command "* ]] || fail "bash does not complete $command"
done
COMP_WORDS=("$headlight" train --n_l) COMP_CWORD=2
_headlight
[ "${COMPREPLY[*]}" = --n_layer ] || fail "train --n_l becomes: ${COMPREPLY[*]}"
