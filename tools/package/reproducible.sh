#!/usr/bin/env bash
# Builds the package twice, with different folder names, times, file modes, locales and numbers of
# jobs, and reports whether program, library and package are identical.
# usage: reproducible.sh [OUT]      exits with 1 if they differ; keeps both folders then
# The folder OUT receives the package and the unstripped program.
# HEADLIGHT_JOBS limits the number of compilers at a time. Compiler caches are off.
set -euo pipefail
cd "$(dirname "$0")/../.."
out=${1:+$(realpath "$1")}
work=$(mktemp -d)
export CCACHE_DISABLE=1
epoch=$(git log -1 --format=%ct)

copy() {  # FOLDER: copies the tracked and new files of the working tree
  mkdir -p "$1"
  git ls-files -z --cached --others --exclude-standard | tar --null -T - -cf - | tar -xf - -C "$1"
}
copy "$work/a"
(umask 077 && copy "$work/another/folder, with a longer name")
second="$work/another/folder, with a longer name"
find "$second" -exec touch -d '2001-02-03' {} +

(cd "$work/a" && SOURCE_DATE_EPOCH=$epoch ./tools/package.sh build >/dev/null)
(cd "$second" && umask 077 && LC_ALL=C TZ=Asia/Seoul SOURCE_DATE_EPOCH=$epoch HEADLIGHT_JOBS=1 \
  ./tools/package.sh built-elsewhere >/dev/null)

same=yes
for file in headlight libheadlight_core.a libheadlight.a headlight.cdx.json "headlight_*.deb" "headlight-mpi_*.deb"; do
  first_sum=$(cd "$work/a/build" && sha256sum $file)
  second_sum=$(cd "$second/built-elsewhere" && sha256sum $file)
  if [ "$first_sum" = "$second_sum" ]; then
    echo "same    $first_sum"
  else
    echo "DIFFERS ${first_sum%% *} ${second_sum}"
    same=no
  fi
done
[ $same = yes ] || { echo "kept for comparison: $work" >&2; exit 1; }
if [ -n "$out" ]; then
  mkdir -p "$out"
  cp "$work"/a/build/headlight_*.deb "$work/a/build/headlight" "$out"
fi
rm -rf "$work"
