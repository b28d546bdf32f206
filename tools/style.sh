#!/usr/bin/env bash
# Checks the style of the C++ sources: clang-format on all files, and clang-tidy (.clang-tidy) on the
# sources that changed, at most 24 of them, chosen at random.
# usage: style.sh [--fix] [--since COMMIT | --all]
#   --fix    formats the files
#   --since  the commit to compare with; default: where the branch left origin/main, or HEAD~1
#   --all    clang-tidy on every source (about 20 minutes on two cores)
set -euo pipefail
cd "$(dirname "$0")/.."
format=(--dry-run --Werror)
since=
count=24
while [ $# -gt 0 ]; do
  case $1 in
    --fix) format=(-i); shift ;;
    --since) since=${2:?--since needs a commit}; shift 2 ;;
    --all) since=$(git hash-object -t tree /dev/null); count=100000; shift ;;
    *) echo "usage: $0 [--fix] [--since COMMIT | --all]" >&2; exit 2 ;;
  esac
done
./tools/install_packages.sh style

# Other versions of clang-format break lines at other places.
clang_format=$(command -v clang-format-14 || command -v clang-format)
find src include tests \( -name '*.cpp' -o -name '*.h' \) -print0 | xargs -0 "$clang_format" "${format[@]}"

# Works for files of another user, too, as in a container.
git() { command git -c safe.directory='*' "$@"; }
if [ -z "$since" ]; then
  since=$(git merge-base HEAD origin/main 2>/dev/null) || true
  [ -n "$since" ] && [ "$since" != "$(git rev-parse HEAD)" ] || since=HEAD~1
fi
changed=$(git diff --name-only --diff-filter=d "$since" -- 'src/*.cpp' 'tests/*.cpp' ':!src/distributed/mpi') ||
  echo "style.sh: no commit to compare with: clang-tidy is skipped" >&2
if [ -n "$changed" ]; then
  CXX=clang++ cmake -S . -B build/style -G Ninja -DHEADLIGHT_PRECOMPILED=OFF >/dev/null
  # Only files that this build compiles; tests/consumer, for one, is a project of its own.
  while read -r file; do
    ! grep -qF "\"$PWD/$file\"" build/style/compile_commands.json || echo "$file"
  done <<<"$changed" | shuf -n "$count" | sort |
    xargs -r -P "$(nproc)" -n 1 clang-tidy -quiet -p build/style 2> >(grep -v 'warnings generated' >&2 || true)
fi
echo "style.sh: no findings"
