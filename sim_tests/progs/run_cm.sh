#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Unmodified programs of the connection manager (librdmacm, perftest -R, libfabric's verbs provider),
# as pairs of two simulated hosts: run_cm.sh [BUILD_DIR]
set -u
# shellcheck source=sim_tests/progs/pair.sh
. "$(dirname "$0")/pair.sh"
pairs_begin cm "${1:-}"

# cm NAME SERVER... -- CLIENT...: PORT in an argument is replaced by a free port.
cm()
{
	local name=$1
	shift
	needs "${1%% *}" "$name" || return
	free_port
	pair "$name" 60 "$port" "${@//PORT/$port}"
}

cm "rping" rping -s -p PORT -C 20 -V -- rping -c -a 127.0.0.1 -p PORT -C 20 -V
cm "rping, 60000 bytes" rping -s -p PORT -C 5 -V -S 60000 -- rping -c -a 127.0.0.1 -p PORT -C 5 -V -S 60000
cm "ucmatose, 16 connections" ucmatose -p PORT -c 16 -- ucmatose -s 127.0.0.1 -p PORT -c 16
cm "ucmatose, migrating" ucmatose -p PORT -c 4 -m -- ucmatose -s 127.0.0.1 -p PORT -c 4 -m
cm "rdma_server, rdma_client" rdma_server -p PORT -- rdma_client -s 127.0.0.1 -p PORT
for tool in ib_write_bw ib_read_lat ib_send_bw; do
	cm "$tool -R" $tool -R -F -n 200 -s 4096 -p PORT -- $tool -R -F -n 200 -s 4096 -p PORT 127.0.0.1
done
# Its port cannot be chosen.
if needs udaddy udaddy; then
	pair udaddy 60 7174 udaddy -c 4 -- udaddy -s 127.0.0.1 -c 4
fi
# fi_pingpong verifies what it gets (-c).
for ep in "verbs msg" "verbs;ofi_rxm rdm"; do
	cm "fi_pingpong -p $ep" fi_pingpong -p "${ep% *}" -e "${ep##* }" -c -I 50 -B PORT -- \
		fi_pingpong -p "${ep% *}" -e "${ep##* }" -c -I 50 -P PORT 127.0.0.1
done
pairs_end
