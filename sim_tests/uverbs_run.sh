#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The launcher seen from outside: uverbs_run.sh GDAKIT PROG_DEVX CLOSE_PROG FDS_PROG. Exit code 77: this machine cannot run it.
set -u
gdakit=$1 prog_devx=$2 close_prog=$3 fds_prog=$4
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
export TMPDIR=$tmp
failures=0

fail()
{
	echo "FAIL $*"
	failures=$((failures + 1))
}

# rc_is WANT NAME COMMAND...: the command's exit code; its output stays in $tmp/out and $tmp/err.
rc_is()
{
	local want=$1 name=$2 rc
	shift 2
	timeout 60 "$@" >"$tmp/out" 2>"$tmp/err" </dev/null
	rc=$?
	[ $rc -eq "$want" ] && return
	fail "$name: exit code $rc, expected $want"
	sed 's/^/     | /' "$tmp/out" "$tmp/err"
}

has() # has NAME REGEX FILE
{
	grep -Eq -- "$2" "$3" || { fail "$1: no line matches '$2'"; sed 's/^/     | /' "$3"; }
}

if ! "$gdakit" doctor >"$tmp/out"; then
	echo "SKIP $(tail -n 1 "$tmp/out")"
	exit 77
fi

# Tools that would ask the kernel over netlink; what they do not know goes to the real ones.
rc_is 0 "rdma link" "$gdakit" run --nics 2 -- rdma link show -j
has "rdma link" '"ifname":"mlx5_1","port":1,"state":"ACTIVE","physical_state":"LINK_UP","netdev":"lo"' "$tmp/out"
rc_is 0 "rdma link" "$gdakit" run --link-layer infiniband -- rdma link
has "rdma link" '^link mlx5_0/1 state ACTIVE physical_state LINK_UP$' "$tmp/out"
rc_is 0 "rdma dev" "$gdakit" run -- rdma dev
has "rdma dev" '^0: mlx5_0: node_type ca fw [0-9.]+ node_guid' "$tmp/out"
rc_is 0 "devlink" "$gdakit" run -- devlink dev param show pci/0000:c1:00.0 name enable_roce
has "devlink" 'value true' "$tmp/out"
# shellcheck disable=SC2016
rc_is 1 "rdma without another" "$gdakit" run -- sh -c 'PATH=${PATH%%:*}:/nonexistent; exec rdma system'

# The doctor names a library that the preload would miss in every program.
library=$(dirname "$gdakit")/../emu/uverbs/libgdakit_uverbs.so
mkdir "$tmp/broken"
cp "$gdakit" "$tmp/broken/"
LC_ALL=C sed 's/libc\.so\.6/libQ.so.6/g' "$library" >"$tmp/broken/libgdakit_uverbs.so"
rc_is 1 "a library is missing" "$tmp/broken/gdakit" doctor
has "a library is missing" '^MISSING .*libQ\.so\.6: cannot open' "$tmp/out"

# Exit codes are the program's, or say what went wrong in words of env(1).
rc_is 0 "true" "$gdakit" run true
rc_is 7 "exit 7" "$gdakit" run -- sh -c 'exit 7'
rc_is 143 "killed by SIGTERM" "$gdakit" run -- sh -c 'kill -TERM $$'
rc_is 127 "no such program" "$gdakit" run -- /nonexistent
has "no such program" '^gdakit: /nonexistent: No such file' "$tmp/err"
rc_is 126 "not executable" "$gdakit" run -- /etc/passwd
rc_is 64 "no program" "$gdakit" run
rc_is 64 "unknown option" "$gdakit" run --no-such-option true
rc_is 64 "unknown command" "$gdakit" walk
for host in 127.0.0.1 127.63.0 127.127.0 127.64.256 16128 -1 '' .x 1x; do
	rc_is 64 "host '$host'" "$gdakit" run "--host=$host" true
	has "host '$host'" "--host is '$host', expected a number below 16128, 127.a.b with a from 64 to 126, or" "$tmp/err"
done
rc_is 0 "the last host" "$gdakit" run --host=127.126.255 printenv GDAKIT_HOST
has "the last host" '^127\.126\.255$' "$tmp/out"

# A signal to gdakit is one to the program, whose exit code comes back.
"$gdakit" run -- sh -c 'trap "exit 3" TERM; : >'"$tmp/ready"'; while :; do sleep 0.05; done' &
pid=$!
for _ in $(seq 600); do [ -e "$tmp/ready" ] && break; sleep 0.05; done
kill -TERM $pid
wait $pid
rc=$?
[ $rc -eq 3 ] || fail "SIGTERM is passed on: exit code $rc, expected 3"

# Killed outright, gdakit takes the program with it.
rm -f "$tmp/ready"
"$gdakit" run -- sh -c 'echo $$ >'"$tmp/pid"'; : >'"$tmp/ready"'; exec sleep 600' &
pid=$!
for _ in $(seq 600); do [ -e "$tmp/ready" ] && break; sleep 0.05; done
kill -KILL $pid
wait $pid 2>/dev/null
for _ in $(seq 600); do [ -d "/proc/$(cat "$tmp/pid")" ] || break; sleep 0.05; done
[ -d "/proc/$(cat "$tmp/pid")" ] && fail "the program outlives a gdakit that was killed"

# Arguments, environment and streams pass through; what the program executes inherits all.
rc_is 0 "arguments" "$gdakit" run -- printf '%s|' a 'b c' -v
has "arguments" '^a\|b c\|-v\|$' "$tmp/out"
rc_is 0 "grandchildren" "$gdakit" run -- bash -c 'env bash -c "ibv_devices; exit 0"'
has "grandchildren" 'mlx5_0' "$tmp/out"
rc_is 0 "stdin" "$gdakit" run -- sh -c 'echo text | cat'
has "stdin" '^text$' "$tmp/out"

# Each host has an address of its own; a named one is the same every time and exists once.
rc_is 0 "two hosts" "$gdakit" run -- sh -c "printenv GDAKIT_HOST; exec '$gdakit' run -- printenv GDAKIT_HOST"
[ "$(sort -u "$tmp/out" | wc -l)" -eq 2 ] || fail "two hosts: $(tr '\n' ' ' <"$tmp/out")"
rc_is 0 "named host" "$gdakit" run --host alpha -- printenv GDAKIT_HOST
name=$(cat "$tmp/out")
rc_is 0 "named host again" "$gdakit" run --host alpha -- printenv GDAKIT_HOST
[ "$name" = "$(cat "$tmp/out")" ] || fail "named host: $name, then $(cat "$tmp/out")"
rc_is 125 "named host twice" "$gdakit" run --host alpha -- "$gdakit" run --host alpha -- true
has "named host twice" 'running already' "$tmp/err"

# The device.
rc_is 0 "ibv_devinfo -v" "$gdakit" run -- ibv_devinfo -v
for line in 'hca_id:.*mlx5_0' 'vendor_id:.*0x02c9' 'vendor_part_id:.*4129' 'state:.*PORT_ACTIVE' \
	'link_layer:.*Ethernet' 'GID\[ *0\]:.*::ffff:127\.[0-9]+\.[0-9]+\.1, RoCE v2' 'atomic_cap:.*ATOMIC_HCA' \
	'active_mtu:.*4096' 'gid_tbl_len:.*8$'; do
	has "ibv_devinfo -v" "$line" "$tmp/out"
done
rc_is 0 "InfiniBand" "$gdakit" run --link-layer infiniband -- ibv_devinfo -v
has "InfiniBand" 'link_layer:.*InfiniBand' "$tmp/out"
has "InfiniBand" 'port_lid:.*[1-9]' "$tmp/out"
rc_is 0 "sysfs" "$gdakit" run -- sh -c 'cat /sys/class/infiniband/mlx5_0/device/vendor /sys/bus/pci/devices/0000:c1:00.0/device \
	/sys/class/infiniband/mlx5_0/ports/1/gid_attrs/types/0; ls /sys/class/net /dev/null /dev/shm /proc/self/fd'
has "sysfs" '^0x15b3$' "$tmp/out"
has "sysfs" '^0x1021$' "$tmp/out"
has "sysfs" '^RoCE v2$' "$tmp/out"
[ -e /sys/class/infiniband/mlx5_0/board_id ] && grep -q GDAKIT /sys/class/infiniband/mlx5_0/board_id &&
	fail "the device is seen outside"

# Several devices: each with a node, a PCI function, addresses and GUIDs of its own.
for n in 0 9 1x ''; do
	rc_is 64 "--nics '$n'" "$gdakit" run "--nics=$n" true
	has "--nics '$n'" "--nics is '$n', expected 1 to 8" "$tmp/err"
done
rc_is 0 "eight NICs" "$gdakit" run --nics 8 -- ibv_devinfo
for what in hca_id node_guid; do
	[ "$(grep "$what:" "$tmp/out" | sort -u | wc -l)" -eq 8 ] || fail "eight NICs: not eight different lines of $what"
done
rc_is 0 "the first is mlx5_0" "$gdakit" run --nics 8 -- sh -c 'ibv_devices | sed -n 3p'
has "the first is mlx5_0" 'mlx5_0 ' "$tmp/out"
# shellcheck disable=SC2016
rc_is 0 "mlx5_5" "$gdakit" run --nics 6 -- sh -c 'ibv_devinfo -v -d mlx5_5; cat /sys/class/infiniband/mlx5_5/ports/1/gids/0;
	basename $(readlink -f /sys/class/infiniband/mlx5_5/device); printenv GDAKIT_HOST'
base=$(tail -n 1 "$tmp/out" | cut -d. -f3)
has "mlx5_5" "GID.*::ffff:127\.64\.$((base + 5))\.1" "$tmp/out"
has "mlx5_5" "$(printf ':ffff:7f40:%02x01$' $((base + 5)))" "$tmp/out"
has "mlx5_5" '^0000:c6:00\.0$' "$tmp/out"
rc_is 125 "a block of eight is taken" "$gdakit" run --host 127.70.0 --nics 8 -- "$gdakit" run --host 127.70.7 -- true
has "a block of eight is taken" '127\.70\.7\.254 port 4791.*running already' "$tmp/err"
rc_is 0 "the next block is free" "$gdakit" run --host 127.70.0 --nics 8 -- "$gdakit" run --host 127.70.8 -- true
rc_is 125 "no such blocks" "$gdakit" run --host 127.126.255 --nics 2 -- true
has "no such blocks" '2 NICs take blocks beyond the last' "$tmp/err"

# Without the preload nobody answers: the device must not open, rather than seem to work.
for program in ibv_devinfo ibv_rc_pingpong; do
	timeout 60 "$gdakit" run -- env -u LD_PRELOAD $program >"$tmp/out" 2>"$tmp/err" </dev/null
	rc=$?
	{ [ $rc -gt 0 ] && [ $rc -lt 124 ]; } || fail "$program without LD_PRELOAD: exit code $rc, expected an error"
	cat "$tmp/out" >>"$tmp/err"
	has "$program without LD_PRELOAD" '[Ff]ailed to open|get context' "$tmp/err"
done

# What the launcher says in the environment is not believed when a program has changed it.
for word in GDAKIT_HOST=127.300.1 GDAKIT_HOST= GDAKIT_NICS=0 GDAKIT_NICS=-3 GDAKIT_NICS=2x GDAKIT_NICS=99999999999 \
	GDAKIT_WIRE=carrier GDAKIT_WIRE= GDAKIT_LINK_LAYER=token-ring GDAKIT_NIC=connectx-3 GDAKIT_FABRIC=a/b GDAKIT_FABRIC=; do
	timeout 60 "$gdakit" run -- env "$word" ibv_devinfo >"$tmp/out" 2>"$tmp/err" </dev/null
	rc=$?
	{ [ $rc -gt 0 ] && [ $rc -lt 124 ]; } || fail "$word: exit code $rc, expected an error"
	has "$word" "gdakit: .*(${word%=*} is '${word#*=}', expected|fabric's name has)" "$tmp/err"
done
rc_is 0 "nothing said" "$gdakit" run -- env -u GDAKIT_NICS -u GDAKIT_NIC -u GDAKIT_WIRE -u GDAKIT_LINK_LAYER -u GDAKIT_FABRIC ibv_devinfo

rc_is 0 "ConnectX-8" "$gdakit" run --nic connectx-8 -- sh -c 'ibv_devinfo -v; cat /sys/class/infiniband/mlx5_0/hca_type'
has "ConnectX-8" 'vendor_part_id:.*4131' "$tmp/out"
has "ConnectX-8" '^MT4131$' "$tmp/out"

rc_is 0 "DevX" "$gdakit" run --verbose -- "$prog_devx"
has "DevX" '^ok$' "$tmp/out"
has "a refused mailbox is explained" 'gdakit: .*CREATE_CQ: umem 0x7ffff0' "$tmp/err"
has "a refused call is explained" 'gdakit: memory at 0x1000 is not mapped' "$tmp/err"

rc_is 0 "closed with a QP alive" "$gdakit" run --verbose -- "$close_prog"
has "closed with a QP alive" '^ok$' "$tmp/out"

# A limit of file sizes is the program's, and not for the NIC's unnamed files; what is beyond the hard one
# is an error and no signal.
rc_is 0 "a soft limit of file sizes" "$gdakit" run --verbose -- bash -c "ulimit -S -f 1; exec $prog_devx"
rc_is 1 "a hard limit of file sizes" "$gdakit" run --verbose -- bash -c "ulimit -f 1; exec $prog_devx"
has "a hard limit of file sizes" '^gdakit: .*\(File too large\)|a file of 64 MiB; .ulimit -f. allows less' "$tmp/err"
rc_is 1 "few descriptors" "$gdakit" run -- bash -c "ulimit -n 8; exec $prog_devx"
has "few descriptors" '^gdakit: .*\(Too many open files\)' "$tmp/err"
rc_is 0 "a limit of file sizes, recorded" "$gdakit" run --record "$tmp/limited.rec" -- bash -c "ulimit -S -f 1; exec $prog_devx"
has "a limit of file sizes, recorded" 'limited.rec: no room for more: File too large' "$tmp/err"

# A program that closes all descriptors but the first three does not mean the NIC's.
for way in closefrom close_range loop parts raw exec fork vfork; do
	rc_is 0 "descriptors, $way" "$gdakit" run --verbose -- "$fds_prog" "$way"
	has "descriptors, $way" '^ok$' "$tmp/out"
done

rc_is 0 "unmapping a doorbell" "$gdakit" run --verbose -- "$fds_prog" munmap
has "unmapping a doorbell" '^gdakit: munmap: UAR page [0-9]+ is the doorbell of 1 QPs \(0x[0-9a-f]+ first\)' "$tmp/err"
rc_is 0 "DevX, which unmaps its pages at the end" "$gdakit" run --verbose -- "$prog_devx"
grep munmap "$tmp/err" && fail "a clean end says nothing of doorbells"

# Without namespaces: path hooks over a private tree.
hooks=("$gdakit" run --mode hooks --)
rc_is 64 "unknown mode" "$gdakit" run --mode chroot true
rc_is 0 "hooks, ibv_devinfo -v" "${hooks[@]}" ibv_devinfo -v
has "hooks, ibv_devinfo -v" 'hca_id:.*mlx5_0' "$tmp/out"
[ -s "$tmp/err" ] && fail "a forced mode is silent: $(cat "$tmp/err")"
# shellcheck disable=SC2016
rc_is 0 "hooks, paths" "${hooks[@]}" bash -c '
	[ -c /dev/infiniband/uverbs0 ] && [ ! -L /dev/infiniband/uverbs0 ] && echo node
	cd /sys/class/infiniband/mlx5_0 && echo "in $PWD" && /bin/pwd && cat device/vendor ports/1/gid_attrs/types/0
	cat /sys/class/infiniband/../net/lo/ifindex >/dev/null && echo out
	realpath device; readlink /sys/class/infiniband/mlx5_0; ls /sys/class/infiniband_verbs/ /sys/bus/pci/devices
	ls -d /sys/class/infini* | tr "\n" " "; find /sys/class/infiniband/ -maxdepth 1 | tr "\n" " "'
for line in node 'in /sys/class/infiniband/mlx5_0' '/sys/devices/pci0000:c0/.*/infiniband/mlx5_0' 0x15b3 'RoCE v2' out \
	'/sys/devices/pci0000:c0/0000:c0:00.0/0000:c1:00.0' '\.\./\.\./devices/pci0000:c0/.*/mlx5_0' uverbs0 0000:c1:00.0 \
	'/sys/class/infiniband /sys/class/infiniband_verbs /sys/class/infiniband/ /sys/class/infiniband/mlx5_0 '; do
	has "hooks, paths" "^$line$" "$tmp/out"
done
real=$(find /sys/bus/pci/devices /sys/class -maxdepth 1 2>/dev/null | wc -l)
rc_is 0 "hooks, whole listings" "${hooks[@]}" find /sys/bus/pci/devices /sys/class -maxdepth 1
[ "$(wc -l <"$tmp/out")" -ge "$real" ] || fail "hooks, whole listings: fewer entries than $real"
rc_is 0 "hooks, python" "${hooks[@]}" /usr/bin/python3 -c '
import glob, os, socket
print(os.path.realpath("/sys/class/infiniband/mlx5_0/device"), *sorted(glob.glob("/sys/class/infiniband*/*0")))
for root, dirs, files in os.walk("/sys/class/infiniband/mlx5_0/ports"): print(root)
fd = os.open("/sys/class", os.O_RDONLY); print(open(os.open("infiniband/mlx5_0/node_type", os.O_RDONLY, dir_fd=fd)).read())
try: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 20)
except OSError as e: print(e.errno)'
for line in '/sys/devices/pci0000:c0/0000:c0:00.0/0000:c1:00.0 /sys/class/infiniband/mlx5_0 /sys/class/infiniband_verbs/uverbs0' \
	'/sys/class/infiniband/mlx5_0/ports/1/hw_counters' '1: CA' 93; do
	has "hooks, python" "^$line$" "$tmp/out"
done
rc_is 0 "hooks, DevX" "${hooks[@]}" "$prog_devx"
has "hooks, DevX" '^ok$' "$tmp/out"
rc_is 0 "hooks, the second device" "$gdakit" run --host "second-$$" --mode hooks --nics 2 -- ibv_devinfo -v -d mlx5_1
guid() { sed -n 's/.*node_guid: *//p' "$tmp/out"; }
second=$(guid)
rc_is 0 "the second device" "$gdakit" run --host "second-$$" --nics 2 -- ibv_devinfo -v -d mlx5_1
[ "${second:-none}" = "$(guid)" ] || fail "hooks, the second device: node GUID '$second', in a namespace '$(guid)'"
rc_is 0 "hooks, GIDs of two devices" "$gdakit" run --mode hooks --nics 2 -- ibv_devinfo -v
[ "$(grep 'GID\[ *0\]' "$tmp/out" | sort -u | wc -l)" -eq 2 ] ||
	fail "hooks, GIDs of two devices: $(grep GID "$tmp/out")"
for way in closefrom exec; do
	rc_is 0 "hooks, descriptors, $way" "${hooks[@]}" "$fds_prog" "$way"
	has "hooks, descriptors, $way" '^ok$' "$tmp/out"
done
rc_is 143 "hooks, killed by SIGTERM" "${hooks[@]}" sh -c 'kill -TERM $$'
# shellcheck disable=SC2016
rc_is 0 "namespaces inside hooks" "${hooks[@]}" "$gdakit" run --mode namespace -- sh -c 'ls /dev/infiniband; echo "<$GDAKIT_TREE$SYSFS_PATH>"'
has "namespaces inside hooks" '^<>$' "$tmp/out"
rc_is 0 "hooks inside hooks" "${hooks[@]}" "${hooks[@]}" ibv_devinfo
has "hooks inside hooks" 'hca_id:.*mlx5_0' "$tmp/out"
rc_is 0 "nothing of it in a namespace" "$gdakit" run -- printenv LD_PRELOAD
grep -q paths "$tmp/out" && fail "nothing of it in a namespace: $(cat "$tmp/out")"

# The tree goes with the last who uses it: at the end, or with the next run if gdakit was killed.
compgen -G "$tmp/gdakit-tree-*" && fail "hooks: a tree is left behind"
rm -f "$tmp/ready" "$tmp/pid"
"${hooks[@]}" sh -c "(trap '' HUP TERM; : >$tmp/ready; exec sleep 600) & echo \$! >$tmp/pid; wait" &
pid=$!
for _ in $(seq 600); do [ -e "$tmp/ready" ] && [ -s "$tmp/pid" ] && break; sleep 0.05; done
kill -KILL $pid
wait $pid 2>/dev/null
rc_is 0 "hooks, a run beside" "${hooks[@]}" true
compgen -G "$tmp/gdakit-tree-*" >/dev/null || fail "hooks: a tree in use was removed"
kill -KILL "$(cat "$tmp/pid")"
for _ in $(seq 600); do [ -d "/proc/$(cat "$tmp/pid")" ] || break; sleep 0.05; done
rc_is 0 "hooks, the next run" "${hooks[@]}" true
compgen -G "$tmp/gdakit-tree-*" && fail "hooks: what a killed gdakit left was not removed"

# Without root.
if [ "$(id -u)" -eq 0 ] && id nobody >/dev/null 2>&1; then
	chmod 755 "$tmp"
	mkdir "$tmp/pub" "$tmp/nobody" && chown nobody "$tmp/nobody"
	cp "$gdakit" "$library" "$(dirname "$gdakit")/../emu/paths/libgdakit_paths.so" "$tmp/pub/" && chmod 755 "$tmp"/pub/*
	if su nobody -s /bin/sh -c "$tmp/pub/gdakit doctor" >"$tmp/out" 2>&1; then
		rc_is 0 "as nobody" su nobody -s /bin/sh -c "TMPDIR=$tmp/nobody $tmp/pub/gdakit run -- sh -c 'id -u; ibv_devinfo'"
		has "as nobody" "^$(id -u nobody)$" "$tmp/out"
		has "as nobody" 'hca_id:.*mlx5_0' "$tmp/out"
	else
		echo "SKIP without root: $(tail -n 1 "$tmp/out")"
	fi
fi

left=$(ls -d "$tmp"/gdakit-* "$tmp"/nobody/gdakit-* 2>/dev/null)
[ -z "$left" ] || fail "left behind: $left"
[ $failures -eq 0 ] && echo "ok"
[ $failures -eq 0 ]
