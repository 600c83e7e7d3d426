#!/usr/bin/env bash
# debian_test.sh [PACKAGES]: installs the Debian packages of PACKAGES (build/packages) on a bare Debian 12, uses them, and
# removes them. ./dev test packages builds the packages and runs it.
#
# The bare system is made once by debootstrap, in build/debian12/base, and copied for each run. This needs root, 1 GB and
# Debian's packages (Debian's own mirror, or the one that MERGEDB_DEBIAN_MIRROR names).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
packages=${1:-build/packages}
folder=$PWD/build/debian12

fail() { printf 'debian_test.sh: %s\n' "$*" >&2; exit 1; }
[[ $(id -u) -eq 0 ]] || fail "this test needs root: it makes a system of its own with chroot"
command -v debootstrap >/dev/null || fail "debootstrap is missing: apt-get install debootstrap"
compgen -G "$packages/*.deb" >/dev/null || fail "$packages has no packages: ./dev build packages"

if [[ ! -e $folder/base/.complete ]]; then
  rm -rf "$folder/base"
  mkdir -p "$folder"
  debootstrap --variant=minbase --include=ca-certificates bookworm "$folder/base" ${MERGEDB_DEBIAN_MIRROR:+"$MERGEDB_DEBIAN_MIRROR"} \
    >"$folder/debootstrap.log" 2>&1 || { tail -n 5 "$folder/debootstrap.log" >&2; fail "debootstrap: $folder/debootstrap.log"; }
  touch "$folder/base/.complete"
fi

root=$(mktemp -d "$folder/run.XXXXXX")
clean() {
  local outcome=$? mounted
  for mounted in proc dev; do mountpoint -q "$root/$mounted" && umount -l "$root/$mounted"; done
  rm -rf --one-file-system "$root"
  ((outcome == 0)) || echo "FAILED: the packages on a bare Debian 12" >&2
}
trap clean EXIT
cp -a "$folder/base/." "$root/"
cp -L /etc/resolv.conf /etc/hosts "$root/etc/" 2>/dev/null || true
mkdir -p "$root/mnt/packages"
cp "$packages"/*.deb "$root/mnt/packages/"
cp tests/package/{consumer.c,consumer.cc,c_only.cmake,debian_inside.sh} examples/ten_lines.cc "$root/mnt/"
# The wheel for Debian 12's Python.
cp build/python/dist/*-cp311-*.whl "$root/mnt/" 2>/dev/null || echo "Skipped: the wheel; MERGEDB_PYTHON=python3.11 ./dev build python makes it"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount --make-rslave "$root/dev"
# The command as one file, in a root folder that holds nothing else.
one_file=build/release/bin/mergedb-static
if [[ -e $one_file ]]; then
  mkdir -p "$root/mnt/empty/tmp"
  cp "$one_file" "$root/mnt/empty/mergedb"
  chroot "$root/mnt/empty" /mergedb put /tmp/fruit apple green
  [[ $(chroot "$root/mnt/empty" /mergedb get /tmp/fruit apple) == green ]] || fail "the one-file command in an empty folder"
  rm -r "$root/mnt/empty"
fi

chroot "$root" /usr/bin/env -i HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 \
  bash /mnt/debian_inside.sh </dev/null
