#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# in_root.sh ROOT TOP COMMAND...: runs COMMAND in the file system below ROOT, where /proc, /sys, /dev, /tmp
# and the folder TOP are those of outside. A mount namespace of its own, so nothing is left behind; ROOT is
# a mount point in it, which `gdakit run` needs.
set -euo pipefail
root=$1 top=$2
shift 2
ns=(--mount --propagation private)
[ "$(id -u)" -eq 0 ] || ns+=(--user --map-root-user)
# shellcheck disable=SC2016
exec unshare "${ns[@]}" bash -c '
root=$1 top=$2
shift 2
mkdir -p "$root"/{proc,sys,dev,tmp} "$root$top"
mount --bind "$root" "$root"
for d in /proc /sys /dev /tmp "$top"; do mount --rbind "$d" "$root$d" || exit 1; done
exec chroot "$root" /usr/bin/env PATH=/usr/sbin:/usr/bin "$@"' in_root "$root" "$top" "$@"
