#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Mistakes, and peers that die: run_bad_input.sh [BUILD_DIR]
#
# bad_input says what the program gets; this script also looks for the NIC's explanation, which
# `gdakit run --verbose` must have printed between the program's "begin" and "end" of a scenario.
set -u
# shellcheck source=sim_tests/progs/pair.sh
. "$(dirname "$0")/pair.sh"
pairs_begin bad_input "${1:-}"
pairs_options=(--verbose)

# judge LOG: a line per scenario in LOG, from its verdict and from what --verbose printed.
judge()
{
	local log=$1 name reason verdict
	while read -r name reason; do
		reason=${reason#reason=/}
		reason=${reason%/}
		verdict=$(grep -E "^(PASS|FAIL) $name\$" "$log" | cut -d' ' -f1)
		if [ "$verdict" != PASS ]; then
			fail "$name" "${verdict:-it did not end}: $(grep -B 3 "^FAIL $name\$" "$log" | grep '^     ' | head -n 1)"
		elif [ -n "$reason" ] && ! sed -n "/^begin $name /,/^end $name\$/p" "$log" |
			grep -v '^begin ' | grep -Eq "gdakit.*($reason)"; then
			fail "$name" "no sentence of gdakit's matches /$reason/"
			sed -n "/^begin $name /,/^end $name\$/p" "$log" | sed 's/^/     | /' | head -n 8
		else
			pairs_passed=$((pairs_passed + 1))
			echo "PASS $name"
		fi
	done < <(sed -n 's/^begin \([a-z0-9_]*\) \(reason=.*\)$/\1 \2/p' "$log")
}

# All scenarios in one process. One that does not survive is reported, and the rest begin anew.
scenarios()
{
	local log rc round=0 left=() begun
	mapfile -t left < <("$bin/bad_input" -l)
	[ ${#left[@]} -gt 0 ] || fail scenarios "bad_input -l names none"
	while [ ${#left[@]} -gt 0 ]; do
		round=$((round + 1))
		log=$logs/scenarios.$round.log
		free_port
		start "$log" 150 "$bin/bad_input" -p "$port" "${left[@]}"
		finish "$started"
		rc=$?
		judge "$log"
		begun=$(grep -c '^begin ' "$log")
		if ! grep -q '^[0-9]* passed, [0-9]* failed$' "$log"; then
			fail "bad_input, process $round" "$(say_exit "$rc" 150), before its end" "$log"
			[ "$begun" -gt 0 ] || return
		fi
		left=("${left[@]:$begun}")
	done
}

# The killed peer again, in a `gdakit run` of its own: two simulated hosts.
killed_host()
{
	local name="peer_killed, two hosts" log=$logs/killed_host.client.log server
	free_port
	start "$logs/killed_host.server.log" 60 "$bin/bad_input" -S -p "$port"
	server=$started
	if ! wait_listen "$port" "$server" 30; then
		fail "$name" "the server did not listen" "$logs/killed_host.server.log"
		finish "$server"
		return
	fi
	start "$log" 60 "$bin/bad_input" -p "$port" -P 127.0.0.1 peer_killed
	if finish "$started"; then
		pass "$name"
	else
		fail "$name" "client: exit code $?" "$log"
	fi
	finish "$server"
}

# program_of PID NAME: the process called NAME in the process group of PID.
program_of()
{
	ps -eo pid=,pgid=,comm= | awk -v g="$1" -v c="$2" '$2 == g && $3 == c { print $1; exit }'
}

# kill -9 of one half of an unmodified program in the middle of its work; the other half must end by
# itself, with an error.
killed_perftest() # killed_perftest server|client
{
	local name="kill -9 of ib_write_bw's $1" server client victim other rc log=$logs/killed_$1
	needs ib_write_bw "$name" || return
	free_port
	start "$log.server.log" 60 stdbuf -oL ib_write_bw -d mlx5_0 -F -p "$port" -D 30
	server=$started
	if ! wait_listen "$port" "$server" 30; then
		fail "$name" "the server did not listen" "$log.server.log"
		finish "$server"
		return
	fi
	start "$log.client.log" 60 stdbuf -oL ib_write_bw -d mlx5_0 -F -p "$port" -D 30 127.0.0.1
	client=$started
	if ! wait_text "$log.client.log" "#bytes" "$client" 30; then
		fail "$name" "the client did not begin" "$log.client.log" "$log.server.log"
	else
		[ "$1" = server ] && victim=$server other=$client || victim=$client other=$server
		victim=$(program_of "$victim" ib_write_bw)
		sleep 0.5 # in the middle of its work
		if [ -z "$victim" ]; then
			fail "$name" "its process was not found"
		else
			kill -KILL "$victim"
			finish "$other"
			rc=$?
			if [ "$rc" -eq 124 ] || [ "$rc" -eq 137 ]; then
				fail "$name" "the other half hung" "$log.client.log" "$log.server.log"
			elif [ "$rc" -ge 128 ]; then
				fail "$name" "the other half died of signal $((rc - 128))" "$log.client.log" "$log.server.log"
			else
				pass "$name"
			fi
		fi
	fi
	kill -TERM "$server" "$client" 2>/dev/null
	finish "$server"
	finish "$client"
}

scenarios
alone "errno_check" 100 "$bin/errno_check"
pairs_options=(--verbose --link-layer infiniband)
alone "errno_check, InfiniBand" 100 "$bin/errno_check"
pairs_options=(--verbose)
killed_host
killed_perftest server
killed_perftest client
pairs_end
