#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# What a shell, a launcher and a harness see of gdakit: signals, stops, outputs that cannot be written,
# programs with a sanitizer. launcher_outside.sh GDAKIT GDAKIT_RSH [ASAN_PROG]. Exit code 77: this machine
# cannot run it.
set -u
gdakit=$1 rsh=$2 asan_prog=${3:-}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
export TMPDIR=$tmp
failures=0

fail()
{
	echo "FAIL $*"
	failures=$((failures + 1))
}

if ! "$gdakit" doctor >"$tmp/out"; then
	echo "SKIP $(tail -n 1 "$tmp/out")"
	exit 77
fi

# soon COMMAND...: becomes true within a minute.
soon()
{
	local i
	for ((i = 0; i < 1200; i++)); do
		"$@" && return
		sleep 0.05
	done
	return 1
}

state() { sed 's/.*) \(.\).*/\1/' "/proc/$1/stat" 2>/dev/null; }
# shellcheck disable=SC2317 # called by soon
in_state() { [[ $(state "$1") == [$2] ]]; }
# shellcheck disable=SC2317
has_ended() { [[ $(state "$1") == '' || $(state "$1") == Z ]]; } # '': the shell has taken it already

# begin SCRIPT: under gdakit, which is $pid; the program is $child, once it has said so.
begin()
{
	rm -f "$tmp/ready" "$tmp/pid"
	# What a shell starts in the background ignores SIGINT and SIGQUIT.
	env --default-signal "$gdakit" run -- bash -c "$1"' echo $$ >'"$tmp/pid; : >$tmp/ready"'; while :; do sleep 0.05; done' &
	pid=$!
	soon [ -e "$tmp/ready" ] || fail "'$1' does not start"
	child=$(cat "$tmp/pid")
}

# ends NAME WANT: $pid ends by itself, with this exit code.
ends()
{
	local rc
	soon has_ended $pid || { fail "$1: gdakit does not end, state $(state $pid)"; kill -KILL $pid; }
	wait $pid 2>/dev/null
	rc=$?
	[ $rc -eq "$2" ] || fail "$1: exit code $rc, expected $2"
}

# Any signal to gdakit is one to the program.
for signal in TERM HUP INT QUIT USR1 ALRM URG PIPE IO PROF VTALRM XCPU XFSZ WINCH RTMIN RTMAX; do
	begin "trap 'exit 3' $signal;"
	kill -$signal $pid
	ends "SIG$signal is passed on" 3
done

# A stop of the program is one of gdakit, for a shell to see, and ends with it, whoever ends it.
# In a process group with a parent of the same session: SIGTSTP does not stop orphaned groups.
set -m
begin "trap 'exit 4' TERM;"
set +m
kill -STOP "$child"
soon in_state $pid T || fail "gdakit does not stop with the program"
kill -CONT "$child"
soon in_state $pid SR || fail "gdakit stays stopped when the program is continued"
kill -TSTP $pid
soon in_state "$child" T || fail "SIGTSTP does not reach the program"
soon in_state $pid T || fail "SIGTSTP does not stop gdakit"
kill -CONT $pid
soon in_state "$child" SR || fail "the program stays stopped when gdakit is continued"
kill -TERM $pid
ends "stopped and continued" 4

begin ''
kill -STOP "$child"
soon in_state $pid T || fail "gdakit does not stop with the program, again"
kill -KILL "$child"
ends "killed while it was stopped" 137

# A small stack is the program's, and an error where it is too small for gdakit itself.
out=$(ulimit -S -s 64; "$gdakit" run -- bash -c 'ulimit -s' 2>&1)
[ "$out" = 64 ] || fail "a stack of 64 KiB: '$out', expected 64"
out=$(ulimit -s 64; "$gdakit" run -- true 2>&1)
rc=$?
[[ $rc -eq 125 && $out == 'gdakit: a stack of 64 KiB is not enough'* ]] || fail "no stack beyond 64 KiB: $rc '$out'"

# What cannot be written is no success.
for command in 'stat --json' doctor --help --version; do
	# shellcheck disable=SC2086
	"$gdakit" $command >/dev/full 2>"$tmp/err" && fail "$command to a full disk: exit code 0"
	grep -q -E '^gdakit: standard output: (No space left|not all was written)' "$tmp/err" || fail "$command to a full disk: $(cat "$tmp/err")"
done

# Names of files that cannot be meant.
refused() # refused WANT OPTION...
{
	out=$(cd "$tmp" && "$gdakit" "${@:2}" 2>&1)
	rc=$?
	[[ $rc -ne 0 && $out == *"$1"* ]] || fail "gdakit ${*:2}: $rc '$out', expected '$1'"
}
refused 'both name same: two files are expected' run --record same --pcap same -- true
refused 'both name ./%p.x: two files are expected' run --record ./%p.x --pcap ./%p.x -- true
refused '--record: the name of a file is expected' run --record= -- true
refused 'cannot be read: Is a directory' show .

# A remote shell is given options, and a user, that mean nothing here.
# shellcheck disable=SC2016
for arguments in 'HOST' '-x HOST' '-l root -q HOST' '-lroot -o StrictHostKeyChecking=no -p22 HOST' \
	'-xqTl root -- me@HOST' 'HOST -l root -n'; do
	read -ra words <<<"${arguments//HOST/outside-$$}"
	out=$("$rsh" "${words[@]}" printf '%s' '"a  $((1+1))"' 2>&1)
	[ "$out" = 'a  2' ] || fail "gdakit-rsh $arguments COMMAND: '$out', expected 'a  2'"
done
for arguments in '' '-x' 'alpha' '-l root alpha'; do
	read -ra words <<<"$arguments"
	"$rsh" "${words[@]}" 2>"$tmp/err" && fail "gdakit-rsh $arguments: exit code 0"
	grep -q 'expected \[OPTION\.\.\.\] HOST COMMAND' "$tmp/err" || fail "gdakit-rsh $arguments: $(cat "$tmp/err")"
done

# A program with the address sanitizer starts, with the user's options, and finds a device.
if [ -n "$asan_prog" ]; then
	for mode in namespace hooks; do
		timeout 60 "$gdakit" run --mode $mode -- "$asan_prog" >"$tmp/out" 2>&1 || fail "ASan, $mode: $(cat "$tmp/out")"
		ASAN_OPTIONS=help=1 timeout 60 "$gdakit" run --mode $mode -- "$asan_prog" >"$tmp/out" 2>&1
		grep -q 'Available flags for AddressSanitizer' "$tmp/out" || fail "ASan, $mode: the user's options are lost"
	done
fi

[ $failures -eq 0 ] && echo "launcher seen from outside: ok"
exit $((failures > 0))
