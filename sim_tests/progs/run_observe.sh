#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# What is seen of a program from outside: recordings, packet captures, gdakit stat, counters in
# sysfs: run_observe.sh [BUILD_DIR]
set -u
# shellcheck source=sim_tests/progs/pair.sh
. "$(dirname "$0")/pair.sh"
pairs_begin observe "${1:-}"
python=/usr/bin/python3
dir=$(mktemp -d)
trap 'pairs_clean; rm -rf "$dir"' EXIT
# The program's own view of its port.
sysfs=/sys/class/infiniband/mlx5_0/ports/1

# is NAME WHAT GOT WANTED
is()
{
	[ "$3" = "$4" ] && return 0
	fail "$1" "$2 is '$3', expected '$4'"
	return 1
}

# value LOG KEY: of a line "KEY VALUE" that a program printed
value() { awk -v k="$2" '$1 == k { print $2; exit }' "$1"; }
# lines FILE OPTION...: how many events of that recording are shown of that recording
lines() { "$gdakit" show "$@" | grep -vc '^[#	]'; }

round_trip()
{
	local name="every CQE of a program is in its recording" qp
	pairs_options=(--record "$dir/w.rec" --pcap "$dir/w.pcapng")
	alone "$name, run" 60 "$bin/observed" writes 50 || return
	pairs_options=()
	qp=$(value "$alone_log" qp)
	is "$name" "records of CQEs" "$(lines "$dir/w.rec" --qp "$qp" --kind cqe)" 50 || return
	is "$name" "records of WQEs" "$(lines "$dir/w.rec" --qp "$qp" --kind fetch)" 50 || return
	# MTU 4096, 3000 bytes: a packet each way for each WRITE, ACKs may be fewer.
	is "$name" "WRITE packets" \
		"$("$gdakit" show "$dir/w.rec" --kind tx | grep -c 'op=WRITE only')" 50 || return
	is "$name" "the last record" "$("$gdakit" show "$dir/w.rec" --kind end | grep -c records=)" 1 || return
	"$gdakit" show --json "$dir/w.rec" | $python -c '
import json, sys
events = [json.loads(line) for line in sys.stdin]
created = [e for e in events if e.get("command") == "CREATE_QP"]
assert len(created) == 1 and created[0]["in"]["body"]["qpc"]["log_sq_size"] > 0, created
libraries = [e["value"] for e in events if e.get("key") == "library"]
assert any("libmlx5" in l and len(l.split()[1]) == 40 for l in libraries), libraries' ||
		{ fail "$name" "the JSON is not as expected"; return; }
	pass "$name"
}

timeline()
{
	local name="a timeline has a row, a packet and a completion for each WQE"
	"$gdakit" show --timeline "$dir/w.svg" "$dir/w.rec" || { fail "$name" "it is not drawn"; return; }
	$python -c 'import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])' "$dir/w.svg" ||
		{ fail "$name" "it is no XML"; return; }
	is "$name" "completions" "$(grep -c '<circle.*#2ca02c' "$dir/w.svg")" 50 || return
	is "$name" "packets" "$(grep -c '<rect.*#1f77b4' "$dir/w.svg")" 50 || return
	pass "$name"
}

capture()
{
	local name="tshark decodes every packet of a capture" sent
	needs tshark "$name" || return
	[ -s "$dir/w.pcapng" ] || { fail "$name" "there is no capture"; return; }
	sent=$("$gdakit" show "$dir/w.rec" --kind tx,rx | grep -vc '^[#	]')
	is "$name" "the number of packets" "$(tshark -r "$dir/w.pcapng" 2>/dev/null | wc -l)" "$sent" || return
	is "$name" "the number of malformed ones" \
		"$(tshark -r "$dir/w.pcapng" -Y _ws.malformed 2>/dev/null | wc -l)" 0 || return
	pass "$name"
}

perftest_recorded()
{
	local name="ib_write_bw, recorded at both ends"
	needs ib_write_bw "$name" || return
	free_port
	local at=$port
	pairs_options=(--record "$dir/%p.rec")
	pair "$name, run" 60 "$at" ib_write_bw -d mlx5_0 -s 5000 -n 40 -p "$at" -- \
		ib_write_bw -d mlx5_0 -s 5000 -n 40 -p "$at" 127.0.0.1 || { pairs_options=(); return; }
	pairs_options=()
	local sent=0 received=0 file
	for file in "$dir"/[0-9]*.rec; do
		sent=$((sent + $("$gdakit" show "$file" --kind tx | grep -c 'op=WRITE first')))
		received=$((received + $("$gdakit" show "$file" --kind rx | grep -c 'op=WRITE first')))
	done
	is "$name" "messages sent" "$sent" 40 || return
	is "$name" "messages received" "$received" 40 || return
	pass "$name"
}

forks()
{
	local name="a child that opens the device writes a recording of its own" file n=0
	pairs_options=(--record "$dir/f.rec")
	alone "$name, run" 60 "$bin/observed" fork 10 || { pairs_options=(); return; }
	pairs_options=()
	for file in "$dir"/f.rec "$dir"/f.rec.*; do
		n=$((n + 1))
		is "$name" "the end of $file" "$("$gdakit" show "$file" --kind end | grep -c records=)" 1 || return
	done
	is "$name" "the number of files" "$n" 2 || return
	is "$name" "CQEs of the child" "$(lines "$dir"/f.rec.* --kind cqe)" 10 || return
	pass "$name"
}

# Sets up a program that sleeps with its device open; its log in stay_log, its pid in stay_pid.
stay()
{
	stay_log=$logs/$1.log
	shift
	start "$stay_log" 60 "$@"
	wait_text "$stay_log" ready "$started" 30 && stay_pid=$(value "$stay_log" pid)
}

killed()
{
	local name="a killed program leaves its recording, its packets and its counters"
	pairs_options=(--record "$dir/k.rec" --pcap "$dir/k.pcapng")
	# The shell looks at the port after the program was killed.
	# shellcheck disable=SC2016
	stay killed sh -c '"$0" stay 20 & pid=$!
		until [ "$(cat '$sysfs'/counters/port_xmit_packets)" -ge 40 ]; do sleep 0.02; done
		echo published; wait $pid
		cat '$sysfs'/counters/port_xmit_packets | sed "s/^/sent /"
		"$0" writes 5 >/dev/null
		cat '$sysfs'/counters/port_xmit_packets | sed "s/^/later /"' "$bin/observed" ||
		{ fail "$name" "the program is not ready" "$stay_log"; return; }
	pairs_options=()
	wait_text "$stay_log" published "$started" 30 # a WRITE and an ACK each
	kill -KILL "$stay_pid"
	finish "$started"
	is "$name" "CQEs in the recording" "$(lines "$dir/k.rec" --kind cqe)" 20 || return
	"$gdakit" show "$dir/k.rec" | tail -n 1 | grep -q 'not closed' ||
		{ fail "$name" "show does not say that it was not closed"; return; }
	local sent later tx
	tx=$("$gdakit" show "$dir/k.rec" --kind tx | grep -vc '^[#	]')
	sent=$(value "$stay_log" sent) later=$(value "$stay_log" later)
	is "$name" "port_xmit_packets after the kill" "$sent" "$tx" || return
	[ "${later:-0}" -ge $((sent + 10)) ] ||
		{ fail "$name" "another program's packets do not add: $sent, then $later"; return; }
	if command -v tshark >/dev/null; then
		is "$name" "sent packets in the capture" \
			"$(tshark -r "$dir/k.pcapng" -Y 'frame.p2p_dir == 0' 2>/dev/null | wc -l)" "$tx" || return
	fi
	pass "$name"
}

stat_live()
{
	local name="gdakit stat shows a program while it runs" qp
	stay stat "$bin/observed" stay 30 || { fail "$name" "the program is not ready" "$stay_log"; return; }
	qp=$(value "$stay_log" qp)
	"$gdakit" stat --json | $python -c '
import json, sys
pid, qpn = int(sys.argv[1]), int(sys.argv[2])
nic, = [n for n in json.load(sys.stdin)["nics"] if n["pid"] == pid]
qp, = [q for q in nic["qps"] if q["qpn"] == qpn]
assert nic["device"] == "mlx5_0" and "observed stay" in nic["command"], nic
assert qp["state"] == "RTS" and qp["type"] == "RC", qp
assert qp["counters"]["tx_messages"] == qp["counters"]["cqes_ok"] == 30, qp
assert nic["counters"]["rx_write_requests"] == 30, nic' "$stay_pid" "$qp" ||
		{ fail "$name" "the JSON is not as expected"; kill "$started"; finish "$started"; return; }
	"$gdakit" stat --prometheus >"$dir/stat.txt"
	$python "$(dirname "$0")/prometheus_check.py" "$dir/stat.txt" ||
		{ fail "$name" "the Prometheus text is malformed"; kill "$started"; finish "$started"; return; }
	if ! grep -q "^gdakit_qp_tx_messages_total{device=\"mlx5_0\",.*pid=\"$stay_pid\",qpn=\"0x.*} 30$" "$dir/stat.txt" ||
		! grep -q '^# TYPE gdakit_port_tx_bytes_total counter$' "$dir/stat.txt"; then
		fail "$name" "the Prometheus text lacks a line"
		kill "$started"
		finish "$started"
		return
	fi
	kill -TERM "$started"
	finish "$started"
	if "$gdakit" stat | grep -q "pid $stay_pid "; then
		fail "$name" "it is shown after its end"
		return
	fi
	pass "$name"
}

# counters NAME PROGRAM-ARGUMENT FILE=VALUE...: what hw_counters say after the program
counters()
{
	local name=$1 what=$2 want
	shift 2
	# shellcheck disable=SC2016
	alone "$name, run" 60 sh -c '"$0" '"$what"' && cd '$sysfs' && grep -r . hw_counters counters' "$bin/observed" || return
	for want in "$@"; do
		grep -qx -- "$want" "$alone_log" ||
			{ fail "$name" "$(grep -- "^${want%:*}:" "$alone_log"), expected $want"; return; }
	done
	pass "$name"
}

refusals()
{
	local name="a file that is no recording is not overwritten" out
	echo precious >"$dir/precious"
	if out=$("$gdakit" run --record "$dir/precious" -- true 2>&1); then
		fail "$name" "the run began"
	elif [ "$(cat "$dir/precious")" != precious ]; then
		fail "$name" "the file has changed"
	elif ! grep -q 'not overwritten' <<<"$out"; then
		fail "$name" "it says: $out"
	else
		pass "$name"
	fi
	name="a run that opens no device leaves no file"
	out=$("$gdakit" run --record "$dir/none.rec" -- true 2>&1)
	is "$name" "what is left" "$(ls "$dir"/none.rec 2>/dev/null)" "" && grep -q 'no process' <<<"$out" && pass "$name"
}

round_trip
timeline
capture
perftest_recorded
forks
killed
stat_live
counters "RNR shows in hw_counters" rnr hw_counters/out_of_buffer:2 hw_counters/rnr_nak_retry_err:1 \
	hw_counters/req_cqe_error:1 hw_counters/local_ack_timeout_err:0
counters "a peer that does not answer shows in hw_counters" timeout hw_counters/local_ack_timeout_err:2 \
	hw_counters/req_cqe_error:1 hw_counters/req_cqe_flush_error:0
counters "data shows in counters, in units of four bytes" "writes 4" hw_counters/rx_write_requests:4 \
	counters/port_xmit_packets:8
refusals
pairs_end
