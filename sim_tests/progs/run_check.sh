#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# gdakit run --check: every mistake is found by its rule, and programs without one are silent: run_check.sh [BUILD_DIR]
set -u
# shellcheck source=sim_tests/progs/pair.sh
. "$(dirname "$0")/pair.sh"
pairs_begin check "${1:-}"
pairs_options=(--check)

# fired LOG: a line "SCENARIO: RULE..." per scenario of bad_input in LOG.
fired()
{
	awk '/^begin / { name = $2; rules = "" }
		/^gdakit: R[0-9][0-9] / { if (!index(rules, $2)) rules = rules " " $2 }
		/^end / { print name ":" rules }' "$1"
}

mistakes()
{
	local log=$logs/bad_input.log json=$logs/bad_input.jsonl xml=$logs/bad_input.xml rc names line
	mapfile -t names < <("$bin/bad_input" -l)
	free_port
	pairs_options=(--check --check-json "$json" --check-junit "$xml")
	start "$log" 150 "$bin/bad_input" -p "$port" "${names[@]}"
	finish "$started"
	rc=$?
	pairs_options=(--check)
	if [ "$rc" -ne 99 ]; then
		fail "bad_input's exit code" "expected 99, a rule fired, got $(say_exit "$rc" 150)" "$log"
		return
	fi
	pass "bad_input's exit code"
	while read -r line; do
		[[ $line != \#* ]] || continue
		if fired "$log" | grep -qxF -- "$line"; then
			pass "$line"
		else
			fail "$line" "fired: $(fired "$log" | grep "^${line%%:*}:" || echo "it did not run")"
		fi
	done <"$tree/sim_tests/progs/check.table"
	[ "$(fired "$log" | wc -l)" -eq "$(grep -vc '^#' "$tree/sim_tests/progs/check.table")" ] ||
		fail "check.table" "bad_input has scenarios that it does not name"
	if /usr/bin/python3 "$tree/sim_tests/progs/check_files.py" "$json" "$xml" >"$logs/files.log" 2>&1; then
		pass "the findings as JSON and as JUnit"
	else
		fail "the findings as JSON and as JUnit" "see the log" "$logs/files.log"
	fi
}

# A pair is silent if both ends exit with 0: with 99 a rule has fired.
silent()
{
	local name=$1
	shift
	needs "${1##*/}" "$name" || return
	free_port
	pair "$name" 90 "$port" "${@//PORT/$port}"
}

mistakes
for tool in ib_write_bw ib_read_lat ib_atomic_bw; do
	silent "$tool is silent" $tool -F -n 200 -p PORT -- $tool -F -n 200 -p PORT 127.0.0.1
done
silent "ib_send_bw -c UD is silent" ib_send_bw -c UD -F -n 200 -p PORT -- ib_send_bw -c UD -F -n 200 -p PORT 127.0.0.1
silent "ib_send_bw -q 8 -e is silent" ib_send_bw -q 8 -e -F -n 200 -p PORT -- ib_send_bw -q 8 -e -F -n 200 -p PORT 127.0.0.1
silent "rping is silent" rping -s -p PORT -C 20 -V -- rping -c -a 127.0.0.1 -p PORT -C 20 -V
PATH=$bin:$PATH
silent "verbs_check is silent" verbs_check -p PORT -- verbs_check -p PORT 127.0.0.1
silent "put_bw is silent" put_bw -g cpu -p PORT -- put_bw -g cpu -p PORT 127.0.0.1

# code NAME EXPECTED COMMAND...: its exit code under pairs_options.
code()
{
	local name=$1 want=$2 rc
	shift 2
	start "$logs/exit.log" 60 "$@"
	finish "$started"
	rc=$?
	if [ "$rc" -eq "$want" ]; then
		pass "$name"
	else
		fail "$name" "expected $want, got $(say_exit "$rc" 60)" "$logs/exit.log"
	fi
}

code "the program's own exit code where nothing is found" 3 sh -c 'exit 3'
pairs_options=(--check-exit 7)
free_port
code "the exit code of --check-exit where a rule fired" 7 bad_input -p "$port" wrong_lkey
pairs_end
