#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Many devices, hosts and processes, and their ends: run_many.sh [BUILD_DIR]
#   KILLS=N   how often a process is killed (40), SEED=N which moments and processes
set -u
# shellcheck source=sim_tests/progs/pair.sh
. "$(dirname "$0")/pair.sh"
pairs_begin many "${1:-}"
RANDOM=${SEED:-1}
tmp=$(mktemp -d)
trap 'pairs_clean; rm -rf "$tmp"' EXIT
export TMPDIR=$tmp

# Devices of one process, of two, and of two hosts.
for nics in 1 2 8; do
	pairs_options=(--nics "$nics")
	alone "many_nics, $nics devices" 60 "$bin/many_nics" && ! grep -qx "$nics devices, ok" "$alone_log" &&
		fail "many_nics, $nics devices, output" "not '$nics devices, ok'" "$alone_log"
	pairs_options+=(--link-layer infiniband)
	alone "many_nics, $nics devices, InfiniBand" 60 "$bin/many_nics"
done
pairs_options=(--nics 6)
if needs ib_write_bw "ib_write_bw -d mlx5_5"; then
	free_port
	pair "ib_write_bw, mlx5_5 of one host to mlx5_2 of another" 60 "$port" \
		ib_write_bw -d mlx5_5 -F -s 4096 -n 500 -p "$port" -- \
		ib_write_bw -d mlx5_2 -F -s 4096 -n 500 -p "$port" 127.0.0.1
	free_port
	alone "ib_send_bw, mlx5_3 to mlx5_0 of one host" 60 bash -c "
		ib_send_bw -d mlx5_3 -F -s 4096 -n 500 -p $port & server=\$!
		for i in \$(seq 100); do grep -q ':$(printf %04X "$port") .* 0A ' /proc/net/tcp && break; sleep 0.05; done
		ib_send_bw -d mlx5_0 -F -s 4096 -n 500 -p $port 127.0.0.1 && wait \$server"
fi
pairs_options=()

# Created, connected, and used each; how long it takes is ci/bench's.
alone "10,000 QPs of one process" 200 "$bin/bench_scale" qps -n 10000
alone "1,024 UAR pages of one process" 100 "$bin/bench_scale" uars -n 1024

# What a program executes opens the device for itself; the descriptors of the one before do not stand in
# its way.
alone "exec while open" 60 "$bin/exec_open"

# ---- killed at any moment ----

# victim PID: a process of the tree below it, or itself, by lot.
victim()
{
	local all=("$1") i=0
	while [ "$i" -lt "${#all[@]}" ]; do
		mapfile -t -O "${#all[@]}" all < <(cat "/proc/${all[i]}/task/"*/children 2>/dev/null | tr ' ' '\n' | grep .)
		i=$((i + 1))
	done
	[ "${#all[@]}" -gt 1 ] && all=("${all[@]:1}") # not `timeout`, who starts it
	echo "${all[RANDOM % ${#all[@]}]}"
}

kill_once() # kill_once N: 0 if the survivor noticed as it should
{
	local server client survivor name dead rc log wires=(udp auto)
	local wire=${wires[$1 % 2]} ms=$((RANDOM % 400))
	free_port
	name="kill $1"
	pairs_options=(--host "killed-a-$$" --wire "$wire")
	start "$logs/kill-$1.server.log" 40 "$bin/kill_peer" -p "$port"
	server=$started
	wait_listen "$port" "$server" 20 || { fail "$name" "the restarted server does not listen" "$logs/kill-$1.server.log"; finish "$server"; return 1; }
	pairs_options=(--host "killed-b-$$" --wire "$wire")
	start "$logs/kill-$1.client.log" 40 "$bin/kill_peer" -p "$port" 127.0.0.1
	client=$started
	# From the start of the client to well into the traffic; every third time before most of it.
	[ $((RANDOM % 3)) -ne 0 ] || ms=$((ms / 10))
	sleep "0.$(printf %03d $ms)"
	if [ $((RANDOM % 2)) -eq 0 ]; then
		dead=$(victim "$server") survivor=$client log=$logs/kill-$1.client.log
	else
		dead=$(victim "$client") survivor=$server log=$logs/kill-$1.server.log
	fi
	kill -KILL "$dead" 2>/dev/null
	finish "$survivor"
	rc=$?
	for pid in "$server" "$client"; do
		[ "$pid" = "$survivor" ] || finish "$pid"
	done
	# Killed before they were connected: the survivor says that nobody came.
	grep -q connected "$log" || return 0
	[ $rc -eq 0 ] && return 0
	fail "$name" "the survivor ended with $rc" "$log"
	return 1
}

case_began=${EPOCHREALTIME/./}
kills=${KILLS:-40} bad=0 connected=0
touch "$logs/begin"
for ((k = 1; k <= kills; k++)); do
	kill_once $k 2>/dev/null || { bad=1; break; } # bash says who was killed
	grep -q 'peer gone: ' "$logs/kill-$k."*.log && connected=$((connected + 1))
done
pairs_options=()
if [ $bad -eq 0 ]; then
	[ $connected -gt $((kills / 4)) ] || fail "killed $kills times" "only $connected times amid traffic: the moments are wrong"
	[ $connected -gt $((kills / 4)) ] && pass "killed $kills times ($connected amid traffic): the peer gets an error, and both start again"
fi
nothing() # nothing NAME TEXT: the text, of what is left, is empty
{
	if [ -z "$2" ]; then pass "$1"; else fail "$1" "$2"; fi
}
nothing "nothing is left in TMPDIR" "$(ls -A "$tmp")"
nothing "nothing is left in /dev/shm" "$(find /dev/shm -name '*gdakit*' -newer "$logs/begin" 2>/dev/null)"
pairs_options=(--host "killed-a-$$")
alone "the address block of a killed host is free" 20 true
pairs_end
