#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# `gdakit run` in a default container: no mount or user namespaces, no capabilities, no root, under a
# filter that refuses what Docker's default profile refuses (docker_filter.c). run_docker.sh [BUILD_DIR]
set -u
# shellcheck source=sim_tests/progs/pair.sh
. "$(dirname "$0")/pair.sh"
pairs_begin docker "${1:-}"
dev=mlx5_0 filter=$bin/docker_filter
user=1000 # whom docker_filter becomes
tmp=$(mktemp -d)
trap 'pairs_clean; rm -rf "$tmp"' EXIT
export TMPDIR=$tmp HOME=$tmp
chmod 755 "$tmp"
mkdir "$tmp/work" "$tmp/docker"
[ "$(id -u)" -ne 0 ] || chown -R $user "$tmp/work"
export TMPDIR=$tmp/work

if ! "$filter" true 2>"$tmp/why"; then
	skip "a default container" "$(head -n 1 "$tmp/why")"
	pairs_end
	exit 0
fi
if ! "$filter" test -x "$gdakit" -a -r "$gdakit"; then
	skip "a default container" "user $user cannot read $gdakit"
	pairs_end
	exit 0
fi

# says NAME REGEX LOG
says()
{
	grep -Eq -- "$2" "$3" || fail "$1, output" "no line matches '$2'" "$3"
}

# no_leftover NAME: the private trees of what has ended are gone.
no_leftover()
{
	! compgen -G "$TMPDIR/gdakit-*" >"$tmp/left" || fail "$1" "left behind: $(tr '\n' ' ' <"$tmp/left")"
}

devinfo() # devinfo NAME [OPTION of docker_filter...]
{
	local name="$1: ibv_devinfo -v"
	pairs_inside=("$filter" "${@:2}")
	alone "$name" 30 ibv_devinfo -v || return
	says "$name" "hca_id:.*$dev" "$alone_log"
	says "$name" 'state:.*PORT_ACTIVE' "$alone_log"
	[ "$(grep -c '^gdakit: ' "$alone_log")" -eq 1 ] || fail "$name" "not one line about the mode" "$alone_log"
	says "$name" '^gdakit: no namespace here \(mount namespace: .*\): path hooks instead' "$alone_log"
}

perftest() # perftest PROGRAM OPTION...
{
	local name="$where: $*" tool=$1
	shift
	free_port
	pair "$name" 60 "$port" "$tool" -d $dev -F -p "$port" "$@" -- \
		"$tool" -d $dev -F -p "$port" "$@" 127.0.0.1 || return
	grep -Eq '^ *[0-9]+ +[0-9]+ +[0-9.]+' "$client_log" || fail "$name, output" "no row of results" "$client_log"
}

traffic()
{
	local tool
	for tool in ib_write_bw ib_read_bw ib_send_bw; do
		perftest $tool -s 65536 -n 200
	done
	for tool in ib_write_lat ib_read_lat ib_send_lat; do
		perftest $tool -s 8 -n 200
	done
	perftest ib_send_bw -s 4096 -n 200 -e
	if needs rping "$where: rping"; then
		free_port
		pair "$where: rping" 60 "$port" rping -s -p "$port" -C 10 -V -- rping -c -a 127.0.0.1 -p "$port" -C 10 -V
	fi
	free_port
	pair "$where: put_bw" 100 "$port" "$bin/put_bw" -g cpu -p "$port" -- "$bin/put_bw" -g cpu -p "$port" 127.0.0.1
}

# rdma-core's own tests, the whole of it inside: a handful of files.
pyverbs()
{
	local name="$where: rdma-core's tests" from=$tree/build/rdma-core/44/tests tests=$tmp/work/tests modules=() m
	if ! "$tree/ci/rdma-core" --get; then
		skip "$name" "they could not be got"
		return
	fi
	cp -rL "$from" "$tests" && { gunzip -q "$tests"/*.gz 2>/dev/null; chmod -R a+rX "$tests"; }
	for m in addr cq cq_events fork mlx5_devx mlx5_raw_wqe mlx5_uar mr pd qp; do modules+=(--only "test_$m"); done
	timeout -k 5 200 "$filter" /usr/bin/python3 "$tree/sim_tests/rdma_core/run.py" --tests "$tests" \
		--list "$tree/sim_tests/rdma_core/skips-44.txt" --log "$tmp/work/logs" "${modules[@]}" \
		-- "$gdakit" run -- /usr/bin/python3 >"$logs/pyverbs.log" 2>&1
	case $? in
	0) pass "$name ($(tail -n 1 "$logs/pyverbs.log"))" ;;
	*) fail "$name" "$(tail -n 1 "$logs/pyverbs.log")" "$logs/pyverbs.log" ;;
	esac
}

# What children inherit: a script, its programs, Python's, and the ranks of an MPI job.
children()
{
	alone "$where: a script" 30 bash -c '(ibv_devices) | grep -c mlx5_0; exec env ibv_devices' &&
		says "$where: a script" '^1$' "$alone_log"
	# shellcheck disable=SC2016
	alone "$where: Python's children" 30 /usr/bin/python3 -c '
import subprocess as s
for shell in (False, True): print(s.run("ibv_devices", shell=shell, capture_output=True, text=True, check=True).stdout.count("mlx5_0"))' &&
		says "$where: Python's children" '^1$' "$alone_log"
	needs mpirun "$where: mpirun" || return
	alone "$where: mpirun" 60 mpirun --allow-run-as-root --oversubscribe -np 2 ibv_devinfo &&
		{ [ "$(grep -c 'hca_id:.*mlx5_0' "$alone_log")" -eq 2 ] || fail "$where: mpirun" "not two ranks" "$alone_log"; }
}

# README's demo, installed as README says; and the test step of the how-to's workflow, as it stands there.
documented()
{
	local name="$where: ci/demo" place=$tmp/work/prefix log=$logs/demo.log yml=$tree/docs/how-to/examples/rdma-ci.yml
	if ! cmake --install "$build" --prefix "$place" >"$logs/install.log" 2>&1; then
		fail "$name" "cmake --install" "$logs/install.log"
		return
	fi
	cp "$bin/put_bw" "$place/bin/"
	[ "$(id -u)" -ne 0 ] || chown -R $user "$place"
	if timeout -k 3 200 "$filter" "$tree/ci/demo" --run "$place" >"$log" 2>&1; then
		pass "$name ($(tail -n 1 "$log"))"
	else
		fail "$name" "exit code not 0" "$log"
	fi
	name="$where: the how-to's workflow"
	if ! /usr/bin/python3 "$tree/sim_tests/howto_ci_job.py" "$yml" --step container Test >"$tmp/step"; then
		skip "$name" "$(cat "$tmp/step")"
	elif (cd "$tmp/work" && PATH=$place/bin:$PATH timeout -k 3 100 "$filter" bash -eo pipefail "$tmp/step") >"$logs/howto.log" 2>&1 &&
		[ "$(find "$tmp/work/out" -name '*.pcapng' -size +1k | wc -l)" -ge 2 ] &&
		[ "$(find "$tmp/work/out" -name '*.rec' -size +1k | wc -l)" -ge 2 ]; then
		pass "$name"
	else
		ls -l "$tmp/work/out" >>"$logs/howto.log" 2>&1
		fail "$name" "it failed, or kept no packets and recordings" "$logs/howto.log"
	fi
}

# The doctor inside: it names the mode, and what is lost, and ends with 0.
doctor() # doctor NAME REGEX... -- OPTION of docker_filter...
{
	local name="$1: gdakit doctor" want=() log=$logs/doctor-${1//[^A-Za-z]/_}.log
	shift
	while [ "$1" != -- ]; do want+=("$1"); shift; done
	shift
	if ! timeout 30 "$filter" "$@" "$gdakit" doctor >"$log" 2>&1; then
		fail "$name" "exit code not 0" "$log"
		return
	fi
	pass "$name"
	for w in "${want[@]}"; do says "$name" "$w" "$log"; done
}

where="a default container"
devinfo "$where"
doctor "$where" '^mode +hooks' '^no +mount namespace .*Operation not permitted' \
	'^- +userfaultfd .*instead of sleeping$' '^gdakit run can work here, with path hooks$' --
traffic
children
pyverbs
documented
no_leftover "$where: private trees"

where="a default container, as root"
[ "$(id -u)" -eq 0 ] && {
	devinfo "$where" --root
	perftest ib_write_bw -s 65536 -n 200
	no_leftover "$where: private trees"
}

# Profiles of old Docker on old kernels refuse these as well.
where="an old container"
doctor "$where" '^mode +hooks' '^- +process_vm_readv .*two copies instead of one$' -- --deny process_vm_readv,process_vm_writev
devinfo "$where" --deny process_vm_readv,process_vm_writev,ptrace,close_range,statx,seccomp
perftest ib_write_bw -s 65536 -n 200
perftest ib_send_lat -s 8 -n 200 -e

where="hooks, forced" pairs_inside=() pairs_options=(--mode hooks)
traffic
children
no_leftover "$where: private trees"
pairs_end
