#!/usr/bin/env bash
# Tokens/s of 2 and 4 processes on a slow network. MPI sees each as its own host: a network
# namespace behind a veth pair to a bridge, limited by `tc tbf` in both directions. Needs root,
# iproute2, mpirun and a release build.
# usage: network.sh [MODEL] [ROUNDS] [RATE]...     (default: cpu-char 3 unlimited 10gbit 1gbit 100mbit)
set -euo pipefail
cd "$(dirname "$0")/../.."
model=${1:-cpu-char} rounds=${2:-3}
rates=("${@:3}")
[ ${#rates[@]} -gt 0 ] || rates=(unlimited 10gbit 1gbit 100mbit)
headlight=$PWD/${HEADLIGHT:-build/release/headlight}
work=$(mktemp -d)
hosts=4

clean() {
  for ((i = 0; i < hosts; ++i)); do ip netns del "hl$i" 2>/dev/null || true; done
  ip link del hlbridge 2>/dev/null || true
  rm -rf "$work"
}
trap clean EXIT

ip link add hlbridge type bridge
ip link set hlbridge up
for ((i = 0; i < hosts; ++i)); do
  ip netns add "hl$i"
  ip link add "hlv$i" type veth peer name eth0 netns "hl$i"
  ip link set "hlv$i" master hlbridge up
  ip -n "hl$i" addr add "10.77.0.$((i + 1))/24" dev eth0
  ip -n "hl$i" link set eth0 up
  ip -n "hl$i" link set lo up
done

limit() { # RATE
  for ((i = 0; i < hosts; ++i)); do
    tc qdisc del dev "hlv$i" root 2>/dev/null || true
    ip netns exec "hl$i" tc qdisc del dev eth0 root 2>/dev/null || true
    [ "$1" = unlimited ] && continue
    tc qdisc add dev "hlv$i" root tbf rate "$1" burst 512kb latency 100ms
    ip netns exec "hl$i" tc qdisc add dev eth0 root tbf rate "$1" burst 512kb latency 100ms
  done
}

# Replaces ssh for mpirun: ADDRESS COMMAND... runs in the address's namespace, as its own host.
cat >"$work/enter" <<'AGENT'
#!/bin/bash
address=$1
shift
host=hl$((${address##*.} - 1))
exec ip netns exec "$host" unshare -u bash -c 'hostname "$0"; eval "$*"' "$host" "$@"
AGENT
chmod +x "$work/enter"

tokens() { # PROCESSES
  local list=""
  for ((i = 0; i < $1; ++i)); do list+=${list:+,}10.77.0.$((i + 1)):1; done
  "$work/enter" 10.77.0.1 env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
    mpirun -n "$1" --host "$list" --oversubscribe --bind-to none \
    --mca plm_rsh_agent "$work/enter" --mca btl tcp,self --mca btl_tcp_if_include 10.77.0.0/24 \
    --mca oob_tcp_if_include 10.77.0.0/24 \
    "$headlight" bench train --config "configs/bench/$model.toml" --threads 1 --warmup 2 --steps 6 --json |
    sed -E 's/.*"tokens_per_second":([0-9.e+]+).*/\1/'
}

for rate in "${rates[@]}"; do
  limit "$rate"
  for processes in 2 4; do
    for ((round = 0; round < rounds; ++round)); do tokens "$processes"; done |
      sort -g | awk -v model="$model" -v rate="$rate" -v n="$processes" \
      '{ v[NR] = $1 } END { printf "| %s | %s | %d | %.0f tokens/s (%.0f-%.0f) |\n", model, rate, n, v[int((NR + 1) / 2)], v[1], v[NR] }'
  done
done
