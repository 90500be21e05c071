#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# runtime.sh PROGRAM STANDINS: GDRCopy and the DOCA SDK where they are, and where they are not or not whole. STANDINS
# has a libcuda.so.1, gdr/ and gdr_other/ with a libgdrapi.so.2, and sdk/, sdk_old/, sdk_other/ with a DOCA SDK.
set -u
program=$1 standins=$2
gpu=0000:3b:00.0
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
failed=0
unset DOCA_SDK_LIB_PATH DOCA_GPUNETIO_DISABLE_GDRCOPY

# run NAME LIBRARY_DIRECTORY [VARIABLE=VALUE...] [-- GPU]: the program's stdout in $tmp/out, stderr in $tmp/err
run()
{
	local dir=$2 args=()
	name=$1 bad=0
	shift 2
	while [ $# -gt 0 ] && [ "$1" != -- ]; do
		args+=("$1")
		shift
	done
	env LD_LIBRARY_PATH="$standins${dir:+:$standins/$dir}${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" \
		DOCA_GPUNETIO_LOG=6 "${args[@]}" timeout 20 "$program" "${2:-$gpu}" >"$tmp/out" 2>"$tmp/err"
}

has() # has FILE TEXT: the line is there
{
	grep -qF -- "$2" "$tmp/$1" && return
	echo "  expected in $1: $2"
	bad=1
}

lacks()
{
	grep -qF -- "$2" "$tmp/$1" || return 0
	echo "  not expected in $1: $2"
	bad=1
}

done_with()
{
	if [ $bad -eq 0 ]; then
		echo "PASS $name"
		return
	fi
	echo "FAIL $name"
	sed 's/^/  | /' "$tmp/out" "$tmp/err"
	failed=1
}

# ours: the engine's own memory, as without an SDK
ours()
{
	has out "GPU: device, cpu none"
	has out "CPU_GPU: host, cpu host"
	has out "too much: error 7"
	has out "dmabuf: error 4, -1"
	has out "destroy: error 0"
	lacks out sdk
}

no_gdr() # GPU_CPU memory comes from the host instead
{
	has out "GPU_CPU: host, cpu host"
	has err "no GDRCopy"
	ours
}

run "GDRCopy maps GPU memory" gdr
has out "GPU_CPU: device, cpu device"
has out "mapped 1"
has out "unmapped 1 whole"
has out "unpinned 1"
ours
done_with

run "no GDRCopy" ""
has err "cannot load libgdrapi.so.2"
no_gdr
done_with

run "GDRCopy that the user disables" gdr DOCA_GPUNETIO_DISABLE_GDRCOPY=1
no_gdr
done_with

run "GDRCopy without its kernel module" gdr STANDIN_GDR=closed
has err "gdr_open failed"
no_gdr
done_with

run "GDRCopy of another version" gdr_other
has err "libgdrapi.so.2 has no symbol gdr_map"
no_gdr
done_with

run "DOCA SDK" "" DOCA_SDK_LIB_PATH="$standins/sdk"
has out "sdk create $gpu 0"
has out "sdk alloc 1000 4096 0"
has out "GPU: host, cpu none"
has out "too much: error 7"
has out "sdk dmabuf 4096"
has out "dmabuf: error 0, 77"
has out "sdk destroy, 0 blocks"
[ -n "${STANDIN_SDK_ALONE:-}" ] || [ "$(tail -n 2 "$tmp/out" | head -n 1)" = "sdk free" ] ||
	{ echo "  the SDK's own call went elsewhere"; bad=1; }
has out "destroy: error 0"
has err "are the DOCA SDK's, 3.3.0109"
done_with

run "an error of the DOCA SDK is the caller's" "" DOCA_SDK_LIB_PATH="$standins/sdk" STANDIN_SDK_REFUSES=1
has out "create: error 28"
done_with

run "DOCA SDK and no GPU" "" DOCA_SDK_LIB_PATH="$standins/sdk" -- cpu
lacks out sdk
has out "GPU: host, cpu none"
done_with

run "DOCA_SDK_LIB_PATH without a value" gdr DOCA_SDK_LIB_PATH=
lacks err "DOCA SDK"
ours
done_with

run "DOCA_SDK_LIB_PATH that leads nowhere" gdr DOCA_SDK_LIB_PATH=/nowhere DOCA_GPUNETIO_LOG=0
has err "DOCA_SDK_LIB_PATH=/nowhere: cannot load libdoca_common.so: "
has err "the DOCA SDK is not used"
ours
done_with

for missing in common verbs gpunetio; do
	mkdir "$tmp/$missing"
	cp -L "$standins/sdk/"*.so "$tmp/$missing/"
	rm "$tmp/$missing/libdoca_$missing.so"
	run "DOCA SDK without libdoca_$missing" gdr DOCA_SDK_LIB_PATH="$tmp/$missing" DOCA_GPUNETIO_LOG=0
	has err "cannot load libdoca_$missing.so: $tmp/$missing/libdoca_$missing.so: cannot open"
	ours
	done_with
done

run "DOCA SDK without a function" gdr DOCA_SDK_LIB_PATH="$standins/sdk_other" DOCA_GPUNETIO_LOG=0
has err "libdoca_gpunetio.so has no symbol doca_gpu_dmabuf_fd"
ours
done_with

run "DOCA SDK of another version" gdr DOCA_SDK_LIB_PATH="$standins/sdk_old" DOCA_GPUNETIO_LOG=0
has err "its version is '2.9.1006', expected 3.x"
ours
done_with

exit $failed
