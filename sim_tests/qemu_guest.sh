# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=dash
# Runs in the guest of `gdakit qemu --nics 2`, which has busybox for a shell. What is expected of an
# unmodified kernel's mlx5 driver on two functions; each check prints a line "ok NAME" or "FAIL NAME".

check() # NAME COMMAND...
{
	name=$1
	shift
	if "$@" >/tmp/log 2>&1; then
		echo "ok $name"
	else
		echo "FAIL $name"
		tail -n 15 /tmp/log | sed 's/^/     /'
	fi
}

active()
{
	for dev in mlx5_0 mlx5_1; do
		ibv_devinfo -v -d "$dev" >/tmp/devinfo || return 1
		cat /tmp/devinfo
		grep -q 'PORT_ACTIVE' /tmp/devinfo && grep -q 'link_layer:.*InfiniBand' /tmp/devinfo &&
			grep -q 'active_width:.*4X' /tmp/devinfo || return 1
	done
}

# between SERVER_AND_CLIENT_COMMAND...: a server on one function, a client on the other, both end well.
between()
{
	prog=$1
	shift
	timeout 60 "$prog" -d mlx5_0 "$@" >/tmp/server 2>&1 &
	server=$!
	sleep 1
	timeout 60 "$prog" -d mlx5_1 "$@" 127.0.0.1
	client=$?
	wait "$server"
	status=$?
	echo "client $client, server $status:"
	cat /tmp/server
	[ "$client" -eq 0 ] && [ "$status" -eq 0 ]
}

# The two lines are the driver's word for a device without a vendor specific capability and for a
# slot whose link it cannot read.
quiet()
{
	dmesg | grep -E 'mlx5|infiniband|rdma|WARNING|BUG:|Call Trace|Oops' |
		grep -vE 'firmware version|mlx5_pci_vsc_init|available PCIe bandwidth' >/tmp/noise
	cat /tmp/noise
	[ ! -s /tmp/noise ]
}

registered()
{
	i=0
	while [ "$i" -lt 100 ]; do
		[ "$(ls /sys/class/infiniband | wc -l)" -eq "$1" ] && return 0
		sleep 0.1
		i=$((i + 1))
	done
	return 1
}

rebind()
{
	dev=$(basename "$(readlink -f /sys/class/infiniband/mlx5_1/device)")
	echo "$dev" >/sys/bus/pci/drivers/mlx5_core/unbind && registered 1 &&
		echo "$dev" >/sys/bus/pci/drivers/mlx5_core/bind && registered 2
}

reload()
{
	modprobe -r rdma_ucm # and what it alone uses, which others may, too
	modprobe -r mlx5_ib && modprobe -r mlx5_core && ! ls /sys/class/infiniband/mlx5_0 &&
		modprobe mlx5_core && modprobe mlx5_ib && modprobe ib_uverbs && registered 2
}

check ports_are_active active
check rdma_link sh -c 'rdma link | grep -q "mlx5_1/1.*state ACTIVE"'
check rc_pingpong between ibv_rc_pingpong -n 50
check rc_pingpong_with_events between ibv_rc_pingpong -e -c -n 50
check uc_pingpong between ibv_uc_pingpong -n 50
check ud_pingpong between ibv_ud_pingpong -n 50
check srq_pingpong between ibv_srq_pingpong -n 50
check write_bw between ib_write_bw -F -n 50 -s 65536
check read_bw between ib_read_bw -F -n 50 -s 65536
check send_bw_with_events between ib_send_bw -F -e -n 50 -s 4096
check atomic_bw between ib_atomic_bw -F -n 50
check statistics sh -c 'rdma statistic | grep -q "rx_write_requests [1-9]"'
check unbind_and_bind rebind
check modules_go_and_come reload
check pingpong_after_all between ibv_rc_pingpong -n 20
check kernel_is_quiet quiet
