// SPDX-License-Identifier: BSD-3-Clause
/*
 * The files by which libibverbs, libmlx5, libpci, NCCL and UCX find a ConnectX: a table of paths
 * and contents, laid out as the kernel lays out /sys (class and bus directories are links into
 * devices).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/gdakit.h"

#define BRIDGE "0000:c0:00.0"
#define PCI    "devices/pci0000:c0/" BRIDGE "/" UV_PCI_BDF
#define IB     PCI "/infiniband/" UV_DEV_NAME
#define PORT   IB "/ports/1"
#define UVERBS PCI "/infiniband_verbs/uverbs0"

#define TEXT_(x) #x
#define TEXT(x)	 TEXT_(x)

struct text {
	const char *path, *content;
};

/* The same for every host and link layer. */
static const struct text constants[] = {
	{"class/infiniband_verbs/abi_version", "6\n"},
	{UVERBS "/ibdev", UV_DEV_NAME "\n"},
	{UVERBS "/dev", TEXT(UV_NODE_MAJOR) ":" TEXT(UV_NODE_MINOR) "\n"},
	{UVERBS "/abi_version", "1\n"},
	{UVERBS "/uevent", "MAJOR=" TEXT(UV_NODE_MAJOR) "\nMINOR=" TEXT(
				   UV_NODE_MINOR) "\nDEVNAME=infiniband/uverbs0\n"},
	{IB "/node_type", "1: CA\n"},
	{IB "/fw_ver", UV_FW_VER "\n"},
	{IB "/hca_type", "MT4129\n"},
	{IB "/hw_rev", "0\n"},
	{IB "/board_id", UV_BOARD_ID "\n"},
	{IB "/node_desc", "gdakit " UV_DEV_NAME "\n"},
	{IB "/uevent", "NAME=" UV_DEV_NAME "\n"},
	{PORT "/state", "4: ACTIVE\n"},
	{PORT "/phys_state", "5: LinkUp\n"},
	{PORT "/rate", "400 Gb/sec (4X NDR)\n"},
	{PORT "/lid_mask_count", "0\n"},
	{PORT "/sm_sl", "0\n"},
	{PORT "/cap_mask", "0x04010000\n"},
	{PORT "/pkeys/0", "0xffff\n"},
	{PCI "/vendor", "0x15b3\n"},
	{PCI "/device", "0x1021\n"},
	{PCI "/subsystem_vendor", "0x15b3\n"},
	{PCI "/subsystem_device", "0x0023\n"},
	{PCI "/class", "0x020000\n"},
	{PCI "/revision", "0x00\n"},
	{PCI "/irq", "0\n"},
	{PCI "/enable", "1\n"},
	{PCI "/modalias", "pci:v000015B3d00001021sv000015B3sd00000023bc02sc00i00\n"},
	{PCI "/numa_node", "-1\n"},
	{PCI "/max_link_speed", "32.0 GT/s PCIe\n"},
	{PCI "/max_link_width", "16\n"},
	{PCI "/current_link_speed", "32.0 GT/s PCIe\n"},
	{PCI "/current_link_width", "16\n"},
	{PCI "/uevent",
	 "DRIVER=mlx5_core\nPCI_CLASS=20000\nPCI_ID=15B3:1021\nPCI_SUBSYS_ID=15B3:0023\nPCI_SLOT_"
	 "NAME=" UV_PCI_BDF "\nMODALIAS=pci:v000015B3d00001021sv000015B3sd00000023bc02sc00i00\n"},
	{"devices/pci0000:c0/" BRIDGE "/vendor", "0x8086\n"},
	{"devices/pci0000:c0/" BRIDGE "/device", "0x352a\n"},
	{"devices/pci0000:c0/" BRIDGE "/class", "0x060400\n"},
	{"devices/pci0000:c0/" BRIDGE "/max_link_speed", "32.0 GT/s PCIe\n"},
	{"devices/pci0000:c0/" BRIDGE "/max_link_width", "16\n"},
};

static const struct text links[] = {
	{"class/infiniband/" UV_DEV_NAME, "../../" IB},
	{"class/infiniband_verbs/uverbs0", "../../" UVERBS},
	{"bus/pci/devices/" UV_PCI_BDF, "../../../" PCI},
	{IB "/device", "../../../" UV_PCI_BDF},
	{UVERBS "/device", "../../../" UV_PCI_BDF},
	{PCI "/subsystem", "../../../../bus/pci"},
	{PCI "/driver", "../../../../bus/pci/drivers/mlx5_core"},
};

/* All zero: a NIC lives in a process, so no file can know what it has counted. */
static const char *const counters[] = {
	"counters/port_xmit_data",
	"counters/port_rcv_data",
	"counters/port_xmit_packets",
	"counters/port_rcv_packets",
	"counters/port_xmit_wait",
	"counters/port_rcv_errors",
	"counters/port_xmit_discards",
	"counters/symbol_error",
	"counters/link_downed",
	"counters/link_error_recovery",
	"counters/local_link_integrity_errors",
	"counters/excessive_buffer_overrun_errors",
	"counters/VL15_dropped",
	"hw_counters/out_of_sequence",
	"hw_counters/out_of_buffer",
	"hw_counters/packet_seq_err",
	"hw_counters/duplicate_request",
	"hw_counters/local_ack_timeout_err",
	"hw_counters/rnr_nak_retry_err",
	"hw_counters/implied_nak_seq_err",
	"hw_counters/req_cqe_error",
	"hw_counters/resp_cqe_error",
	"hw_counters/req_remote_access_errors",
	"hw_counters/np_cnp_sent",
	"hw_counters/rp_cnp_handled",
};

/* Creates the directories above `path`. */
static int make_parents(char *path)
{
	for (char *p = strchr(path + 1, '/'); p; p = strchr(p + 1, '/')) {
		*p = '\0';
		if (mkdir(path, 0755) && errno != EEXIST) {
			complain("%s: %s", path, strerror(errno));
			return -1;
		}
		*p = '/';
	}
	return 0;
}

static int join(char out[PATH_MAX], const char *root, const char *path)
{
	if (snprintf(out, PATH_MAX, "%s/%s", root, path) < PATH_MAX)
		return make_parents(out);
	complain("%s/%s: path too long", root, path);
	return -1;
}

static int write_bytes(const char *root, const char *path, const void *data, size_t len)
{
	char full[PATH_MAX];
	int fd, ret = 0;

	if (join(full, root, path))
		return -1;
	fd = open(full, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0444);
	if (fd < 0 || write(fd, data, len) != (ssize_t)len) {
		complain("%s: %s", full, strerror(errno));
		ret = -1;
	}
	if (fd >= 0)
		close(fd);
	return ret;
}

static int write_text(const char *root, const char *path, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
static int write_text(const char *root, const char *path, const char *fmt, ...)
{
	char text[1024];
	va_list ap;
	int len;

	va_start(ap, fmt);
	len = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (len < 0 || (size_t)len >= sizeof(text))
		return -1;
	return write_bytes(root, path, text, (size_t)len);
}

static int write_guid(const char *root, const char *path, uint64_t guid)
{
	return write_text(root, path, "%04x:%04x:%04x:%04x\n", (unsigned int)(guid >> 48),
			  (unsigned int)(guid >> 32 & 0xffff), (unsigned int)(guid >> 16 & 0xffff),
			  (unsigned int)(guid & 0xffff));
}

static int write_port(const char *root, const struct view *v)
{
	const uint8_t *g = v->id.gid;
	char gid[64] = "";
	int ret = 0;

	for (int i = 0; i < 16; i += 2)
		snprintf(gid + strlen(gid), sizeof(gid) - strlen(gid), "%s%02x%02x", i ? ":" : "",
			 g[i], g[i + 1]);
	ret |= write_text(root, PORT "/gids/0", "%s\n", gid);
	ret |= write_text(root, PORT "/gid_attrs/types/0", "%s\n",
			  v->ethernet ? "RoCE v2" : "IB/RoCE v1");
	if (v->ethernet)
		ret |= write_text(root, PORT "/gid_attrs/ndevs/0", "lo\n");
	ret |= write_text(root, PORT "/link_layer", "%s\n",
			  v->ethernet ? "Ethernet" : "InfiniBand");
	ret |= write_text(root, PORT "/lid", "0x%x\n", v->ethernet ? 0 : v->id.lid);
	ret |= write_text(root, PORT "/sm_lid", "0x%x\n", v->ethernet ? 0 : 1);
	return ret;
}

/* PCI: configuration header (PCI Local Bus 3.0, 6.1) and the list of BARs that the kernel prints.
 */
static int write_pci(const char *root)
{
	static const uint8_t header[] = {
		0xb3, 0x15, 0x21, 0x10, 0x06, 0x00, 0x10, 0x00, 0x00, 0x00,
		0x00, 0x02, 0x08, 0x00, 0x00, 0x00, 0x0c, 0x00, 0x00, 0xc4,
	};
	uint8_t config[256] = {0};
	char resource[1024] = "0x00000000c4000000 0x00000000c5ffffff 0x000000000014220c\n";
	const uint8_t subsystem[] = {0xb3, 0x15, 0x23, 0x00};
	int ret;

	memcpy(config, header, sizeof(header));
	memcpy(config + 0x2c, subsystem, sizeof(subsystem));
	for (int i = 1; i < 13; i++)
		strcat(resource, "0x0000000000000000 0x0000000000000000 0x0000000000000000\n");
	ret = write_bytes(root, PCI "/config", config, sizeof(config));
	return ret | write_bytes(root, PCI "/resource", resource, strlen(resource));
}

/* All CPUs that this machine has are near. */
static int write_cpus(const char *root)
{
	char line[256] = "0\n", mask[256] = "";
	long last = sysconf(_SC_NPROCESSORS_CONF) - 1;

	if (last > 0)
		snprintf(line, sizeof(line), "0-%ld\n", last);
	for (long word = last / 32; word >= 0; word--) {
		long bits = word == last / 32 ? last % 32 + 1 : 32;

		if (strlen(mask) + 12 < sizeof(mask))
			snprintf(mask + strlen(mask), sizeof(mask) - strlen(mask), "%s%08x",
				 *mask ? "," : "", bits == 32 ? UINT32_MAX : (1u << bits) - 1);
	}
	return write_text(root, PCI "/local_cpulist", "%s", line) |
	       write_text(root, PCI "/local_cpus", "%s\n", mask);
}

int sysfs_tree_write(const char *root, const struct view *v)
{
	char path[PATH_MAX];
	int ret = 0;

	for (size_t i = 0; i < sizeof(constants) / sizeof(constants[0]); i++)
		ret |= write_text(root, constants[i].path, "%s", constants[i].content);
	for (size_t i = 0; i < sizeof(counters) / sizeof(counters[0]); i++) {
		snprintf(path, sizeof(path), PORT "/%s", counters[i]);
		ret |= write_text(root, path, "0\n");
	}
	for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++) {
		if (join(path, root, links[i].path))
			return -1;
		if (symlink(links[i].content, path)) {
			complain("%s: %s", path, strerror(errno));
			ret = -1;
		}
	}
	if (join(path, root, "bus/pci/drivers/mlx5_core/.") || ret)
		return -1;
	ret |= write_guid(root, IB "/node_guid", v->id.node_guid);
	ret |= write_guid(root, IB "/sys_image_guid", v->id.node_guid);
	ret |= write_port(root, v);
	ret |= write_pci(root);
	ret |= write_cpus(root);
	return ret ? -1 : 0;
}
