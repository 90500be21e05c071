// SPDX-License-Identifier: BSD-3-Clause
#include "emu/nicmodel/crc32.h"

#include <endian.h>
#include <string.h>

#ifdef NM_HAVE_ISAL
#include <isa-l/crc.h>
#endif

enum { CRC_SLICES = 8 };

/* slice[k][b]: what byte b does to the CRC when k more bytes follow it. Filled before main(). */
static uint32_t slice[CRC_SLICES][256];

__attribute__((constructor)) static void fill_tables(void)
{
	for (uint32_t b = 0; b < 256; b++) {
		uint32_t crc = b;

		for (unsigned int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
		slice[0][b] = crc;
	}
	for (uint32_t b = 0; b < 256; b++) {
		for (unsigned int k = 1; k < CRC_SLICES; k++)
			slice[k][b] = slice[k - 1][b] >> 8 ^ slice[0][slice[k - 1][b] & 0xff];
	}
}

uint32_t nm_crc32_tables(uint32_t crc, const void *buf, size_t len)
{
	const uint8_t *p = buf;

	crc = ~crc;
	for (; len >= CRC_SLICES; len -= CRC_SLICES, p += CRC_SLICES) {
		uint64_t word;

		memcpy(&word, p, sizeof(word));
		word = le64toh(word) ^ crc;
		crc = 0;
		for (unsigned int i = 0; i < CRC_SLICES; i++)
			crc ^= slice[CRC_SLICES - 1 - i][word >> (8 * i) & 0xff];
	}
	for (; len; len--, p++)
		crc = crc >> 8 ^ slice[0][(crc ^ *p) & 0xff];
	return ~crc;
}

uint32_t nm_crc32(uint32_t crc, const void *buf, size_t len)
{
#ifdef NM_HAVE_ISAL
	return crc32_gzip_refl(crc, buf, len);
#else
	return nm_crc32_tables(crc, buf, len);
#endif
}
