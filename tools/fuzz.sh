#!/usr/bin/env bash
# Fuzzes all readers of untrusted bytes (tests/fuzz) and prints a table of the runs.
# Findings are in build/fuzz/findings; after the fix, add them to tests/fuzz/corpus/TARGET.
# usage: fuzz.sh [SECONDS] [TARGET ...]     (for each target; default: 60, all of them)
# Exit code 1 if anything was found.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-60}
shift || true
./tools/install_packages.sh fuzz

export CXX=${CXX:-$(command -v clang++ || command -v clang++-14)}
launcher=()
command -v ccache >/dev/null && launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
cmake --preset fuzz "${launcher[@]}" >/dev/null
cmake --build --preset fuzz

targets=("$@")
[ ${#targets[@]} -gt 0 ] || targets=($(ls tests/fuzz/corpus))
# The table counts inputs that are new beside the committed corpus, so each run starts fresh.
found=build/fuzz/corpus
findings=build/fuzz/findings
rm -rf "$found"
mkdir -p "$findings"
# A quarantine of freed memory below the default of 256 MB stays in the CPU caches.
export OMP_NUM_THREADS=1 ASAN_OPTIONS=allocator_may_return_null=1:quarantine_size_mb=16

number() { sed -n "s/^stat::$2: *//p" "$1"; }

# TARGET: fuzzes a target and prints its row. Returns 1 if something was found.
fuzz_target() {
  local target=$1 log=build/fuzz/$1.log status=0 edges start
  mkdir -p "$found/$target"
  # A Zstandard frame may ask for a window of 128 MB, as the zstd program allows.
  local limit=64
  [ "$target" != texts ] || limit=160
  # A file must not control how much memory is allocated: no input needs more than 64 MB at once.
  "build/fuzz/tests/fuzz/fuzz_$target" "$found/$target" "tests/fuzz/corpus/$target" \
    -dict="tests/fuzz/dictionaries/$target.dict" -artifact_prefix="$findings/$target-" \
    -max_total_time="$seconds" -timeout=5 -malloc_limit_mb=$limit -rss_limit_mb=512 -max_len=8192 \
    -print_final_stats=1 -close_fd_mask=3 >"$log" 2>&1 || status=1
  edges=$(grep -o 'cov: [0-9]*' "$log" | tail -1 | cut -d' ' -f2)
  start=$(sed -n 's/.*INITED cov: \([0-9]*\).*/\1/p' "$log")
  printf '%-12s %12s %9s %9s %9s %8s MB %8s\n' "$target" "$(number "$log" number_of_executed_units)" \
    "$(number "$log" average_exec_per_sec)" "${edges:-?}" "$((${edges:-0} - ${start:-0}))" \
    "$(number "$log" peak_rss_mb)" "$([ $status = 0 ] && echo 0 || echo "1: $log")"
  return $status
}

# A target runs on one core, so there are as many at a time as cores.
printf '%-12s %12s %9s %9s %9s %11s %8s\n' target executions exec/s edges new 'peak memory' crashes
export found findings seconds
export -f number fuzz_target
printf '%s\n' "${targets[@]}" | xargs -P "$(nproc)" -I '{}' bash -c 'fuzz_target {}' || exit 1
