// SPDX-License-Identifier: BSD-3-Clause
/* The vfio-user server: what a client may say, and what becomes of what it may not. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "sim_tests/qemu_client.h"

enum { BAR = VFIO_PCI_BAR0_REGION_INDEX, BAR_BYTES = 8192, VECTORS = 4, PAGE = 4096 };

/* A device of nothing but registers. */
static struct {
	uint8_t bar[BAR_BYTES];
	unsigned int writes, maps, unmaps, resets, gone;
	uint64_t addr, len, off;
	bool fd, write;
	int answer;
} dev;

static int dev_read(void *ctx, uint32_t region, uint64_t off, void *buf, uint32_t len)
{
	(void)ctx;
	cr_assert_eq(region, BAR);
	cr_assert_leq(off + len, BAR_BYTES);
	memcpy(buf, dev.bar + off, len);
	return dev.answer;
}

static int dev_write(void *ctx, uint32_t region, uint64_t off, const void *buf, uint32_t len)
{
	(void)ctx;
	cr_assert_eq(region, BAR);
	cr_assert_leq(off + len, BAR_BYTES);
	memcpy(dev.bar + off, buf, len);
	dev.writes++;
	return dev.answer;
}

static int dev_map(void *ctx, uint64_t addr, uint64_t len, int fd, uint64_t off, bool write)
{
	(void)ctx;
	dev.maps++;
	dev.addr = addr;
	dev.len = len;
	dev.off = off;
	dev.fd = fd >= 0;
	dev.write = write;
	return dev.answer;
}

static int dev_unmap(void *ctx, uint64_t addr, uint64_t len)
{
	(void)ctx;
	dev.unmaps++;
	dev.addr = addr;
	dev.len = len;
	return dev.answer;
}

static void dev_reset(void *ctx)
{
	(void)ctx;
	dev.resets++;
}

static void dev_gone(void *ctx)
{
	(void)ctx;
	dev.gone++;
}

static const struct vfu_ops dev_ops = {dev_read,  dev_write, dev_map,
				       dev_unmap, dev_reset, dev_gone};

static struct vfu *v;
static struct client c;

static void setup(void)
{
	const struct vfu_config config = {
		.ops = &dev_ops, .region_bytes = {[BAR] = BAR_BYTES}, .vectors = VECTORS};

	memset(&dev, 0, sizeof(dev));
	v = vfu_create(&config);
	cr_assert(v);
	client_open(&c, v);
}

static void teardown(void)
{
	client_close(&c);
	vfu_destroy(v);
}

TestSuite(qemu_vfu, .init = setup, .fini = teardown);

/* ---- the version ---- */

Test(qemu_vfu, the_version_and_the_limits_are_told)
{
	client_greet(&c);
	cr_assert_gt(c.reply_len, 4);
	cr_assert_eq(c.reply[0], 0, "major");
	cr_assert_eq(c.reply[2], 1, "minor");
	cr_assert_eq(c.reply[c.reply_len - 1], '\0');
	cr_assert(strstr((char *)c.reply + 4, "\"max_data_xfer_size\":65536"));
}

Test(qemu_vfu, an_older_minor_version_is_agreed)
{
	cr_assert_eq(client_call(&c, VFU_VERSION, "\0\0\0\0", 4, NULL, 0), 0);
	cr_assert_eq(c.reply[2], 0);
}

Test(qemu_vfu, another_major_version_ends_it)
{
	cr_assert_eq(client_call(&c, VFU_VERSION, "\1\0\0\0", 4, NULL, 0), -1);
}

Test(qemu_vfu, before_the_version_nothing_is_heard)
{
	cr_assert_eq(client_call(&c, VFU_DEVICE_RESET, NULL, 0, NULL, 0), -1);
	cr_assert_eq(dev.resets, 0);
}

Test(qemu_vfu, the_version_is_agreed_once)
{
	client_greet(&c);
	cr_assert_eq(client_call(&c, VFU_VERSION, "\0\0\0\0", 4, NULL, 0), EINVAL);
	cr_assert_eq(client_call(&c, VFU_DEVICE_RESET, NULL, 0, NULL, 0), 0, "it goes on");
}

/* ---- headers ---- */

static void send_header(uint16_t command, uint32_t size, uint32_t flags)
{
	const struct vfu_header head = {.id = 7, .command = command, .size = size, .flags = flags};

	client_send(&c, &head, sizeof(head), NULL, 0);
}

Test(qemu_vfu, a_message_shorter_than_its_header_ends_it)
{
	client_greet(&c);
	send_header(VFU_DEVICE_RESET, 15, 0);
	cr_assert(client_is_left(&c));
}

Test(qemu_vfu, a_message_longer_than_any_ends_it)
{
	client_greet(&c);
	send_header(VFU_REGION_WRITE, UINT32_MAX, 0);
	cr_assert(client_is_left(&c));
}

Test(qemu_vfu, a_reply_to_nothing_ends_it)
{
	client_greet(&c);
	send_header(VFU_DEVICE_INFO, 16, VFU_TYPE_REPLY);
	cr_assert(client_is_left(&c));
}

Test(qemu_vfu, unknown_messages_are_refused_and_it_goes_on)
{
	const uint16_t unknown[] = {0, 6, 11, 12, 14, 16, 17, 18, 19, 999, 65535};

	client_greet(&c);
	for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++)
		cr_assert_eq(client_call(&c, unknown[i], "12345678", 8, NULL, 0), EOPNOTSUPP);
	cr_assert_eq(client_call(&c, VFU_DEVICE_RESET, NULL, 0, NULL, 0), 0);
	cr_assert_eq(dev.resets, 1);
}

Test(qemu_vfu, messages_that_are_too_short_are_refused)
{
	const uint16_t known[] = {VFU_DMA_MAP,	   VFU_DMA_UNMAP,    VFU_DEVICE_INFO,
				  VFU_REGION_INFO, VFU_IRQ_INFO,     VFU_SET_IRQS,
				  VFU_REGION_READ, VFU_REGION_WRITE, VFU_WRITE_MULTI};
	const uint8_t zeros[7] = {0};

	client_greet(&c);
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		cr_assert_eq(client_call(&c, known[i], zeros, sizeof(zeros), NULL, 0), EINVAL,
			     "message %u", known[i]);
	cr_assert_eq(dev.maps + dev.unmaps + dev.writes, 0);
}

/* ---- what the device is ---- */

Test(qemu_vfu, device_and_regions_are_described)
{
	uint32_t info[4] = {sizeof(info)};
	struct vfio_region_info region = {.argsz = sizeof(region), .index = BAR};

	client_greet(&c);
	cr_assert_eq(client_call(&c, VFU_DEVICE_INFO, info, sizeof(info), NULL, 0), 0);
	memcpy(info, c.reply, sizeof(info));
	cr_assert_eq(info[1], VFIO_DEVICE_FLAGS_RESET | VFIO_DEVICE_FLAGS_PCI);
	cr_assert_eq(info[2], VFIO_PCI_NUM_REGIONS);
	cr_assert_eq(info[3], VFIO_PCI_NUM_IRQS);
	cr_assert_eq(client_call(&c, VFU_REGION_INFO, &region, sizeof(region), NULL, 0), 0);
	memcpy(&region, c.reply, sizeof(region));
	cr_assert_eq(region.size, BAR_BYTES);
	cr_assert_eq(region.flags, VFIO_REGION_INFO_FLAG_READ | VFIO_REGION_INFO_FLAG_WRITE);
	region = (struct vfio_region_info){.argsz = sizeof(region), .index = 1};
	cr_assert_eq(client_call(&c, VFU_REGION_INFO, &region, sizeof(region), NULL, 0), 0);
	memcpy(&region, c.reply, sizeof(region));
	cr_assert_eq(region.size, 0, "no such BAR");
	region = (struct vfio_region_info){.argsz = sizeof(region), .index = VFU_REGIONS};
	cr_assert_eq(client_call(&c, VFU_REGION_INFO, &region, sizeof(region), NULL, 0), EINVAL);
}

Test(qemu_vfu, only_msix_has_vectors)
{
	client_greet(&c);
	for (uint32_t i = 0; i <= VFIO_PCI_NUM_IRQS; i++) {
		struct vfio_irq_info info = {.argsz = sizeof(info), .index = i};
		int err = client_call(&c, VFU_IRQ_INFO, &info, sizeof(info), NULL, 0);

		cr_assert_eq(err,
			     i < VFIO_PCI_NUM_IRQS && i != VFIO_PCI_ERR_IRQ_INDEX ? 0 : EINVAL);
		if (err)
			continue;
		memcpy(&info, c.reply, sizeof(info));
		cr_assert_eq(info.count, i == VFIO_PCI_MSIX_IRQ_INDEX ? VECTORS : 0);
	}
}

/* ---- registers ---- */

Test(qemu_vfu, registers_are_written_and_read)
{
	uint32_t value = 0x12345678, got = 0;

	client_greet(&c);
	cr_assert_eq(client_write(&c, BAR, BAR_BYTES - 4, &value, 4), 0);
	cr_assert_eq(client_read(&c, BAR, BAR_BYTES - 4, &got, 4), 0);
	cr_assert_eq(got, value);
	dev.answer = -EIO;
	cr_assert_eq(client_read(&c, BAR, 0, &got, 4), EIO, "what the device says");
}

Test(qemu_vfu, accesses_beyond_a_region_are_refused)
{
	uint64_t value = 0;

	client_greet(&c);
	cr_assert_eq(client_read(&c, BAR, BAR_BYTES - 4, &value, 8), EINVAL);
	cr_assert_eq(client_read(&c, BAR, BAR_BYTES, &value, 1), EINVAL);
	cr_assert_eq(client_read(&c, BAR, UINT64_MAX - 3, &value, 8), EINVAL);
	cr_assert_eq(client_read(&c, 1, 0, &value, 1), EINVAL, "a region that is not there");
	cr_assert_eq(client_read(&c, VFU_REGIONS, 0, &value, 1), EINVAL);
	cr_assert_eq(client_read(&c, UINT32_MAX, 0, &value, 1), EINVAL);
	cr_assert_eq(client_write(&c, BAR, BAR_BYTES - 4, &value, 8), EINVAL);
	cr_assert_eq(client_read(&c, BAR, 0, &value, UINT32_MAX), EINVAL);
	cr_assert_eq(dev.writes, 0);
}

Test(qemu_vfu, a_write_of_more_than_it_brings_is_refused)
{
	struct {
		uint64_t off;
		uint32_t region, len;
		uint8_t data[8];
	} a = {.region = BAR, .len = 9};

	client_greet(&c);
	cr_assert_eq(client_call(&c, VFU_REGION_WRITE, &a, sizeof(a), NULL, 0), EINVAL);
	cr_assert_eq(dev.writes, 0);
}

Test(qemu_vfu, posted_writes_come_in_order_and_have_no_reply)
{
	struct {
		uint64_t off;
		uint32_t region, len;
		uint8_t data[4];
	} a = {.region = BAR, .len = 4};
	uint8_t got = 0;

	client_greet(&c);
	for (uint8_t i = 1; i <= 100; i++) {
		a.data[0] = i;
		client_post(&c, VFU_REGION_WRITE, &a, sizeof(a) - 4);
	}
	cr_assert_eq(client_read(&c, BAR, 0, &got, 1), 0, "its reply is the next one");
	cr_assert_eq(got, 100);
	cr_assert_eq(dev.writes, 100);
}

Test(qemu_vfu, several_writes_in_one_message)
{
	struct {
		uint64_t count;
		struct {
			uint64_t off;
			uint32_t region, len;
			uint8_t data[8];
		} w[2];
	} m = {2, {{8, BAR, 8, "abcdefg"}, {16, BAR, 2, "xy"}}};

	client_greet(&c);
	cr_assert_eq(client_call(&c, VFU_WRITE_MULTI, &m, sizeof(m), NULL, 0), 0);
	cr_assert_str_eq((char *)dev.bar + 8, "abcdefg");
	cr_assert_eq(dev.bar[16], 'x');
	m.count = 3;
	cr_assert_eq(client_call(&c, VFU_WRITE_MULTI, &m, sizeof(m), NULL, 0), EINVAL);
	m.count = UINT64_MAX;
	cr_assert_eq(client_call(&c, VFU_WRITE_MULTI, &m, sizeof(m), NULL, 0), EINVAL);
	m.count = 1;
	m.w[0].len = 9;
	cr_assert_eq(client_call(&c, VFU_WRITE_MULTI, &m, sizeof(m), NULL, 0), EINVAL);
	cr_assert_eq(dev.writes, 2);
}

/* ---- memory ---- */

Test(qemu_vfu, memory_comes_with_its_file_or_without)
{
	int fd = memfd_create("memory", MFD_CLOEXEC);

	client_greet(&c);
	cr_assert_eq(client_map(&c, 0x100000, PAGE, fd, 8192, 3), 0);
	cr_assert_eq(dev.addr, 0x100000);
	cr_assert_eq(dev.len, PAGE);
	cr_assert_eq(dev.off, 8192);
	cr_assert(dev.fd && dev.write);
	cr_assert_eq(client_map(&c, 0xe0000000, PAGE, -1, 0, 1), 0);
	cr_assert(!dev.fd && !dev.write);
	cr_assert_eq(client_unmap(&c, 0x100000, PAGE), 0);
	cr_assert_eq(c.reply_len, 24, "the range again");
	cr_assert_eq(dev.unmaps, 1);
	dev.answer = -EEXIST;
	cr_assert_eq(client_map(&c, 0x100000, PAGE, fd, 0, 3), EEXIST);
	close(fd);
}

static unsigned int open_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned int n = 0;

	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

Test(qemu_vfu, no_descriptor_stays_open)
{
	int fds[VFU_FDS_MAX + 20];
	unsigned int before;

	client_greet(&c);
	for (uint32_t i = 0; i < VFU_FDS_MAX + 20; i++)
		fds[i] = eventfd(0, EFD_CLOEXEC);
	before = open_fds();
	cr_assert_eq(client_map(&c, 0, PAGE, fds[0], 0, 3), 0);
	cr_assert_eq(client_call(&c, VFU_DEVICE_RESET, NULL, 0, fds, VFU_FDS_MAX + 20), 0);
	cr_assert_eq(client_call(&c, 999, NULL, 0, fds, 3), EOPNOTSUPP);
	cr_assert_eq(client_vectors(&c, 0, 2, fds, 3), EINVAL);
	cr_assert_eq(client_vectors(&c, 0, VECTORS, fds, VECTORS), 0);
	cr_assert_eq(client_vectors(&c, 0, VECTORS, fds + 4, VECTORS), 0);
	cr_assert_eq(open_fds(), before + VECTORS, "those of the vectors alone");
	cr_assert_eq(client_vectors(&c, 0, VECTORS, NULL, 0), 0);
	cr_assert_eq(open_fds(), before);
	for (uint32_t i = 0; i < VFU_FDS_MAX + 20; i++)
		close(fds[i]);
}

/* ---- interrupts ---- */

static uint64_t raised(int fd)
{
	uint64_t n = 0;

	return read(fd, &n, sizeof(n)) == sizeof(n) ? n : 0;
}

Test(qemu_vfu, a_vector_is_an_eventfd)
{
	int fds[VECTORS];

	client_greet(&c);
	for (uint32_t i = 0; i < VECTORS; i++)
		fds[i] = eventfd(0, EFD_NONBLOCK);
	cr_assert_eq(client_vectors(&c, 1, 2, fds, 2), 0);
	vfu_raise(v, 1);
	vfu_raise(v, 2);
	vfu_raise(v, 2);
	vfu_raise(v, 3);
	vfu_raise(v, VECTORS);
	vfu_raise(v, UINT32_MAX);
	cr_assert_eq(raised(fds[0]), 1);
	cr_assert_eq(raised(fds[1]), 2);
	cr_assert_eq(client_vectors(&c, 1, 1, NULL, 0), 0, "this one no more");
	vfu_raise(v, 1);
	cr_assert_eq(raised(fds[0]), 0);
}

Test(qemu_vfu, vectors_end_with_all_of_them)
{
	struct vfio_irq_set none = {.argsz = sizeof(none),
				    .flags = VFIO_IRQ_SET_DATA_NONE | VFIO_IRQ_SET_ACTION_TRIGGER,
				    .index = VFIO_PCI_MSIX_IRQ_INDEX};
	int fd = eventfd(0, EFD_NONBLOCK);

	client_greet(&c);
	cr_assert_eq(client_vectors(&c, 0, 1, &fd, 1), 0);
	none.count = 1;
	cr_assert_eq(client_call(&c, VFU_SET_IRQS, &none, sizeof(none), NULL, 0), 0);
	cr_assert_eq(raised(fd), 1, "the client raised it itself");
	none.count = 0;
	cr_assert_eq(client_call(&c, VFU_SET_IRQS, &none, sizeof(none), NULL, 0), 0);
	vfu_raise(v, 0);
	cr_assert_eq(raised(fd), 0);
}

Test(qemu_vfu, vectors_that_are_not_there_are_refused)
{
	int fd = eventfd(0, EFD_NONBLOCK), other = memfd_create("no eventfd", 0);
	int pipes[2];
	struct vfio_irq_set set = {.argsz = sizeof(set),
				   .flags = VFIO_IRQ_SET_DATA_NONE | VFIO_IRQ_SET_ACTION_MASK,
				   .index = VFIO_PCI_MSIX_IRQ_INDEX,
				   .count = 1};

	client_greet(&c);
	cr_assert_eq(pipe(pipes), 0);
	cr_assert_eq(client_vectors(&c, VECTORS, 1, &fd, 1), EINVAL);
	cr_assert_eq(client_vectors(&c, UINT32_MAX, 1, &fd, 1), EINVAL);
	cr_assert_eq(client_vectors(&c, 1, UINT32_MAX, NULL, 0), EINVAL);
	cr_assert_eq(client_vectors(&c, 0, 1, &other, 1), EBADF);
	cr_assert_eq(client_vectors(&c, 0, 1, &pipes[1], 1), EBADF,
		     "a write could wait, or raise a signal");
	cr_assert_eq(client_call(&c, VFU_SET_IRQS, &set, sizeof(set), NULL, 0), EOPNOTSUPP);
	set.flags = VFIO_IRQ_SET_DATA_BOOL | VFIO_IRQ_SET_ACTION_TRIGGER;
	cr_assert_eq(client_call(&c, VFU_SET_IRQS, &set, sizeof(set), NULL, 0), EINVAL,
		     "without its byte");
	set.index = VFIO_PCI_NUM_IRQS;
	cr_assert_eq(client_call(&c, VFU_SET_IRQS, &set, sizeof(set), NULL, 0), EINVAL);
}

/* ---- clients come and go ---- */

Test(qemu_vfu, the_next_client_finds_nothing_of_the_last)
{
	int fd = eventfd(0, EFD_NONBLOCK);

	client_greet(&c);
	cr_assert_eq(client_vectors(&c, 0, 1, &fd, 1), 0);
	client_close(&c);
	cr_assert_eq(dev.gone, 1);
	vfu_raise(v, 0);
	cr_assert_eq(raised(fd), 0);
	client_open(&c, v);
	cr_assert_eq(client_call(&c, VFU_DEVICE_RESET, NULL, 0, NULL, 0), -1,
		     "it has to agree on the version again");
}

Test(qemu_vfu, a_client_may_leave_in_the_middle_of_a_message)
{
	struct vfu_header head = {.command = VFU_REGION_WRITE, .size = 1000};

	client_greet(&c);
	client_send(&c, &head, sizeof(head), NULL, 0);
	client_close(&c);
	cr_assert_eq(dev.gone, 1);
	client_open(&c, v);
	client_greet(&c);
}

static int dial(const char *path)
{
	struct sockaddr_un sun = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	strcpy(sun.sun_path, path);
	cr_assert_eq(connect(fd, (struct sockaddr *)&sun, sizeof(sun)), 0);
	return fd;
}

Test(qemu_vfu_listen, clients_are_served_one_after_the_other)
{
	static const struct vfu_config config = {.ops = &dev_ops,
						 .region_bytes = {[BAR] = BAR_BYTES}};
	const struct vfu_header head = {.command = VFU_VERSION, .size = 20};
	char dir[] = "/tmp/vfuXXXXXX", path[64], reply[16];
	int first, second;
	struct pollfd p;

	cr_assert(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/nic", dir);
	v = vfu_create(&config);
	cr_assert_eq(vfu_listen(v, path), 0);
	first = dial(path);
	second = dial(path);
	cr_assert_eq(send(first, &head, 16, 0), 16);
	cr_assert_eq(send(first, "\0\0\0\0", 4, 0), 4);
	cr_assert_eq(recv(first, reply, 16, MSG_WAITALL), 16);
	cr_assert_eq(send(second, &head, 16, 0), 16);
	cr_assert_eq(send(second, "\0\0\0\0", 4, 0), 4);
	p = (struct pollfd){.fd = second, .events = POLLIN};
	cr_assert_eq(poll(&p, 1, 50), 0, "it waits for its turn");
	close(first);
	cr_assert_eq(recv(second, reply, 16, MSG_WAITALL), 16);
	vfu_destroy(v);
	cr_assert_eq(access(path, F_OK), -1, "the socket's name is gone");
	close(second);
	rmdir(dir);
}

Test(qemu_vfu_listen, a_path_that_is_too_long_is_refused)
{
	static const struct vfu_config config = {.ops = &dev_ops};
	char path[200];

	memset(path, 'a', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	v = vfu_create(&config);
	cr_assert_eq(vfu_listen(v, path), -ENAMETOOLONG);
	vfu_destroy(v);
}
