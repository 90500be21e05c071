#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Our programs that check every byte: verbs, and kernels over the engine. run_ours.sh [BUILD_DIR]
set -u
# shellcheck source=sim_tests/progs/pair.sh
. "$(dirname "$0")/pair.sh"
pairs_begin ours "${1:-}"

check() # check OPTION...: verbs_check with these
{
	free_port
	pair "verbs_check${*:+ $*}${pairs_options[*]:+, ${pairs_options[*]}}" 100 "$port" "$bin/verbs_check" -p "$port" "$@" -- \
		"$bin/verbs_check" -p "$port" "$@" 127.0.0.1
}

kernel() # kernel PROGRAM OPTION...: a program of hw_tests, its kernel on the CPU
{
	local name="$*${pairs_options[*]:+, ${pairs_options[*]}}" tool=$1
	shift
	free_port
	pair "$name" 100 "$port" "$bin/$tool" -g cpu -p "$port" "$@" -- \
		"$bin/$tool" -g cpu -p "$port" "$@" 127.0.0.1
}

# A client that closes after the exchange, as upstream's does when it is done: the server must check its
# buffers by itself. Nothing was written here, so it must also say that every buffer is wrong.
upstream_client()
{
	local name="$1 server with upstream's exchange" log=$logs/upstream_$1 server rc
	free_port
	start "$log.server.log" 60 "$bin/$1" -g cpu -p "$port"
	server=$started
	if ! wait_listen "$port" "$server" 30 ||
		! timeout 40 "$progs_dir/upstream_exchange.py" "$port" >"$log.client.log" 2>&1; then
		fail "$name" "the exchange failed" "$log.client.log" "$log.server.log"
		kill -TERM "$server" 2>/dev/null
		finish "$server"
		return
	fi
	finish "$server"
	rc=$?
	if [ "$rc" -eq 1 ] && [ "$(grep -c '^buffer [0-9]*: [0-9]* of [0-9]* bytes are wrong' "$log.server.log")" -eq 16 ]; then
		pass "$name"
	else
		fail "$name" "exit code $rc, expected 1 and 16 wrong buffers" "$log.server.log"
	fi
}

check
check -e
check -q 1 -m 1024
check -q 8 -m 256
alone onesided 100 "$bin/onesided" -g cpu
alone "onesided -H proxy" 100 "$bin/onesided" -g cpu -H proxy
kernel put_bw -e thread
kernel put_bw -e warp
kernel put_bw -e thread -q 4 -s 4096
kernel put_bw -e warp -H proxy -s 65536
kernel write_bw
kernel write_bw -q 4 -s 65536 -l 16
kernel write_bw -H proxy -s 64
# The same over an InfiniBand port: LIDs instead of addresses.
pairs_options=(--link-layer infiniband)
check
kernel put_bw -e warp -s 4096
pairs_options=()
upstream_client put_bw
upstream_client write_bw
pairs_end
