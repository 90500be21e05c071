/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A NIC of a world as a PCI function of a guest: vfio-user on one side, the model's commands,
 * doorbells and events on the other (PRM, initialization segment, UAR pages, command interface).
 *
 *     guest's driver -> vfu (thread) -> hca: configuration, BAR 0, memory
 *                                        |-> cmdq -> world_command
 *                                        |-> UAR pages -> nm_nic_doorbell
 *     world's thread -> event -> vfu_raise (MSI-X)
 *
 * All register accesses come on the server's thread; only events come on the world's.
 */
#ifndef GDAKIT_QEMU_HCA_H
#define GDAKIT_QEMU_HCA_H

#include <stdbool.h>
#include <stdint.h>

struct hca;
struct vfu;
struct world;
struct world_nic;

enum {
	HCA_VECTORS = 32,
	HCA_UAR_FIRST = 0x100, /* pages below are registers and MSI-X */
	HCA_UAR_PAGES = 8192,
};
#define HCA_BAR_BYTES (UINT64_C(4096) * HCA_UAR_PAGES)

struct hca_config {
	struct world *world;
	unsigned int index; /* among the NICs of the world: its name and GUID follow from it */
	bool ethernet;
	bool verbose;
};

/* NULL with *why. */
struct hca *hca_create(const struct hca_config *config, const char **why);
/* Serves guests at that path, one after the other: 0 or a negative errno. */
int hca_listen(struct hca *h, const char *path);
/* Before world_destroy(): ends the server, then what the guest has left in the NIC. */
void hca_stop(struct hca *h);
/* After world_destroy(), with the world's NIC gone. */
void hca_destroy(struct hca *h);

struct vfu *hca_server(struct hca *h);
struct world_nic *hca_nic(struct hca *h);

#endif
