#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Compiles the whole device API, and the facts about it, with nvcc 13 for the architectures we name.
# Nothing is run.
#
# nvcc is taken from PATH, from CUDA_HOME, from /usr/local/cuda, or from a private folder
# (build/.nvcc) into which pip puts the compiler's wheels. Without any: prints SKIP and exits 77.
set -uo pipefail
. "$(dirname "$0")/common.sh"

archs=(80 90 100)
version=13.0
private=$PWD/build/.nvcc
packages=(nvidia-cuda-nvcc nvidia-cuda-crt nvidia-nvvm nvidia-cuda-runtime nvidia-cuda-cccl)

skip()
{
	echo "SKIP: $*"
	exit 77
}

# release FILE: "13.0" for an nvcc that works
release()
{
	"$1" --version 2>/dev/null | sed -n 's/.*release \([0-9.]*\).*/\1/p'
}

find_nvcc()
{
	local c
	for c in "$(command -v nvcc || true)" "${CUDA_HOME:-/nonexistent}/bin/nvcc" /usr/local/cuda/bin/nvcc \
		"$private/nvidia/cu13/bin/nvcc"; do
		[[ -x $c && $(release "$c") == 13.* ]] && echo "$c" && return
	done
	return 1
}

install_nvcc()
{
	local specs=() p
	python3 -m pip --version >/dev/null 2>&1 || { echo "no pip"; return 1; }
	for p in "${packages[@]}"; do specs+=("$p==$version.*"); done
	mkdir -p "$private"
	python3 -m pip install --quiet --disable-pip-version-check --only-binary :all: --no-deps --upgrade --target "$private" \
		"${specs[@]}" >build/log/nvcc-install.log 2>&1 || { tail -n 1 build/log/nvcc-install.log; return 1; }
	# wheels carry no modes for tools beside nvcc on some pip versions
	chmod -R u+x "$private/nvidia/cu13/bin" "$private/nvidia/cu13/nvvm/bin" 2>/dev/null
	return 0
}

nvcc=${GDAKIT_CHECK_NVCC:-$(find_nvcc)}
if [[ -z $nvcc ]]; then
	why=$(install_nvcc) || skip "no nvcc 13 here and its wheels cannot be installed: $why"
	nvcc=$(find_nvcc) || skip "the nvcc of the wheels does not start"
fi

echo "nvcc $(release "$nvcc"): $nvcc"
flags=(-std=c++17 -O2 -I. -Iinclude -Iinclude/common -Idevice -Xcompiler -Wall -Xcompiler -Wextra -Werror all-warnings)
failed=0
for a in "${archs[@]}"; do
	if { "$nvcc" "${flags[@]}" -arch="sm_$a" -cubin -o "build/log/check_nvcc.sm_$a.cubin" device/check_nvcc.cu &&
		"$nvcc" "${flags[@]}" -arch="sm_$a" -cubin -o "build/log/api_facts.sm_$a.cubin" sim_tests/api/facts.cu &&
		"$nvcc" "${flags[@]}" -arch="sm_$a" -cubin -o "build/log/pingpong.sm_$a.cubin" \
			docs/how-to/examples/port/before/pingpong.cu; } \
		>"build/log/nvcc-sm_$a.log" 2>&1; then
		echo "sm_$a: ok"
	else
		head -n 40 "build/log/nvcc-sm_$a.log"
		echo "sm_$a: FAILED; the whole log is build/log/nvcc-sm_$a.log"
		failed=1
	fi
done
# What the hot paths compile to; docs/sass.md keeps it.
ci/sass --nvcc "$nvcc" >build/log/sass.log 2>&1
rc=$?
case $rc in
0 | 77) tail -n 1 build/log/sass.log ;;
*)
	tail -n 20 build/log/sass.log
	failed=1
	;;
esac
exit $failed
