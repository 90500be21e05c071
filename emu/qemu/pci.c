// SPDX-License-Identifier: BSD-3-Clause
#include "emu/qemu/pci.h"

#include <linux/pci_regs.h>
#include <string.h>

enum {
	VENDOR = 0x15b3,
	CLASS_ETHERNET = 0x0200, /* of a ConnectX whatever its link layer (as lspci shows them) */
	CAP_PM = 0x40,
	CAP_EXP = 0x60,
	CAP_MSIX = 0x9c,
	SPEED_32GT = 5,
	WIDTH_16 = 16,
	BAR_FLAGS = PCI_BASE_ADDRESS_MEM_TYPE_64 | PCI_BASE_ADDRESS_MEM_PREFETCH,
	PAYLOAD_512 = 2,
};

static void put(struct pci_config *p, uint32_t off, uint32_t bytes, uint32_t value)
{
	for (uint32_t i = 0; i < bytes; i++)
		p->bytes[off + i] = (uint8_t)(value >> (8 * i));
}

static void allow(struct pci_config *p, uint32_t off, uint32_t bytes, uint32_t mask)
{
	for (uint32_t i = 0; i < bytes; i++)
		p->writable[off + i] = (uint8_t)(mask >> (8 * i));
}

static void put_header(struct pci_config *p, uint16_t device_id)
{
	put(p, PCI_VENDOR_ID, 2, VENDOR);
	put(p, PCI_DEVICE_ID, 2, device_id);
	put(p, PCI_SUBSYSTEM_VENDOR_ID, 2, VENDOR);
	put(p, PCI_SUBSYSTEM_ID, 2, device_id);
	put(p, PCI_CLASS_DEVICE, 2, CLASS_ETHERNET);
	put(p, PCI_STATUS, 2, PCI_STATUS_CAP_LIST);
	put(p, PCI_CAPABILITY_LIST, 1, CAP_PM);
	put(p, PCI_BASE_ADDRESS_0, 4, BAR_FLAGS);
	allow(p, PCI_COMMAND, 2,
	      PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER | PCI_COMMAND_PARITY | PCI_COMMAND_SERR |
		      PCI_COMMAND_INTX_DISABLE);
	allow(p, PCI_CACHE_LINE_SIZE, 1, 0xff);
	allow(p, PCI_INTERRUPT_LINE, 1, 0xff);
	allow(p, PCI_BASE_ADDRESS_0, 4, (uint32_t) ~(p->bar_bytes - 1));
	allow(p, PCI_BASE_ADDRESS_1, 4, (uint32_t)(~(p->bar_bytes - 1) >> 32));
}

static void put_capabilities(struct pci_config *p, uint32_t vectors)
{
	put(p, CAP_PM, 2, PCI_CAP_ID_PM | CAP_EXP << 8);
	put(p, CAP_PM + PCI_PM_PMC, 2, 3);
	put(p, CAP_PM + PCI_PM_CTRL, 2, PCI_PM_CTRL_NO_SOFT_RESET);
	allow(p, CAP_PM + PCI_PM_CTRL, 2, PCI_PM_CTRL_STATE_MASK);

	put(p, CAP_EXP, 2, PCI_CAP_ID_EXP | CAP_MSIX << 8);
	put(p, CAP_EXP + PCI_EXP_FLAGS, 2, 2 | PCI_EXP_TYPE_ENDPOINT << 4);
	put(p, CAP_EXP + PCI_EXP_DEVCAP, 4, PAYLOAD_512 | PCI_EXP_DEVCAP_RBER | PCI_EXP_DEVCAP_FLR);
	put(p, CAP_EXP + PCI_EXP_LNKCAP, 4, SPEED_32GT | WIDTH_16 << 4);
	put(p, CAP_EXP + PCI_EXP_LNKSTA, 2, SPEED_32GT | WIDTH_16 << 4);
	put(p, CAP_EXP + PCI_EXP_LNKCAP2, 4, 0x3e); /* 2.5 to 32 GT/s */
	allow(p, CAP_EXP + PCI_EXP_DEVCTL, 2, 0x7fff);
	allow(p, CAP_EXP + PCI_EXP_DEVCTL2, 2, PCI_EXP_DEVCTL2_COMP_TIMEOUT | 0x10);

	put(p, CAP_MSIX, 2, PCI_CAP_ID_MSIX);
	put(p, CAP_MSIX + PCI_MSIX_FLAGS, 2, vectors - 1);
	put(p, CAP_MSIX + PCI_MSIX_TABLE, 4, BAR0_MSIX_TABLE);
	put(p, CAP_MSIX + PCI_MSIX_PBA, 4, BAR0_MSIX_PBA);
	allow(p, CAP_MSIX + PCI_MSIX_FLAGS, 2, PCI_MSIX_FLAGS_ENABLE | PCI_MSIX_FLAGS_MASKALL);
}

void pci_config_init(struct pci_config *p, uint16_t device_id, uint64_t bar_bytes, uint32_t vectors)
{
	memset(p, 0, sizeof(*p));
	p->bar_bytes = bar_bytes;
	put_header(p, device_id);
	put_capabilities(p, vectors);
}

bool pci_config_write(struct pci_config *p, uint32_t off, const void *buf, uint32_t len)
{
	const uint32_t flr = CAP_EXP + PCI_EXP_DEVCTL + 1;
	const uint8_t *from = buf;
	bool reset = false;

	for (uint32_t i = 0; i < len; i++) {
		uint8_t mask = p->writable[off + i];

		p->bytes[off + i] = (uint8_t)((p->bytes[off + i] & ~mask) | (from[i] & mask));
		reset |= off + i == flr && (from[i] & PCI_EXP_DEVCTL_BCR_FLR >> 8);
	}
	return reset;
}
