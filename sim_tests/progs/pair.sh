# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# Running pairs of programs, each under its own `gdakit run`. Source it from a script with `set -u`:
#
#   . pair.sh
#   pairs_begin SUITE [BUILD_DIR]      BUILD_DIR/bin holds gdakit; logs go to build/log/SUITE
#   pair NAME SECONDS PORT SERVER... -- CLIENT...
#   alone NAME SECONDS COMMAND...
#   skip NAME REASON
#   pairs_end                          prints "N passed, N failed, N skipped"; its status
#
# A case prints one line, "PASS NAME", "FAIL NAME: why" or "SKIP NAME: why". Every program runs in a
# process group of its own, which is killed when its time is over and when the script ends.

progs_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
tree=$(cd "$progs_dir/../.." && pwd)
pairs_passed=0 pairs_failed=0 pairs_skipped=0
pairs_pids=() # leaders of the process groups that may still run
pairs_options=() # of gdakit run, as --verbose
pairs_inside=()  # what gdakit run is started by, as docker_filter

pairs_begin()
{
	suite=$1
	build=$(cd "${2:-$tree/build/release}" && pwd) || exit 2
	bin=$build/bin
	gdakit=${GDAKIT:-$bin/gdakit}
	logs=$build/log/$suite # of a build elsewhere: with it
	[[ $build != "$tree"/build/* ]] || logs=$tree/build/log/$suite
	rm -rf "$logs"
	mkdir -p "$logs"
	trap pairs_clean EXIT
	trap 'exit 130' INT TERM
}

pairs_clean()
{
	local pid
	for pid in "${pairs_pids[@]}"; do
		kill -KILL -- "-$pid" 2>/dev/null
	done
	pairs_pids=()
}

pairs_end()
{
	echo "$pairs_passed passed, $pairs_failed failed, $pairs_skipped skipped"
	[ "$pairs_failed" -eq 0 ] && [ "$pairs_passed" -gt 0 ]
}

pass()
{
	pairs_passed=$((pairs_passed + 1))
	echo "PASS $1 ($(elapsed))"
}
skip() { pairs_skipped=$((pairs_skipped + 1)); echo "SKIP $1: $2"; }
fail() # fail NAME WHY [LOG...]: the ends of the logs follow
{
	local log
	pairs_failed=$((pairs_failed + 1))
	echo "FAIL $1: $2"
	for log in "${@:3}"; do
		[ -s "$log" ] || continue
		echo "     $log:"
		tail -n 8 "$log" | sed 's/^/     | /'
	done
}

# elapsed: how long the case took, from the start of its first program.
case_began=${EPOCHREALTIME/./}
elapsed()
{
	local us=$((${EPOCHREALTIME/./} - case_began))
	printf '%d.%d s' $((us / 1000000)) $((us / 100000 % 10))
}

# listening PORT: some process of this machine listens there: TCP, or the connection manager, whose ports
# are abstract sockets (emu/uverbs/cm_peer.c).
listening()
{
	local hex
	hex=$(printf ':%04X' "$1")
	awk -v p="$hex" 'index($2, p) && $4 == "0A" { found = 1 } END { exit !found }' \
		/proc/net/tcp /proc/net/tcp6 2>/dev/null ||
		grep -Eq "@gdakit-cm/[0-9]+/[0-9.]+/[0-9a-f]+/$1\$" /proc/net/unix
}

# free_port: sets port to one that nobody listens on. Each call gives another one.
port=$((20000 + $$ % 20000))
free_port()
{
	local tries
	for ((tries = 0; tries < 1000; tries++)); do
		port=$((port >= 40000 ? 20000 : port + 1))
		listening "$port" || return 0
	done
	echo "no free TCP port found" >&2
	exit 1
}

# start LOG SECONDS COMMAND...: in the background under `gdakit run`; its pid in started.
# `timeout` leads the process group, passes our signals on and ends with 124 when time is over.
start()
{
	local log=$1 seconds=$2
	shift 2
	[ ${#pairs_pids[@]} -gt 0 ] || case_began=${EPOCHREALTIME/./}
	timeout -k 3 "$seconds" "${pairs_inside[@]}" "$gdakit" run "${pairs_options[@]}" -- "$@" >"$log" 2>&1 </dev/null &
	started=$!
	pairs_pids+=("$started")
}

# finish PID: waits for it and whatever it left behind; its exit code.
finish()
{
	local rc i left=()
	wait "$1"
	rc=$?
	kill -KILL -- "-$1" 2>/dev/null
	for i in "${pairs_pids[@]}"; do
		[ "$i" = "$1" ] || left+=("$i")
	done
	pairs_pids=("${left[@]}")
	return "$rc"
}

# wait_listen PORT PID SECONDS: until PORT is listened on; fails when PID has ended or time is over.
wait_listen()
{
	local end=$((SECONDS + $3))
	until listening "$1"; do
		kill -0 "$2" 2>/dev/null || return 1
		[ "$SECONDS" -lt "$end" ] || return 1
		sleep 0.02
	done
}

# wait_text FILE TEXT PID SECONDS: until FILE holds TEXT (a fixed string); fails as wait_listen does.
wait_text()
{
	local end=$((SECONDS + $4))
	until grep -qF -- "$2" "$1" 2>/dev/null; do
		kill -0 "$3" 2>/dev/null || return 1
		[ "$SECONDS" -lt "$end" ] || return 1
		sleep 0.02
	done
}

say_exit() # say_exit CODE SECONDS
{
	[ "$1" -eq 124 ] && echo "did not end within $2 s" || echo "exit code $1"
}

# both NAME SECONDS PORT SERVER... -- CLIENT...: runs the two; codes in server_rc, client_rc; logs in
# server_log, client_log. Fails only when the server never listened.
both()
{
	local name=$1 seconds=$2 at=$3 server=() server_pid client_pid
	shift 3
	while [ "$1" != -- ]; do
		server+=("$1")
		shift
	done
	shift
	server_log=$logs/${name//[^A-Za-z0-9_.=-]/_}.server.log
	client_log=$logs/${name//[^A-Za-z0-9_.=-]/_}.client.log
	: >"$client_log"
	start "$server_log" "$seconds" "${server[@]}"
	server_pid=$started
	if ! wait_listen "$at" "$server_pid" "$seconds"; then
		kill -TERM "$server_pid" 2>/dev/null
		finish "$server_pid"
		return 1
	fi
	start "$client_log" "$seconds" "$@"
	client_pid=$started
	finish "$client_pid"
	client_rc=$?
	# A client that failed leaves its server waiting: it gets a short while to notice.
	[ "$client_rc" -eq 0 ] || { sleep 1; kill -TERM "$server_pid" 2>/dev/null; }
	finish "$server_pid"
	server_rc=$?
}

# pair: both must end with 0.
pair()
{
	local name=$1 seconds=$2
	if ! both "$@"; then
		fail "$name" "the server did not listen on port $3" "$server_log"
		return 1
	elif [ "$client_rc" -ne 0 ]; then
		fail "$name" "client: $(say_exit "$client_rc" "$seconds")" "$client_log" "$server_log"
		return 1
	elif [ "$server_rc" -ne 0 ]; then
		fail "$name" "server: $(say_exit "$server_rc" "$seconds")" "$server_log"
		return 1
	else
		pass "$name"
	fi
}

# alone: one program under gdakit run must end with 0; its output stays in alone_log.
alone()
{
	local name=$1 seconds=$2 rc
	shift 2
	alone_log=$logs/${name//[^A-Za-z0-9_.=-]/_}.log
	start "$alone_log" "$seconds" "$@"
	finish "$started"
	rc=$?
	if [ "$rc" -ne 0 ]; then
		fail "$name" "$(say_exit "$rc" "$seconds")" "$alone_log"
		return 1
	fi
	pass "$name"
}

# needs PROGRAM NAME: whether it is installed; skips the case otherwise.
needs()
{
	command -v "$1" >/dev/null 2>&1 && return 0
	skip "$2" "$1 is not installed"
	return 1
}
