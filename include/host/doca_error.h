/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Result codes of every host function. Names and values are those of DOCA GPUNetIO 2.0
 * (doca_error.h), because programs print and compare the numbers.
 */
#ifndef DOCA_ERROR_H
#define DOCA_ERROR_H

#include <errno.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum doca_error {
	DOCA_SUCCESS = 0,
	DOCA_ERROR_UNKNOWN = 1,
	DOCA_ERROR_NOT_PERMITTED = 2,
	DOCA_ERROR_IN_USE = 3,	      /* other objects still refer to this one */
	DOCA_ERROR_NOT_SUPPORTED = 4, /* the device or this build cannot do it */
	DOCA_ERROR_AGAIN = 5,
	DOCA_ERROR_INVALID_VALUE = 6,  /* an argument or an attribute is wrong */
	DOCA_ERROR_NO_MEMORY = 7,      /* host memory, descriptors, or GPU memory ran out */
	DOCA_ERROR_INITIALIZATION = 8, /* a library or device could not be started */
	DOCA_ERROR_TIME_OUT = 9,
	DOCA_ERROR_SHUTDOWN = 10,
	DOCA_ERROR_CONNECTION_RESET = 11,
	DOCA_ERROR_CONNECTION_ABORTED = 12,
	DOCA_ERROR_CONNECTION_INPROGRESS = 13,
	DOCA_ERROR_NOT_CONNECTED = 14,
	DOCA_ERROR_NO_LOCK = 15,
	DOCA_ERROR_NOT_FOUND = 16, /* no such GPU, library or symbol */
	DOCA_ERROR_IO_FAILED = 17,
	DOCA_ERROR_BAD_STATE = 18,
	DOCA_ERROR_UNSUPPORTED_VERSION = 19,
	DOCA_ERROR_OPERATING_SYSTEM = 20, /* a system call failed */
	DOCA_ERROR_DRIVER = 21,		  /* rdma-core, the NIC's firmware or CUDA refused */
	DOCA_ERROR_UNEXPECTED = 22,	  /* the NIC answered something that has no meaning here */
	DOCA_ERROR_ALREADY_EXIST = 23,
	DOCA_ERROR_FULL = 24,
	DOCA_ERROR_EMPTY = 25,
	DOCA_ERROR_IN_PROGRESS = 26,
	DOCA_ERROR_TOO_BIG = 27,
	DOCA_ERROR_AUTHENTICATION = 28,
	DOCA_ERROR_BAD_CONFIG = 29,
	DOCA_ERROR_SKIPPED = 30,
	DOCA_ERROR_DEVICE_FATAL_ERROR = 31
} doca_error_t;

#ifdef __cplusplus
}
#endif

#endif /* DOCA_ERROR_H */
