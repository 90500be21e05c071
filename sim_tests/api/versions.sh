#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# versions.sh CC LIBRARY INCLUDE: programs linked with a library of the same name that has no symbol
# versions, as GPUNetIO's own, run with ours. (Not the reverse: glibc refuses a library without versions
# to a program that was linked with one that has them.)
set -eu
cc=$1 library=$2 include=$3
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
name=libdoca_gpunetio_host.so
export LD_BIND_NOW=1

fail()
{
	echo "FAIL $*"
	exit 1
}

expect() # expect WHAT DIRECTORY PROGRAM WANT
{
	local got
	got=$(LD_LIBRARY_PATH=$2 "$tmp/$3" 2>"$tmp/err") || { cat "$tmp/err"; fail "$1: exit code $?"; }
	[ "$got" = "$4" ] || fail "$1: printed '$got', expected '$4'"
}

mkdir "$tmp/plain" "$tmp/ours"
cat >"$tmp/plain.c" <<'C'
#include <stdint.h>

int doca_gpu_verbs_get_library_version(uint32_t *version)
{
	*version = 0x777;
	return 0;
}
C
cat >"$tmp/program.c" <<'C'
#include <doca_gpunetio_host.h>
#include <stdio.h>

int main(void)
{
	uint32_t version = 0;

	if (doca_gpu_verbs_get_library_version(&version) != DOCA_SUCCESS)
		return 1;
	printf("0x%x\n", version);
	return 0;
}
C
"$cc" -shared -fPIC -Wl,-soname,$name.2 "$tmp/plain.c" -o "$tmp/plain/$name.2"
cp "$library" "$tmp/ours/$name.2"
for kind in plain ours; do
	ln -s $name.2 "$tmp/$kind/$name"
	"$cc" -I"$include" "$tmp/program.c" -L"$tmp/$kind" -ldoca_gpunetio_host -o "$tmp/linked_$kind"
done
expect "linked without versions, run without" "$tmp/plain" linked_plain 0x777
expect "linked without versions, run with ours" "$tmp/ours" linked_plain 0x20002
expect "linked with ours, run with ours" "$tmp/ours" linked_ours 0x20002
readelf --dyn-syms -W "$tmp/linked_ours" | grep -q 'library_version@DOCA_GPUNETIO_2.0' ||
	fail "a program linked with ours does not ask for DOCA_GPUNETIO_2.0"
echo ok
