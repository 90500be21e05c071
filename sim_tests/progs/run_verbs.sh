#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Debian's unmodified verbs programs, alone and as pairs: run_verbs.sh [BUILD_DIR]
set -u
# shellcheck source=sim_tests/progs/pair.sh
. "$(dirname "$0")/pair.sh"
pairs_begin verbs "${1:-}"
dev=mlx5_0

devinfo()
{
	local name="ibv_devinfo -v" want
	needs ibv_devinfo "$name" || return
	alone "$name" 30 ibv_devinfo -v || return
	for want in "hca_id:.*$dev" 'vendor_id:.*0x02c9' 'state:.*PORT_ACTIVE' 'GID\[ *0\]' 'max_qp:'; do
		grep -Eq "$want" "$alone_log" || fail "$name, output" "no line matches '$want'" "$alone_log"
	done
}

pingpong() # pingpong SERVICE OPTION...
{
	local name="ibv_$1_pingpong ${*:2}${pairs_options[*]:+, ${pairs_options[*]}}" tool=ibv_$1_pingpong
	shift
	needs "$tool" "$name" || return
	free_port
	pair "$name" 60 "$port" "$tool" -d $dev -p "$port" "$@" -- \
		"$tool" -d $dev -p "$port" "$@" 127.0.0.1
}

perftest() # perftest PROGRAM OPTION...
{
	local name="$*${pairs_options[*]:+, ${pairs_options[*]}}" tool=$1
	shift
	needs "$tool" "$name" || return
	free_port
	pair "$name" 60 "$port" "$tool" -d $dev -F -p "$port" "$@" -- \
		"$tool" -d $dev -F -p "$port" "$@" 127.0.0.1 || return
	grep -Eq '^ *[0-9]+ +[0-9]+ +[0-9.]+' "$client_log" || fail "$name, output" "no row of results" "$client_log"
}

devinfo
pingpong rc -g 0 -c
pingpong rc -g 0 -c -e -n 300
pingpong rc -g 0 -c -s 65537 -m 4096 -n 100
pingpong uc -g 0
pingpong ud -g 0
pingpong ud -g 0 -e -n 300 -s 1024
for tool in ib_write_bw ib_read_bw ib_send_bw; do
	perftest $tool -a -n 20
	perftest $tool -s 65536 -n 500
	perftest $tool -s 4096 -n 500 -q 4
done
# Sleeping on events; ib_write_bw refuses -e.
perftest ib_read_bw -s 4096 -n 300 -e
perftest ib_send_bw -s 4096 -n 300 -e
perftest ib_write_lat -a -n 20
perftest ib_write_lat -s 8 -n 1000
perftest ib_read_lat -s 8 -n 1000
perftest ib_read_lat -s 65537 -n 100
perftest ib_read_lat -s 8 -n 300 -e
perftest ib_send_lat -s 8 -n 300 -e
perftest ib_atomic_bw -n 500
perftest ib_atomic_bw -n 200 -q 4
perftest ib_atomic_bw -A CMP_AND_SWAP -n 200
perftest ib_atomic_bw -n 200 -e
# Without acknowledgements.
unreliable()
{
	perftest ib_send_bw -c UD -n 500
	perftest ib_send_bw -c UD -n 300 -e
	perftest ib_send_bw -c UD -s 64 -I 64 -n 300 -q 4
	perftest ib_send_lat -c UD -n 300
	perftest ib_send_bw -c UC -n 500
	perftest ib_send_lat -c UC -n 300
	perftest ib_write_bw -c UC -n 500
}
unreliable
# A group of IPv4, as the port's GID is; perftest's own default is none.
perftest ib_send_bw -c UD -g -M 0:0:0:0:0:0:0:0:0:0:255:255:239:1:2:3 -n 300
perftest ib_send_lat -c UD -g -n 100
# Shared receive queues, plain and of XRC.
shared() # shared PROGRAM OPTION...
{
	local name="$*" tool=$1
	shift
	needs "$tool" "$name" || return
	free_port
	pair "$name" 60 "$port" "$tool" -d $dev -g 0 -p "$port" "$@" -- \
		"$tool" -d $dev -g 0 -p "$port" "$@" 127.0.0.1
}
shared ibv_srq_pingpong -n 300
shared ibv_srq_pingpong -n 300 -q 4 -e
shared ibv_xsrq_pingpong -n 300
shared ibv_xsrq_pingpong -n 300 -s 65536 -e
perftest ib_send_bw --use-srq -s 65537 -n 100
perftest ib_send_bw --use-srq -s 4096 -n 300 -q 8
perftest ib_send_lat --use-srq -s 8 -n 300 -e
for tool in ib_send_bw ib_write_bw ib_read_bw; do
	perftest $tool -c XRC -s 65537 -n 100
	perftest $tool -c XRC -s 4096 -n 300 -q 4
done
perftest ib_send_lat -c XRC -s 8 -n 300 -e
perftest ib_write_lat -c XRC -s 8 -n 300
perftest ib_atomic_bw -c XRC -n 300
# InfiniBand: addressed by LID, no -g; by GRH with -x.
infiniband()
{
	pairs_options=(--link-layer infiniband)
	pingpong rc -c
	pingpong uc
	pingpong ud
	perftest ib_write_bw -s 65536 -n 200
	unreliable
	perftest ib_send_bw -c UD -x 0 -n 300
	pairs_options=()
}
infiniband
# The default wire is shared memory here; both ways, forced.
for wire in shm udp; do
	pairs_options=(--wire "$wire")
	pingpong rc -g 0 -c -s 65537 -m 4096 -n 100
	pingpong uc -g 0
	pingpong ud -g 0
	perftest ib_send_bw -c UD -g -M 0:0:0:0:0:0:0:0:0:0:255:255:239:1:2:3 -n 300
	perftest ib_write_bw -a -n 20
	perftest ib_read_bw -s 65536 -n 300
	perftest ib_send_lat -s 8 -n 300
done
pairs_options=()
pairs_end
