#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# What `cmake --install` puts down is whole: engine_install.sh CMAKE BUILD BINDIR LIBDIR CC. A program
# is built against it with pkg-config alone and another with its CMake package, a kernel is compiled where
# nvcc is, and the programs run under the installed gdakit. Exit code 77: this machine cannot run it.
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
	"$lib/pkgconfig/doca_gpunetio_host.pc" "$lib/cmake/gdakit/gdakit-config.cmake" include/doca_gpunetio/doca_gpunetio_host.h \
	include/doca_gpunetio/doca_gpunetio_device.h include/doca_gpunetio/host/doca_gpunetio.h \
	include/doca_gpunetio/common/doca_gpunetio_verbs_def.h include/doca_gpunetio/common/gdakit_sdk_names.h \
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
[ "$(pkg-config --modversion doca_gpunetio_host)" = 2.0.2 ] || fail "the version that pkg-config says"

mkdir "$tmp/project"
cp "$tmp/program.c" "$tmp/project/"
cat >"$tmp/project/CMakeLists.txt" <<'CMAKE'
cmake_minimum_required(VERSION 3.18)
project(consumer C)
find_package(gdakit 0.1 REQUIRED)
if(NOT GDAKIT_GPUNETIO_VERSION VERSION_EQUAL 2.0.2)
  message(FATAL_ERROR "GPUNetIO ${GDAKIT_GPUNETIO_VERSION}")
endif()
add_executable(program program.c)
target_link_libraries(program PRIVATE gdakit::doca_gpunetio_host)
CMAKE
{ "$cmake" -S "$tmp/project" -B "$tmp/project/build" -DCMAKE_C_COMPILER="$cc" -DCMAKE_PREFIX_PATH="$tmp/x" &&
	"$cmake" --build "$tmp/project/build"; } >"$tmp/log" 2>&1 || { cat "$tmp/log"; fail "the CMake package"; }

nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
if [ -x "$nvcc" ]; then
	cat >"$tmp/kernel.cu" <<'CUDA'
#include <doca_gpunetio_device.h>

__global__ void kernel(struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_addr remote,
		       struct doca_gpu_dev_verbs_addr local)
{
	doca_gpu_dev_verbs_put(qp, remote, local, 64);
	doca_gpu_dev_verbs_wait(qp);
}
CUDA
	read -ra flags <<<"$(pkg-config --cflags doca_gpunetio_host)"
	"$nvcc" -std=c++17 -arch=sm_90 "${flags[@]}" -cubin -o /dev/null "$tmp/kernel.cu" >"$tmp/log" 2>&1 ||
		{ cat "$tmp/log"; fail "a kernel does not compile"; }
fi

gdakit=$tmp/x/$bin/gdakit
if ! "$gdakit" doctor >"$tmp/out"; then
	echo "SKIP $(tail -n 1 "$tmp/out")"
	exit 77
fi
"$gdakit" run -- ibv_devinfo >"$tmp/out" 2>&1 || { cat "$tmp/out"; fail "ibv_devinfo"; }
grep -q 'hca_id:.*mlx5_0' "$tmp/out" || fail "ibv_devinfo shows no mlx5_0"
for program in "$tmp/program" "$tmp/project/build/program"; do
	LD_LIBRARY_PATH=$tmp/x/$lib "$gdakit" run -- "$program" || fail "$program: exit code $?"
done
echo ok
