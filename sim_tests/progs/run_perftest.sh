#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# perftest, unmodified, over its options: run_perftest.sh [OPTION...] [BUILD_DIR]
#
#   --all          every line of perftest.table; without it those marked "short"
#   --root DIR     the perftest of the file system below DIR, not this machine's
#   --part I/N     every Nth combination, from the Ith (1..N): N of them may run side by side
#   --only REGEX   the combinations that match
#   --list         prints the combinations with what is expected of them, and runs none
#
# The table says of each combination whether it works, what perftest says when it refuses it, or why
# perftest cannot do it whatever the NIC.
set -u
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=sim_tests/progs/pair.sh
. "$here/pair.sh"
table=$here/perftest.table
set_wanted=short root='' part=1 parts=1 only='' list=false build_dir=''
while [ $# -gt 0 ]; do
	case $1 in
	--all) set_wanted=all ;;
	--root) root=$2 && shift ;;
	--part) part=${2%/*} parts=${2#*/} && shift ;;
	--only) only=$2 && shift ;;
	--list) list=true ;;
	-*) echo "run_perftest.sh: no option '$1'" >&2 && exit 2 ;;
	*) build_dir=$1 ;;
	esac
	shift
done

# expand PATTERN: each of "{a|b}" in turn, a line each.
expand()
{
	local before middle after alternative
	if [[ ! $1 =~ ^([^{]*)\{([^}]*)\}(.*)$ ]]; then
		echo "$1"
		return
	fi
	before=${BASH_REMATCH[1]} middle=${BASH_REMATCH[2]} after=${BASH_REMATCH[3]}
	while IFS= read -r alternative; do
		expand "$before$alternative$after"
	done <<<"${middle//|/$'\n'}"
}

# The rules of the table that are for this version: a pattern, what must be seen, and where it is known from.
rule_kinds=() rule_patterns=() rule_texts=()
read_rules()
{
	local kind versions pattern text
	while IFS=$'\t' read -r kind versions pattern text; do
		[[ $kind =~ ^(refuses|cannot)$ ]] || continue
		[[ $versions == all || $versions == "$version" ]] || continue
		rule_kinds+=("$kind") rule_patterns+=("$pattern") rule_texts+=("$text")
	done <"$table"
}

# expect COMBINATION: sets expected to works, refuses or cannot, and text.
expect()
{
	local i
	expected=works text=''
	for i in "${!rule_kinds[@]}"; do
		[[ " $1 " =~ ${rule_patterns[i]} ]] || continue
		expected=${rule_kinds[i]} text=${rule_texts[i]}
		return
	done
}

# The combinations, "[options of gdakit run] : tool options", each once.
combinations()
{
	local sets pattern
	while IFS=$'\t' read -r sets pattern; do
		[[ $sets =~ ^(short|all)$ ]] || continue
		[[ $set_wanted == all || $sets == short ]] || continue
		expand "$pattern"
	done <"$table" | tr -s ' ' | sed 's/ $//' | awk '!seen[$0]++' | awk -v i="$part" -v n="$parts" 'NR % n == i % n'
}

# refused NAME TEXT TOOL...: neither gets through, and one of them says TEXT.
refused()
{
	local name=$1 text=$2
	shift 2
	server_rc=1 client_rc=1
	both "$name" 30 "$port" "$@" -- "$@" 127.0.0.1
	if [ "$server_rc" -eq 0 ] && [ "$client_rc" -eq 0 ]; then
		fail "$name" "it works, although perftest should say '$text'" "$client_log"
	elif ! grep -qF -- "$text" "$client_log" "$server_log"; then
		fail "$name" "it fails, and not with '$text'" "$client_log" "$server_log"
	else
		pass "$name: refuses"
	fi
}

one() # one COMBINATION
{
	local name=$1 command tool
	read -ra pairs_options <<<"${1%%:*}"
	read -ra command <<<"${1#*:}"
	tool=${command[0]}
	if [ ! -x "$root/usr/bin/$tool" ]; then
		skip "$name" "$tool is not installed"
		return
	fi
	expect "$name"
	free_port
	command+=(-d mlx5_0 -F -p "$port")
	case $expected in
	cannot) skip "$name" "$text" ;;
	refuses) refused "$name" "$text" "${command[@]}" ;;
	works)
		pair "$name" 120 "$port" "${command[@]}" -- "${command[@]}" 127.0.0.1 || return
		grep -Eq '^ *[0-9]+ +[0-9]+ +[0-9.]+' "$client_log" || fail "$name, output" "no row of results" "$client_log"
		;;
	esac
}

version=this
[ -z "$root" ] || version=next
read_rules
if $list; then
	combinations | while IFS= read -r combination; do
		expect "$combination"
		echo "$combination: $expected${text:+: $text}"
	done
	exit
fi
pairs_begin "perftest-$version-$part" "$build_dir"
[ -z "$root" ] || pairs_inside=("$tree/sim_tests/rdma_core/in_root.sh" "$root" "$tree")
port=$((20000 + (part - 1) * 20000 / parts))
while IFS= read -r combination <&3; do
	[[ $combination =~ $only ]] && one "$combination"
done 3< <(combinations)
pairs_end
