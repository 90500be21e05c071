# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# Shared by the scripts of this folder. Source it; it changes to the top of the tree.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root" || exit 1
mkdir -p build/log

# build PRESET [target...]: configures once, then builds; the log is shown only when it fails.
build()
{
	local preset=$1 log=build/log/build-$1.log
	shift
	if ! { cmake --preset "$preset" && cmake --build --preset "$preset" --parallel "$(nproc)" ${1:+--target "$@"}; } \
		>"$log" 2>&1; then
		tail -n 60 "$log"
		echo "build of preset $preset failed; the whole log is $log"
		return 1
	fi
}
