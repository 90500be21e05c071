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

#include <rdma/rdma_user_cm.h>

#include "emu/observe/publish.h"
#include "tools/gdakit.h"

#define TEXT_(x) #x
#define TEXT(x)	 TEXT_(x)

#define UV_NODE_DEV TEXT(UV_NODE_MAJOR) ":" TEXT(UV_NODE_MINOR) "\n"
#define CM_DIR	    "class/misc/" UV_CM_NODE_NAME

/* Directories of a device, below the root of the tree. */
enum dir { DIR_BRIDGE, DIR_PCI, DIR_IB, DIR_PORT, DIR_UVERBS, DIRS };

/* One NIC: its names, and where it is. Each has a root port and a bus of its own. */
struct device {
	struct uv_identity id;
	unsigned int index;
	bool ethernet;
	const struct uv_model *model;
	char name[24], uverbs[24], bdf[24];
	char dir[DIRS][160];
};

static void name_device(struct device *d, const struct view *v, unsigned int index)
{
	char bridge[24];

	*d = (struct device){
		.id = v->id, .index = index, .ethernet = v->ethernet, .model = v->model};
	uv_identity_of_nic(&d->id, index); /* the launcher has claimed that block */
	snprintf(bridge, sizeof(bridge), "0000:c0:%02x.0", index);
	snprintf(d->name, sizeof(d->name), UV_DEV_NAME "%u", index);
	snprintf(d->uverbs, sizeof(d->uverbs), UV_NODE_NAME "%u", index);
	snprintf(d->bdf, sizeof(d->bdf), "0000:%02x:00.0", UV_PCI_BUS + index);
	snprintf(d->dir[DIR_BRIDGE], sizeof(d->dir[0]), "devices/pci0000:c0/%s", bridge);
	snprintf(d->dir[DIR_PCI], sizeof(d->dir[0]), "devices/pci0000:c0/%s/%s", bridge, d->bdf);
	snprintf(d->dir[DIR_IB], sizeof(d->dir[0]), "devices/pci0000:c0/%s/%s/infiniband/%s",
		 bridge, d->bdf, d->name);
	snprintf(d->dir[DIR_PORT], sizeof(d->dir[0]),
		 "devices/pci0000:c0/%s/%s/infiniband/%s/ports/1", bridge, d->bdf, d->name);
	snprintf(d->dir[DIR_UVERBS], sizeof(d->dir[0]),
		 "devices/pci0000:c0/%s/%s/infiniband_verbs/%s", bridge, d->bdf, d->uverbs);
}

struct text {
	enum dir dir;
	const char *path, *content;
};

/* The same for every host, device and link layer. */
static const struct text constants[] = {
	{DIR_UVERBS, "dev", UV_NODE_DEV},
	{DIR_UVERBS, "abi_version", "1\n"},
	{DIR_IB, "node_type", "1: CA\n"},
	{DIR_IB, "fw_ver", UV_FW_VER "\n"},
	{DIR_IB, "hw_rev", "0\n"},
	{DIR_IB, "board_id", UV_BOARD_ID "\n"},
	{DIR_PORT, "state", "4: ACTIVE\n"},
	{DIR_PORT, "phys_state", "5: LinkUp\n"},
	{DIR_PORT, "rate", "400 Gb/sec (4X NDR)\n"},
	{DIR_PORT, "lid_mask_count", "0\n"},
	{DIR_PORT, "sm_sl", "0\n"},
	{DIR_PORT, "cap_mask", "0x04010000\n"},
	{DIR_PORT, "pkeys/0", "0xffff\n"},
	{DIR_PCI, "vendor", "0x15b3\n"},
	{DIR_PCI, "subsystem_vendor", "0x15b3\n"},
	{DIR_PCI, "subsystem_device", "0x0023\n"},
	{DIR_PCI, "class", "0x020000\n"},
	{DIR_PCI, "revision", "0x00\n"},
	{DIR_PCI, "irq", "0\n"},
	{DIR_PCI, "enable", "1\n"},
	{DIR_PCI, "numa_node", "-1\n"},
	{DIR_PCI, "max_link_speed", "32.0 GT/s PCIe\n"},
	{DIR_PCI, "max_link_width", "16\n"},
	{DIR_PCI, "current_link_speed", "32.0 GT/s PCIe\n"},
	{DIR_PCI, "current_link_width", "16\n"},
	{DIR_BRIDGE, "vendor", "0x8086\n"},
	{DIR_BRIDGE, "device", "0x352a\n"},
	{DIR_BRIDGE, "class", "0x060400\n"},
	{DIR_BRIDGE, "max_link_speed", "32.0 GT/s PCIe\n"},
	{DIR_BRIDGE, "max_link_width", "16\n"},
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

/* A file of a device. */
static int write_file(const char *root, const struct device *d, enum dir dir, const char *name,
		      const char *fmt, ...) __attribute__((format(printf, 5, 6)));
static int write_file(const char *root, const struct device *d, enum dir dir, const char *name,
		      const char *fmt, ...)
{
	char path[256], text[1024];
	va_list ap;
	int len;

	va_start(ap, fmt);
	len = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (len < 0 || (size_t)len >= sizeof(text))
		return -1;
	snprintf(path, sizeof(path), "%s/%s", d->dir[dir], name);
	return write_bytes(root, path, text, (size_t)len);
}

static int write_guid(const char *root, const struct device *d, const char *name)
{
	uint64_t guid = d->id.node_guid;

	return write_file(root, d, DIR_IB, name, "%04x:%04x:%04x:%04x\n",
			  (unsigned int)(guid >> 48), (unsigned int)(guid >> 32 & 0xffff),
			  (unsigned int)(guid >> 16 & 0xffff), (unsigned int)(guid & 0xffff));
}

/* Zeros at first; the processes that have the device publish what it counts. */
static int write_counters(const char *root, const struct device *d)
{
	unsigned int count;
	const struct publish_file *files = publish_files(&count);
	char path[PATH_MAX];
	int ret = 0;

	for (unsigned int i = 0; i < count; i++) {
		ret |= write_file(root, d, DIR_PORT, files[i].path, "%s\n",
				  files[i].fixed ? files[i].fixed : "0");
		snprintf(path, sizeof(path), "%s/%s/%s", root, d->dir[DIR_PORT], files[i].path);
		ret |= files[i].off == SIZE_MAX ? 0 : chmod(path, 0644);
	}
	ret |= write_file(root, d, DIR_IB, PUBLISH_BLOCKS, "%s", "");
	snprintf(path, sizeof(path), "%s/%s/" PUBLISH_BLOCKS, root, d->dir[DIR_IB]);
	return ret | chmod(path, 0644);
}

static int write_port(const char *root, const struct device *d)
{
	const uint8_t *g = d->id.gid;
	char gid[64] = "";
	int ret = 0;

	for (int i = 0; i < 16; i += 2)
		snprintf(gid + strlen(gid), sizeof(gid) - strlen(gid), "%s%02x%02x", i ? ":" : "",
			 g[i], g[i + 1]);
	ret |= write_file(root, d, DIR_PORT, "gids/0", "%s\n", gid);
	for (int i = UV_GIDS; i < UV_GID_TABLE_LEN; i++) {
		char name[16];

		snprintf(name, sizeof(name), "gids/%d", i);
		ret |= write_file(root, d, DIR_PORT, name,
				  "0000:0000:0000:0000:0000:0000:0000:0000\n");
	}
	ret |= write_file(root, d, DIR_PORT, "gid_attrs/types/0", "%s\n",
			  d->ethernet ? "RoCE v2" : "IB/RoCE v1");
	if (d->ethernet) {
		ret |= write_file(root, d, DIR_PORT, "gid_attrs/ndevs/0", "lo\n");
		/* The interface that has the port's addresses, as its parent names it. */
		ret |= write_file(root, d, DIR_PCI, "net/lo/ifindex", "1\n");
		ret |= write_file(root, d, DIR_PCI, "net/lo/dev_port", "0\n");
	}
	ret |= write_file(root, d, DIR_PORT, "link_layer", "%s\n",
			  d->ethernet ? "Ethernet" : "InfiniBand");
	ret |= write_file(root, d, DIR_PORT, "lid", "0x%x\n", d->ethernet ? 0 : d->id.lid);
	ret |= write_file(root, d, DIR_PORT, "sm_lid", "0x%x\n", d->ethernet ? 0 : 1);
	ret |= write_counters(root, d);
	return ret;
}

/* PCI: configuration header (PCI Local Bus 3.0, 6.1) and the list of BARs that the kernel prints.
 */
static int write_pci(const char *root, const struct device *d)
{
	static const uint8_t header[] = {
		0xb3, 0x15, 0x21, 0x10, 0x06, 0x00, 0x10, 0x00, 0x00, 0x00,
		0x00, 0x02, 0x08, 0x00, 0x00, 0x00, 0x0c, 0x00, 0x00,
	};
	const uint8_t subsystem[] = {0xb3, 0x15, 0x23, 0x00};
	const uint32_t bar = 0xc4000000 + d->index * 0x2000000;
	char resource[1024], path[256], modalias[80];
	uint8_t config[256] = {0};
	int ret;

	memcpy(config, header, sizeof(header));
	config[2] = (uint8_t)d->model->device_id;
	config[3] = (uint8_t)(d->model->device_id >> 8);
	config[0x13] = (uint8_t)(bar >> 24);
	memcpy(config + 0x2c, subsystem, sizeof(subsystem));
	snprintf(resource, sizeof(resource), "0x%016x 0x%016x 0x000000000014220c\n", bar,
		 bar + 0x1ffffff);
	for (int i = 1; i < 13; i++)
		strcat(resource, "0x0000000000000000 0x0000000000000000 0x0000000000000000\n");
	snprintf(path, sizeof(path), "%s/config", d->dir[DIR_PCI]);
	ret = write_bytes(root, path, config, sizeof(config));
	ret |= write_file(root, d, DIR_PCI, "resource", "%s", resource);
	snprintf(modalias, sizeof(modalias), "pci:v000015B3d%08Xsv000015B3sd00000023bc02sc00i00",
		 d->model->device_id);
	ret |= write_file(root, d, DIR_PCI, "device", "0x%04x\n", d->model->device_id);
	ret |= write_file(root, d, DIR_PCI, "modalias", "%s\n", modalias);
	ret |= write_file(root, d, DIR_IB, "hca_type", "%s\n", d->model->hca_type);
	return ret | write_file(root, d, DIR_PCI, "uevent",
				"DRIVER=mlx5_core\nPCI_CLASS=20000\nPCI_ID=15B3:%04X\n"
				"PCI_SUBSYS_ID=15B3:0023\nPCI_SLOT_NAME=%s\nMODALIAS=%s\n",
				d->model->device_id, d->bdf, modalias);
}

/* All CPUs that this machine has are near. */
static int write_cpus(const char *root, const struct device *d)
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
	return write_file(root, d, DIR_PCI, "local_cpulist", "%s", line) |
	       write_file(root, d, DIR_PCI, "local_cpus", "%s\n", mask);
}

static int make_link(const char *root, const char *path, const char *up, const char *to)
{
	char full[PATH_MAX], target[PATH_MAX];

	if (join(full, root, path))
		return -1;
	snprintf(target, sizeof(target), "%s%s", up, to);
	if (!symlink(target, full))
		return 0;
	complain("%s: %s", full, strerror(errno));
	return -1;
}

/* The names by which class and bus directories know the device, and what it points back to. */
static int link_device(const char *root, const struct device *d)
{
	const struct {
		const char *dir, *name, *up, *to;
	} links[] = {
		{"class/infiniband", d->name, "../../", d->dir[DIR_IB]},
		{"class/infiniband_verbs", d->uverbs, "../../", d->dir[DIR_UVERBS]},
		{"bus/pci/devices", d->bdf, "../../../", d->dir[DIR_PCI]},
		{d->dir[DIR_IB], "device", "../../../", d->bdf},
		{d->dir[DIR_UVERBS], "device", "../../../", d->bdf},
		{d->dir[DIR_PCI], "subsystem", "../../../../", "bus/pci"},
		{d->dir[DIR_PCI], "driver", "../../../../", "bus/pci/drivers/mlx5_core"},
	};
	char path[256];
	int ret = 0;

	for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", links[i].dir, links[i].name);
		ret |= make_link(root, path, links[i].up, links[i].to);
	}
	return ret;
}

static int write_device(const char *root, const struct device *d)
{
	int ret = 0;

	for (size_t i = 0; i < sizeof(constants) / sizeof(constants[0]); i++)
		ret |= write_file(root, d, constants[i].dir, constants[i].path, "%s",
				  constants[i].content);
	ret |= write_file(root, d, DIR_UVERBS, "ibdev", "%s\n", d->name);
	ret |= write_file(root, d, DIR_UVERBS, "uevent",
			  "MAJOR=" TEXT(UV_NODE_MAJOR) "\nMINOR=" TEXT(
				  UV_NODE_MINOR) "\nDEVNAME=infiniband/%s\n",
			  d->uverbs);
	ret |= write_file(root, d, DIR_IB, "node_desc", "gdakit %s\n", d->name);
	ret |= write_file(root, d, DIR_IB, "uevent", "NAME=%s\n", d->name);
	ret |= write_guid(root, d, "node_guid");
	ret |= write_guid(root, d, "sys_image_guid");
	ret |= write_port(root, d);
	ret |= write_pci(root, d);
	ret |= write_cpus(root, d);
	return ret | link_device(root, d);
}

int sysfs_tree_write(const char *root, const struct view *v)
{
	char path[PATH_MAX];
	int ret = write_bytes(root, "class/infiniband_verbs/abi_version", "6\n", 2);

	ret |= write_bytes(root, CM_DIR "/abi_version", TEXT(RDMA_USER_CM_ABI_VERSION) "\n",
			   strlen(TEXT(RDMA_USER_CM_ABI_VERSION)) + 1);
	ret |= write_bytes(root, CM_DIR "/dev", UV_NODE_DEV, strlen(UV_NODE_DEV));

	/* The newest entry of a directory is listed first, and a program that is not told which
	 * takes the first device: mlx5_0 comes last. */
	for (unsigned int i = v->nics; i-- > 0;) {
		struct device d;

		name_device(&d, v, i);
		ret |= write_device(root, &d);
	}
	ret |= join(path, root, "bus/pci/drivers/mlx5_core/.");
	return ret ? -1 : 0;
}

bool sysfs_tree_live(const struct view *v, unsigned int which, char path[PATH_MAX])
{
	static const struct {
		enum dir dir;
		const char *name;
	} live[] = {
		{DIR_PORT, "counters"}, {DIR_PORT, "hw_counters"}, {DIR_IB, PUBLISH_BLOCKS_DIR}};
	enum { LIVE = sizeof(live) / sizeof(live[0]) };
	struct device d;

	if (which >= v->nics * LIVE)
		return false;
	name_device(&d, v, which / LIVE);
	return snprintf(path, PATH_MAX, "%s/%s", d.dir[live[which % LIVE].dir],
			live[which % LIVE].name) < PATH_MAX;
}
