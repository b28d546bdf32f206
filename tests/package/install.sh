#!/usr/bin/env bash
# Installs the runtime component into a fresh folder and checks the result: presets find the corpus,
# the examples of --help work, manual pages and completions exist, headers do not, and relative
# links of the documentation lead to installed files.
# usage: install.sh CMAKE BUILD_DIR
set -euo pipefail
cmake=$1 build=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$cmake" --install "$build" --component runtime --prefix "$work/prefix" >/dev/null
fail() { echo "FAILED: $*" >&2; exit 1; }

headlight=$work/prefix/bin/headlight
cd "$work"
"$headlight" train "$work/prefix/share/headlight/configs/toy.toml" --max_iters 1 --eval_iters 1 \
  --log_level error >/dev/null
ln -s "$work"/prefix/share/headlight/{configs,data} .
mapfile -t examples < <("$headlight" --help | sed -n 's/^  headlight \([a-z]\)/\1/p')
[ ${#examples[@]} -eq 5 ] || fail "found these examples: ${examples[*]}"
for example in "${examples[@]}"; do
  eval "set -- $example"
  [ "$1" != train ] || set -- "$@" --max_iters 2 --eval_iters 1 --out_dir runs/short  # a reader trains longer
  "$headlight" "$@" --log_level error >/dev/null || fail "headlight $*"
done
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

cd "$work/prefix/share"
for file in man/man1/headlight{,-train,-tokenizer-encode}.1 bash-completion/completions/headlight \
  fish/vendor_completions.d/headlight.fish zsh/*/_headlight; do
  [ -s "$file" ] || fail "$file is missing"
done
