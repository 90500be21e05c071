/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packets of a process's NICs as a pcapng file (draft-ietf-opsawg-pcapng): Ethernet, IP, UDP, BTH
 * to ICRC of each one sent and received, an interface a NIC. The frames are what the NIC's route
 * and packet make, also where a packet travels by reference and no wire ever holds those bytes.
 * Addresses are the hosts' GIDs; a LID appears as the address of its host.
 *
 * Four block types are written, so the writer is our own. The file is a valid pcapng at any time: a
 * block that readers skip fills what is not used yet (mapfile.h). Guarded by the NICs' lock.
 */
#ifndef GDAKIT_OBSERVE_PCAPNG_H
#define GDAKIT_OBSERVE_PCAPNG_H

#include "emu/nicmodel/nm.h"
#include "emu/observe/mapfile.h"

enum {
	PCAPNG_NICS = 16,
	PCAPNG_COMMENT_MAX = 256,
};
/* Block type of the unused end: bit 31 is for local use, which readers skip. */
#define PCAPNG_FILLER 0x80676461u

enum pcapng_direction { PCAPNG_UNKNOWN, PCAPNG_INBOUND, PCAPNG_OUTBOUND };

struct pcapng_nic {
	struct nm_observer observer; /* to be added to its NIC */
	struct pcapng *pcap;
	uint32_t interface;
};

struct pcapng {
	struct mapfile file;
	uint64_t realtime_offset_ns; /* from the NIC's clock to that of pcapng */
	uint64_t tx_at;		     /* where the last block begins, if it is a sent packet */
	unsigned int nnics;
	struct pcapng_nic nic[PCAPNG_NICS];
};

/* 0, or -errno with file.why. `application` for the section header. */
int pcapng_open(struct pcapng *p, const char *pattern, const char *application);
/* An interface; its observer, or NULL: there are too many, or the file has ended. */
struct nm_observer *pcapng_add(struct pcapng *p, const char *name, const char *description);
/*
 * One packet; comment may be NULL. 0; -EFAULT: payload or file cannot be accessed; -EINVAL: no
 * frame can be made of it; -ENOSPC: the file has ended.
 */
int pcapng_packet(struct pcapng *p, uint32_t interface, uint64_t time_ns,
		  enum pcapng_direction direction, const struct nm_packet *pkt,
		  const char *comment);
/* The observers have been removed. */
void pcapng_close(struct pcapng *p);

#endif
