/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * CRC-32 of IEEE 802.3, which the ICRC is (IBTA vol. 1, 7.8.1): polynomial 0x04C11DB7, reflected.
 * By ISA-L where the build found it, else by tables: many times slower, but a machine
 * without the library can build the NIC. Safe from any thread.
 */
#ifndef GDAKIT_NM_CRC32_H
#define GDAKIT_NM_CRC32_H

#include <stddef.h>
#include <stdint.h>

/* `crc` is 0 for the first piece, then what the last call returned; complements are made inside. */
uint32_t nm_crc32(uint32_t crc, const void *buf, size_t len);
/* The same by tables, whatever the build has. */
uint32_t nm_crc32_tables(uint32_t crc, const void *buf, size_t len);

#endif
