#!/usr/bin/env bash
# Long test of the promises of tests/fault/README.md: COUNT kills at random instants (default 1000),
# a fault at every single call, power failures at every instant, COUNT / 5 signals, as many kills of
# one process among several, eight programs on one run directory, and 20,000 saves. Takes a few
# minutes on two cores. Ends with 1 if a campaign fails.
# usage: fault.sh [COUNT] [SEED]
set -euo pipefail
cd "$(dirname "$0")/.."
source tools/common.sh
count=${1:-1000}
seed=${2:-$(random_seed)}
./tools/install_packages.sh test
build_release headlight_fault

failed=0
fault() {
  build/release/tests/fault/headlight_fault "$@" || failed=1
}
fault kills "$count" "$seed"
fault ranks "$((count / 5))" "$seed"
for kind in kill tear short EINTR ENOSPC ENOSPC+ EIO EMFILE EACCES; do
  fault calls "$kind"
done
fault power 0 "$seed"
fault signals "$((count / 5))" "$seed"
fault lock
tests/fault/soak.sh build/release/headlight 20000 || failed=1
echo "seed $seed: $([ $failed = 0 ] && echo "all campaigns passed" || echo "a campaign FAILED")"
exit $failed
