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

# exchange NAME MODE RC WANT PROGRAM OPTION...: PROGRAM as server of upstream_exchange.py in that MODE
# must end with RC, and its last lines match WANT.
exchange()
{
	local name=$1 mode=$2 want_rc=$3 want=$4 server rc log
	log=$logs/${name//[^A-Za-z0-9_.=-]/_}
	shift 4
	free_port
	start "$log.server.log" 60 "$bin/$1" -g cpu -p "$port" "${@:2}"
	server=$started
	if ! wait_listen "$port" "$server" 30 ||
		! timeout 40 "$progs_dir/upstream_exchange.py" "$port" "$mode" >"$log.client.log" 2>&1; then
		fail "$name" "the exchange failed" "$log.client.log" "$log.server.log"
		kill -TERM "$server" 2>/dev/null
		finish "$server"
		return
	fi
	finish "$server"
	rc=$?
	if [ "$rc" -ne "$want_rc" ]; then
		fail "$name" "exit code $rc, expected $want_rc" "$log.server.log"
	elif ! grep -Eq -- "$want" "$log.server.log"; then
		fail "$name" "no line matches '$want'" "$log.server.log"
	else
		pass "$name"
	fi
}

# A client that closes after the exchange, as upstream's does when it is done: with --upstream the server
# must check its buffers by itself. Nothing was written here, so it must say that every buffer is wrong.
# Without, it cannot know what to check, and must not speak of wrong bytes.
upstream_client()
{
	local log=$logs/$1_server_of_upstream_s_client.server.log
	exchange "$1 server of upstream's client" "" 1 '^server: 16 buffers checked' "$1" --upstream
	if [ "$(grep -c '^buffer [0-9]*: [0-9]* of [0-9]* bytes are wrong' "$log")" -ne 16 ]; then
		fail "$1 server of upstream's client, output" "expected 16 wrong buffers" "$log"
	fi
	log=$logs/$1_server_of_a_client_that_ends_early.server.log
	exchange "$1 server of a client that ends early" "" 1 \
		'^the client ended early: nothing was checked .*--upstream' "$1"
	if grep -q wrong "$log"; then
		fail "$1 server of a client that ends early, output" "a false alarm" "$log"
	fi
}

# refused NAME WANT COMMAND...: the command must end by itself with an error, and with a line that matches.
refused()
{
	local name=$1 want=$2 rc log
	log=$logs/${name//[^A-Za-z0-9_.=-]/_}.log
	shift 2
	start "$log" 30 "$@"
	finish "$started"
	rc=$?
	if [ "$rc" -eq 0 ] || [ "$rc" -ge 124 ]; then
		fail "$name" "$(say_exit "$rc" 30), expected an error" "$log"
	elif ! grep -Eq -- "$want" "$log"; then
		fail "$name" "no line matches '$want'" "$log"
	else
		pass "$name"
	fi
}

# Mistakes on the command line: each half refuses by itself, before it waits for the other.
refused_options()
{
	local half
	free_port
	for half in "" 127.0.0.1; do
		refused "put_bw -s 16777217 $half" "expected 1\.\.16777216" "$bin/put_bw" -g cpu -p "$port" -s 16777217 $half
		refused "put_bw -s 1048577 --slots 512 $half" "expected 1\.\.1048576" \
			"$bin/put_bw" -g cpu -p "$port" -s 1048577 --slots 512 $half
		refused "put_bw --slots 33 $half" "a multiple of 32" "$bin/put_bw" -g cpu -p "$port" --slots 33 $half
		refused "put_bw --upstream -s 64 $half" "every size" "$bin/put_bw" -g cpu -p "$port" --upstream -s 64 $half
		refused "write_bw -e warp $half" "no kernel in warp scope" "$bin/write_bw" -g cpu -p "$port" -e warp $half
	done
	refused "onesided -q 2" "invalid option" "$bin/onesided" -g cpu -q 2
	refused "onesided SERVER" "too much" "$bin/onesided" -g cpu 127.0.0.1
}

no_gpu() # where there is none, -g must say just that
{
	local gpu
	if [ -e /dev/nvidiactl ] || [ -e /proc/driver/nvidia/gpus ]; then
		skip "put_bw -g without a GPU" "this machine has one"
		return
	fi
	for gpu in gpu 0000:01:00.0; do
		refused "put_bw -g $gpu" "^-g $gpu: no NVIDIA GPU on this machine" "$bin/put_bw" -g $gpu
	done
}

# -T bounds the wait for the other half too: nobody there, and one who has another client.
limits()
{
	local server name="put_bw -T 1, the loser of two clients" log=$logs/loser
	free_port
	refused "put_bw -T 1, no server" "cannot reach a server .* within 1000 ms" \
		"$bin/put_bw" -g cpu -p "$port" -T 1 127.0.0.1
	refused "put_bw -T 1, no client" "no client .* within 1000 ms" "$bin/put_bw" -g cpu -p "$port" -T 1
	free_port
	start "$log.server.log" 60 "$bin/put_bw" -g cpu -p "$port"
	server=$started
	if ! wait_listen "$port" "$server" 30; then
		fail "$name" "the server did not listen" "$log.server.log"
	else
		# A winner that says nothing; the server's port closes as soon as it has him.
		exec 9<>"/dev/tcp/127.0.0.1/$port"
		while listening "$port"; do sleep 0.02; done
		refused "$name" "cannot reach a server .* within 1000 ms" \
			"$bin/put_bw" -g cpu -p "$port" -T 1 127.0.0.1
		exec 9>&-
	fi
	kill -TERM "$server" 2>/dev/null
	finish "$server"
}

rounded() # rounded N OPTION...: the client must say that its iterations became N
{
	local want=$1
	shift
	kernel put_bw "$@" || return
	if ! grep -q "^iterations rounded up to $want (a multiple of " "$client_log"; then
		fail "put_bw $*, output" "no word of $want iterations" "$client_log"
	fi
}

# strangers: each finds the other through UDP only, which --wire shm forbids.
strangers()
{
	local name="--wire shm: a host of another fabric is not found" server client rc
	free_port
	pairs_options=(--verbose --wire shm --fabric "one-$$")
	start "$logs/strangers.server.log" 40 "$bin/kill_peer" -p "$port"
	server=$started
	if ! wait_listen "$port" "$server" 20; then
		fail "$name" "the server does not listen" "$logs/strangers.server.log"
		finish "$server"
		return
	fi
	pairs_options=(--verbose --wire shm --fabric "two-$$")
	start "$logs/strangers.client.log" 40 "$bin/kill_peer" -p "$port" 127.0.0.1
	client=$started
	pairs_options=()
	finish "$client"
	rc=$?
	finish "$server" || rc=$?
	if [ $rc -ne 0 ]; then
		fail "$name" "exit code $rc" "$logs/strangers.server.log" "$logs/strangers.client.log"
	elif ! grep -q 'peer gone: transport retry counter exceeded' "$logs/strangers.client.log" ||
		! grep -q "not reached through shared memory in fabric 'two-$$'" "$logs/strangers.client.log"; then
		fail "$name" "the client does not say why" "$logs/strangers.client.log"
	else
		pass "$name"
	fi
}

check
# A fabric's name is all that processes need to find each other's memory.
pairs_options=(--wire shm --fabric "ours-$$")
check -q 1 -m 256
pairs_options=(--wire udp)
check -q 1 -m 256
pairs_options=()
strangers
alone "keys_check" 60 "$bin/keys_check"
check -e
check -q 1 -m 1024
check -q 8 -m 256
alone onesided 100 "$bin/onesided" -g cpu
for who in proxy db bf nodbr-sw; do
	alone "onesided -H $who" 100 "$bin/onesided" -g cpu -H $who
done
refused "onesided -H nodbr on a ConnectX-7" NOT_SUPPORTED "$bin/onesided" -g cpu -H nodbr
pairs_options=(--nic connectx-8)
alone "onesided -H nodbr on a ConnectX-8" 100 "$bin/onesided" -g cpu -H nodbr
pairs_options=()
kernel put_bw -e thread
kernel put_bw -e warp
kernel put_bw -e thread -q 4 -s 4096
kernel put_bw -e warp -H proxy -s 65536
kernel put_bw --upstream -e warp -n 512
kernel write_bw
kernel write_bw -q 4 -s 65536 -l 16
kernel write_bw -H proxy -s 64
# The same over an InfiniBand port: LIDs instead of addresses.
pairs_options=(--link-layer infiniband)
check
kernel put_bw -e warp -s 4096
pairs_options=()
rounded 64 -s 1 -n 1
rounded 128 -s 64 -q 64 -n 100
upstream_client put_bw
upstream_client write_bw
exchange "put_bw server of a client that ends half-way" half 1 '^the client ended early: 1 of 2 sizes' put_bw --seed 0
exchange "put_bw server of a stranger" stranger 2 'DOCA_ERROR_INVALID_VALUE.*expected a QP number of 1\.\.0xffffff' put_bw
exchange "put_bw server of a client without GID" gid 2 'DOCA_ERROR_INVALID_VALUE.*expected a GID' put_bw
exchange "put_bw server of a wrong control step" step 1 'DOCA_ERROR_INVALID_VALUE: magic 0x0, expected 0x67646b32' put_bw
refused_options
no_gpu
limits
pairs_end
