/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Attribute objects are bags of values behind a setter and a getter for each. One row describes a
 * value; two generic functions do the work.
 */
#ifndef GDAKIT_ATTR_H
#define GDAKIT_ATTR_H

#include <stddef.h>
#include <stdint.h>

#include "host/doca_error.h"

enum attr_check {
	ATTR_ANY,
	ATTR_NOT_NULL, /* a pointer */
	ATTR_NOT_ZERO,
	ATTR_AT_MOST, /* limit */
	ATTR_POW2,
};

struct attr_field {
	const char *name; /* "qp_attr.port_num", for the log */
	uint16_t offset;  /* in the object */
	uint8_t size;	  /* 1, 2, 4 or 8 bytes */
	uint8_t check;	  /* enum attr_check */
	uint32_t limit;
};

/* INVALID_VALUE: NULL object, or the value fails the row's check. */
doca_error_t attr_store(void *object, const struct attr_field *field, uint64_t value);

/* The value, or if_null for a NULL object. */
uint64_t attr_load(const void *object, const struct attr_field *field, uint64_t if_null);

/* Zeroed object into *out; INVALID_VALUE for NULL, NO_MEMORY. */
doca_error_t attr_new(void **out, size_t size);
doca_error_t attr_delete(void *object);

#endif
