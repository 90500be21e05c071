#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# What `cmake --install` puts down is whole: engine_install.sh CMAKE BUILD BINDIR LIBDIR CC. A program
# is built against it with pkg-config alone, and runs under the installed gdakit. Exit code 77: this
# machine cannot run it.
set -eu
cmake=$1 build=$2 bin=$3 lib=$4 cc=$5
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

fail()
{
	echo "FAIL $*"
	exit 1
}

"$cmake" --install "$build" --prefix "$tmp/first" >"$tmp/log" 2>&1 || { cat "$tmp/log"; fail "cmake --install"; }
# Nothing in it may know where it was put.
mv "$tmp/first" "$tmp/x"
for file in "$bin/gdakit" "$lib/libgdakit_uverbs.so" "$lib/libdoca_gpunetio_host.so.2" \
	"$lib/pkgconfig/doca_gpunetio_host.pc" include/doca_gpunetio/doca_gpunetio_host.h \
	include/doca_gpunetio/doca_gpunetio_device.h include/doca_gpunetio/host/doca_gpunetio.h \
	include/doca_gpunetio/common/doca_gpunetio_verbs_def.h \
	include/doca_gpunetio/device/doca_gpunetio_dev_verbs_onesided.cuh; do
	[ -e "$tmp/x/$file" ] || fail "$file is not installed"
done

cat >"$tmp/program.c" <<'C'
#include <doca_gpunetio_host.h>

int main(void)
{
	struct doca_gpu *gpu;

	return doca_gpu_create("cpu", &gpu) != DOCA_SUCCESS || doca_gpu_destroy(gpu) != DOCA_SUCCESS;
}
C
export PKG_CONFIG_PATH="$tmp/x/$lib/pkgconfig"
read -ra flags <<<"$(pkg-config --cflags --libs doca_gpunetio_host)"
"$cc" -Wall -Wextra -Werror "$tmp/program.c" "${flags[@]}" -o "$tmp/program" || fail "a program does not build"

gdakit=$tmp/x/$bin/gdakit
if ! "$gdakit" doctor >"$tmp/out"; then
	echo "SKIP $(tail -n 1 "$tmp/out")"
	exit 77
fi
"$gdakit" run -- ibv_devinfo >"$tmp/out" 2>&1 || { cat "$tmp/out"; fail "ibv_devinfo"; }
grep -q 'hca_id:.*mlx5_0' "$tmp/out" || fail "ibv_devinfo shows no mlx5_0"
LD_LIBRARY_PATH=$tmp/x/$lib "$gdakit" run -- "$tmp/program" || fail "the program's exit code is $?"
echo ok
