#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Programs under `gdakit run`, all of them: run_all.sh [BUILD_DIR]. Skips, with the reason, where
# this machine cannot run it.
set -u
here=$(cd "$(dirname "$0")" && pwd)
build=${1:-$here/../../build/release}
passed=0 failed=0 skipped=0
gdakit=${GDAKIT:-$build/bin/gdakit}

if [ ! -x "$gdakit" ]; then
	echo "FAIL programs under gdakit run: $gdakit was not built"
	echo "0 passed, 1 failed, 0 skipped"
	exit 1
fi
if ! why=$("$gdakit" doctor 2>&1); then
	echo "SKIP programs under gdakit run: $(tail -n 1 <<<"$why")"
	echo "0 passed, 0 failed, 1 skipped"
	exit 0
fi
for script in run_verbs run_perftest run_cm run_ours run_bad_input run_docker run_many run_observe run_check; do
	out=$(mktemp)
	"$here/$script.sh" "$build" 2>&1 | tee "$out"
	if [[ $(tail -n 1 "$out") =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed,\ ([0-9]+)\ skipped$ ]]; then
		passed=$((passed + BASH_REMATCH[1])) failed=$((failed + BASH_REMATCH[2]))
		skipped=$((skipped + BASH_REMATCH[3]))
	else
		echo "FAIL $script.sh: it did not reach its end"
		failed=$((failed + 1))
	fi
	rm -f "$out"
done
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
