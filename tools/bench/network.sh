#!/usr/bin/env bash
# Tokens/s of several processes on a slow network, as JSON. MPI sees each as its own host: a network namespace behind a
# veth pair to a bridge, limited by `tc tbf` in both directions. Needs root, iproute2, mpirun and a release build.
# usage: network.sh MODEL PROCESSES RATE      (RATE: unlimited, or as 10gbit; HEADLIGHT: the program)
set -euo pipefail
cd "$(dirname "$0")/../.."
[ $# = 3 ] || { sed -n 's/^# usage: /usage: /p' "$0" >&2; exit 2; }
model=$1 hosts=$2 rate=$3
headlight=$(realpath "${HEADLIGHT:-build/release/headlight}")
work=$(mktemp -d)
clean() {
  for ((i = 0; i < hosts; ++i)); do ip netns del "hl$i" 2>/dev/null || true; done
  ip link del hlbridge 2>/dev/null || true
  rm -rf "$work"
}
trap clean EXIT

ip link add hlbridge type bridge
ip link set hlbridge up
list=
for ((i = 0; i < hosts; ++i)); do
  ip netns add "hl$i"
  ip link add "hlv$i" type veth peer name eth0 netns "hl$i"
  ip link set "hlv$i" master hlbridge up
  ip -n "hl$i" addr add "10.77.0.$((i + 1))/24" dev eth0
  ip -n "hl$i" link set eth0 up
  ip -n "hl$i" link set lo up
  list+=${list:+,}10.77.0.$((i + 1)):1
  [ "$rate" = unlimited ] && continue
  tc qdisc add dev "hlv$i" root tbf rate "$rate" burst 512kb latency 100ms
  ip netns exec "hl$i" tc qdisc add dev eth0 root tbf rate "$rate" burst 512kb latency 100ms
done

# Replaces ssh for mpirun: ADDRESS COMMAND... runs in the address's namespace, as its own host.
cat >"$work/enter" <<'AGENT'
#!/bin/bash
address=$1
shift
host=hl$((${address##*.} - 1))
exec ip netns exec "$host" unshare -u bash -c 'hostname "$0"; eval "$*"' "$host" "$@"
AGENT
chmod +x "$work/enter"
"$work/enter" 10.77.0.1 env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
  mpirun -n "$hosts" --host "$list" --oversubscribe --bind-to none \
  --mca plm_rsh_agent "$work/enter" --mca btl tcp,self --mca btl_tcp_if_include 10.77.0.0/24 \
  --mca oob_tcp_if_include 10.77.0.0/24 \
  "$headlight" bench train --config "configs/bench/$model.toml" --threads 1 --warmup 2 --steps 6 --json
