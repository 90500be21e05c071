// SPDX-License-Identifier: BSD-3-Clause
/* Failures of the GPUNetIO library, by name. */
#include <stdio.h>

#include "hw_tests/common/hwt.h"

#define NAME(code) [code] = #code

static const char *const names[] = {
	NAME(DOCA_SUCCESS),
	NAME(DOCA_ERROR_UNKNOWN),
	NAME(DOCA_ERROR_NOT_PERMITTED),
	NAME(DOCA_ERROR_IN_USE),
	NAME(DOCA_ERROR_NOT_SUPPORTED),
	NAME(DOCA_ERROR_AGAIN),
	NAME(DOCA_ERROR_INVALID_VALUE),
	NAME(DOCA_ERROR_NO_MEMORY),
	NAME(DOCA_ERROR_INITIALIZATION),
	NAME(DOCA_ERROR_TIME_OUT),
	NAME(DOCA_ERROR_SHUTDOWN),
	NAME(DOCA_ERROR_CONNECTION_RESET),
	NAME(DOCA_ERROR_CONNECTION_ABORTED),
	NAME(DOCA_ERROR_CONNECTION_INPROGRESS),
	NAME(DOCA_ERROR_NOT_CONNECTED),
	NAME(DOCA_ERROR_NO_LOCK),
	NAME(DOCA_ERROR_NOT_FOUND),
	NAME(DOCA_ERROR_IO_FAILED),
	NAME(DOCA_ERROR_BAD_STATE),
	NAME(DOCA_ERROR_UNSUPPORTED_VERSION),
	NAME(DOCA_ERROR_OPERATING_SYSTEM),
	NAME(DOCA_ERROR_DRIVER),
	NAME(DOCA_ERROR_UNEXPECTED),
	NAME(DOCA_ERROR_ALREADY_EXIST),
	NAME(DOCA_ERROR_FULL),
	NAME(DOCA_ERROR_EMPTY),
	NAME(DOCA_ERROR_IN_PROGRESS),
	NAME(DOCA_ERROR_TOO_BIG),
	NAME(DOCA_ERROR_AUTHENTICATION),
	NAME(DOCA_ERROR_BAD_CONFIG),
	NAME(DOCA_ERROR_SKIPPED),
	NAME(DOCA_ERROR_DEVICE_FATAL_ERROR),
};

const char *hwt_error_name(doca_error_t error)
{
	size_t i = (size_t)error;

	return i < sizeof(names) / sizeof(names[0]) ? names[i] : "an unknown doca_error_t";
}

int hwt_check(const char *what, doca_error_t error)
{
	if (error)
		fprintf(stderr, "%s: %s (%d; DOCA_GPUNETIO_LOG=4 explains)\n", what,
			hwt_error_name(error), error);
	return error ? -1 : 0;
}
