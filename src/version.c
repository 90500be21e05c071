/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/doca_gpunetio.h"

doca_error_t doca_gpu_verbs_get_library_version(uint32_t *version)
{
	if (!version)
		return DOCA_ERROR_INVALID_VALUE;
	*version = DOCA_GPUNETIO_VERSION;
	return DOCA_SUCCESS;
}

static doca_error_t within(uint32_t version, uint32_t oldest)
{
	return version >= oldest && version <= DOCA_GPUNETIO_VERSION ? DOCA_SUCCESS
								     : DOCA_ERROR_NOT_SUPPORTED;
}

doca_error_t doca_gpu_verbs_check_device_code_compatibility(uint32_t device_code_version)
{
	return within(device_code_version, DOCA_GPUNETIO_MIN_COMPAT_DEVICE_CODE_VERSION);
}

doca_error_t doca_gpu_verbs_check_host_code_compatibility(uint32_t host_code_version)
{
	return within(host_code_version, DOCA_GPUNETIO_MIN_COMPAT_HOST_CODE_VERSION);
}
