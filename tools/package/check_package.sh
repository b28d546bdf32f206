#!/usr/bin/env bash
# Installs a package into a bare Debian without a compiler; trains, generates, draws and makes a page there.
# usage: check_package.sh PACKAGE.deb ROOT      (as root)
# ROOT is the folder of a Debian system; if it is missing, debootstrap makes a minimal one there.
# The system is changed: the package and its dependencies stay installed.
set -euo pipefail
[ $# = 2 ] || { sed -n 's/^# usage: /usage: /p' "$0" >&2; exit 2; }
package=$(realpath "$1") root=$2
if [ ! -e "$root/etc/debian_version" ]; then
  debootstrap --variant=minbase bookworm "$root" http://deb.debian.org/debian >&2
fi
root=$(realpath "$root")
inside() { chroot "$root" env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 "$@"; }

cp "$package" "$root/root/headlight.deb"
mount -t proc proc "$root/proc"
trap 'umount "$root/proc"' EXIT
inside apt-get update -qq >&2
inside env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
  /root/headlight.deb >&2

for tool in cc gcc g++ clang cmake make python3; do
  if inside sh -c "command -v $tool" >&2; then
    echo "check_package.sh: expected a system without compilers and Python in $root, found $tool" >&2
    exit 2
  fi
done
inside sh -euc '
  rm -rf /root/run /root/maps
  headlight --version
  headlight train /usr/share/headlight/configs/toy.toml --data /usr/share/headlight/data/toy.txt \
    --out_dir /root/run --max_iters 20 --eval_interval 20 --eval_iters 2
  headlight generate /root/run --prompt "One day, " --max_new_tokens 40 --seed 1
  headlight attention /root/run --text "Mina lost her red kite." --out /root/maps
  test -s /root/maps/attention.html
  test -s /root/maps/attention.npz
  test -s /root/maps/layer_0.svg
  headlight page /root/run --out /root/page.html
  grep -q CycloneDX /usr/share/doc/headlight/headlight.cdx.json
  dpkg --verify headlight
'
echo "ok: $(basename "$package") trains, generates and draws in $root"
