/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A libgdrapi.so.2 over the stand-in of libcuda, whose memory the CPU sees as it is.
 * STANDIN_GDR=closed: the kernel module is missing, so gdr_open fails. Built with NO_MAP it is a
 * library of another version, without gdr_map.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/cuda_driver.h"

static int the_driver, pinned;
static void *address[16];

#define GDR(ret, name, args)                                                                       \
	__attribute__((visibility("default"))) ret name args;                                      \
	ret name args

GDR(void *, gdr_open, (void))
{
	const char *how = getenv("STANDIN_GDR");

	return how && !strcmp(how, "closed") ? NULL : &the_driver;
}

GDR(int, gdr_pin_buffer,
    (void *gdr, unsigned long addr, size_t size, uint64_t token, uint32_t va_space,
     gdr_handle *handle))
{
	(void)token, (void)va_space;
	if (gdr != &the_driver || addr % 65536 || !size || pinned == 16)
		return 22;
	address[pinned] = (void *)addr;
	handle->h = (unsigned long)++pinned;
	return 0;
}

GDR(int, gdr_unpin_buffer, (void *gdr, gdr_handle handle))
{
	(void)gdr;
	printf("unpinned %lu\n", handle.h);
	return 0;
}

#ifndef NO_MAP
GDR(int, gdr_map, (void *gdr, gdr_handle handle, void **va, size_t size))
{
	(void)gdr, (void)size;
	*va = address[handle.h - 1];
	printf("mapped %lu\n", handle.h);
	return 0;
}
#endif

GDR(int, gdr_unmap, (void *gdr, gdr_handle handle, void *va, size_t size))
{
	(void)gdr, (void)size;
	printf("unmapped %lu %s\n", handle.h, va == address[handle.h - 1] ? "whole" : "elsewhere");
	return 0;
}
