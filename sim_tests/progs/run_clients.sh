#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Libraries that stand on verbs, unmodified: Open MPI over UCX's verbs transports, with ranks on one
# simulated host and on several, and ucx_perftest: run_clients.sh [BUILD_DIR]
set -u
# shellcheck source=sim_tests/progs/pair.sh
. "$(dirname "$0")/pair.sh"
pairs_begin clients "${1:-}"
export UCX_NET_DEVICES=mlx5_0:1 UCX_WARN_UNUSED_ENV_VARS=n
# What the programs link must come from verbs: no other way between two ranks.
mpirun=(mpirun --allow-run-as-root --oversubscribe --mca pml ucx --mca osc ucx --mca btl '^openib,ofi' -x UCX_TLS -x UCX_NET_DEVICES)
export OMPI_MCA_plm_rsh_agent="$bin/gdakit-rsh" OMPI_MCA_plm_rsh_no_tree_spawn=1

# plain NAME SECONDS COMMAND...: like alone, but the command itself starts `gdakit run`.
plain()
{
	local name=$1 seconds=$2 rc
	shift 2
	alone_log=$logs/${name//[^A-Za-z0-9_.=-]/_}.log
	case_began=${EPOCHREALTIME/./}
	timeout -k 3 "$seconds" "$@" >"$alone_log" 2>&1 </dev/null
	rc=$?
	[ "$rc" -eq 0 ] || { fail "$name" "$(say_exit "$rc" "$seconds")" "$alone_log"; return 1; }
	pass "$name"
}

# ok_ranks NAME RANKS HOSTS: each rank has said that all is well, and they were on so many hosts.
ok_ranks()
{
	local ranks hosts
	ranks=$(grep -Ec "^rank [0-9]+ of $2 on 127\.[0-9.]+: ok$" "$alone_log")
	hosts=$(grep -Eo 'on 127\.[0-9.]+' "$alone_log" | sort -u | wc -l)
	if [ "$ranks" -ne "$2" ] || [ "$hosts" -ne "$3" ]; then
		fail "$1, ranks" "$ranks ranks on $hosts hosts said ok, expected $2 on $3" "$alone_log"
	fi
}

# What gdakit-rsh keeps for each of our hosts.
tidy() { rm -rf "${TMPDIR:-/tmp}/gdakit-rsh-$UID/cl-"?"$$"; }

mpi()
{
	local tls n name how_to words
	needs mpirun "Open MPI over UCX" || return
	[ -x "$bin/mpi_check" ] || { skip "Open MPI over UCX" "mpi_check was not built: no MPI compiler when it was configured"; return; }
	for tls in rc_v,self rc_x,self; do
		export UCX_TLS=$tls
		for n in 2 4; do
			name="mpirun -n $n, UCX_TLS=$tls, one host"
			alone "$name" 120 "${mpirun[@]}" -n $n "$bin/mpi_check" && ok_ranks "$name" $n 1
			name="mpirun -n $n, UCX_TLS=$tls, two hosts"
			plain "$name" 120 "${mpirun[@]}" -n $n -H "cl-a$$:$((n / 2)),cl-b$$:$((n / 2))" "$bin/mpi_check" &&
				ok_ranks "$name" $n 2
		done
	done
	# What a user copies from the how-to, with these hosts and this program.
	how_to=$(sed -n '/^    mpirun .*gdakit-rsh/,/my_program$/p' "$tree/docs/how-to/mpi.md" | sed 's/\\$//' | tr -d '\n')
	how_to=${how_to/alpha:/doc-a$$:} how_to=${how_to/beta:/doc-b$$:}
	how_to=${how_to/mpirun/mpirun --allow-run-as-root --oversubscribe} how_to=${how_to/.\/my_program/$bin/mpi_check}
	read -ra words <<<"${how_to/gdakit-rsh/$bin/gdakit-rsh}"
	plain "mpirun, the how-to's command" 120 "${words[@]}" && ok_ranks "mpirun, the how-to's command" 4 2
	unset UCX_TLS
}

ucx() # ucx TEST SIZE
{
	local name="ucx_perftest -t $1 -s $2"
	needs ucx_perftest "$name" || return
	free_port
	pair "$name" 60 "$port" ucx_perftest -t "$1" -s "$2" -n 500 -p "$port" -- \
		ucx_perftest -t "$1" -s "$2" -n 500 -p "$port" 127.0.0.1 || return
	grep -Eq '^Final: +500 ' "$client_log" || fail "$name, output" "no row of results" "$client_log"
}

mpi
for UCX_TLS in rc_x rc_v; do
	export UCX_TLS
	for test in ucp_put_lat ucp_put_bw ucp_get ucp_add ucp_fadd ucp_swap ucp_cswap tag_lat; do
		ucx $test 8
	done
	ucx ucp_put_bw 65536
	ucx ucp_get 1048576
	ucx tag_bw 65536
done
tidy
pairs_end
