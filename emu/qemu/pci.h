/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Configuration space of the function (PCI Express base specification, 7.5): header, power
 * management, MSI-X and PCI Express capabilities. A byte changes only where its mask says so.
 * Owned by one thread.
 */
#ifndef GDAKIT_QEMU_PCI_H
#define GDAKIT_QEMU_PCI_H

#include <stdbool.h>
#include <stdint.h>

enum {
	PCI_CONFIG_BYTES = 4096,
	BAR0_MSIX_TABLE = 0x2000, /* in BAR 0, where a ConnectX has it */
	BAR0_MSIX_PBA = 0x3000,
};

struct pci_config {
	uint8_t bytes[PCI_CONFIG_BYTES];
	uint8_t writable[PCI_CONFIG_BYTES];
	uint64_t bar_bytes; /* a power of two */
};

/* As after a reset. `vectors`: of MSI-X, 1 to 2048. */
void pci_config_init(struct pci_config *p, uint16_t device_id, uint64_t bar_bytes,
		     uint32_t vectors);
/* [off, off+len) lies inside. True: the function is to be reset (FLR), and so is this. */
bool pci_config_write(struct pci_config *p, uint32_t off, const void *buf, uint32_t len);

#endif
