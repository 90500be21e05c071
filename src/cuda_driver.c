/* SPDX-License-Identifier: BSD-3-Clause */
#include "cuda_driver.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"

struct symbol {
	bool required;
	const char *name;
	size_t offset;
};

#define CUDA_ROW_(required, member, symbol, args)                                                  \
	{required, #symbol, offsetof(struct cuda_ops, member)},
static const struct symbol cuda_symbols[] = {CUDA_SYMBOLS(CUDA_ROW_)};
static const struct symbol gdr_symbols[] = {
	{true, "gdr_open", offsetof(struct gdr_ops, open)},
	{true, "gdr_pin_buffer", offsetof(struct gdr_ops, pin_buffer)},
	{true, "gdr_unpin_buffer", offsetof(struct gdr_ops, unpin_buffer)},
	{true, "gdr_map", offsetof(struct gdr_ops, map)},
	{true, "gdr_unmap", offsetof(struct gdr_ops, unmap)},
};

static pthread_once_t cuda_once = PTHREAD_ONCE_INIT, gdr_once = PTHREAD_ONCE_INIT;
static struct cuda_ops cuda_loaded;
static struct gdr_ops gdr_loaded;
static bool cuda_usable, gdr_usable;
static const struct cuda_ops *cuda_injected;
static const struct gdr_ops *gdr_injected;

/*
 * Fills table from the first library that opens; false (and a reason at level INFO) if it cannot.
 */
static bool load(const char *const names[2], const struct symbol *symbols, size_t count,
		 void *table)
{
	void *handle = NULL;

	for (int i = 0; i < 2 && names[i] && !handle; i++)
		handle = dlopen(names[i], RTLD_NOW);
	if (!handle) {
		ENGINE_INFO("cannot load %s: %s", names[0], dlerror());
		return false;
	}
	for (size_t i = 0; i < count; i++) {
		void *address = dlsym(handle, symbols[i].name);

		if (!address && symbols[i].required) {
			ENGINE_WARN("%s has no symbol %s", names[0], symbols[i].name);
			return false;
		}
		memcpy((char *)table + symbols[i].offset, &address, sizeof(address));
	}
	return true;
}

static void load_cuda(void)
{
	static const char *const names[2] = {"libcuda.so.1", "libcuda.so"};
	char text[32];
	cuda_result rc;
	int count = 0;

	if (!load(names, cuda_symbols, sizeof(cuda_symbols) / sizeof(cuda_symbols[0]),
		  &cuda_loaded))
		return;
	rc = cuda_loaded.Init(0);
	if (rc == CUDA_OK)
		rc = cuda_loaded.DeviceGetCount(&count);
	if (rc != CUDA_OK) {
		ENGINE_INFO("no CUDA device: %s", cuda_error_name(rc, text, sizeof(text)));
		return;
	}
	cuda_usable = count > 0;
}

static void load_gdr(void)
{
	static const char *const names[2] = {"libgdrapi.so.2", NULL};
	const char *disable = getenv("DOCA_GPUNETIO_DISABLE_GDRCOPY");

	if (disable && atoi(disable) != 0)
		return;
	if (!load(names, gdr_symbols, sizeof(gdr_symbols) / sizeof(gdr_symbols[0]), &gdr_loaded))
		return;
	gdr_loaded.gdr = gdr_loaded.open();
	if (!gdr_loaded.gdr) {
		ENGINE_INFO("GDRCopy: gdr_open failed");
		return;
	}
	gdr_usable = true;
}

const struct cuda_ops *cuda_get(void)
{
	const struct cuda_ops *ops = __atomic_load_n(&cuda_injected, __ATOMIC_ACQUIRE);

	if (ops)
		return ops;
	pthread_once(&cuda_once, load_cuda);
	return cuda_usable ? &cuda_loaded : NULL;
}

const struct gdr_ops *gdr_get(void)
{
	if (__atomic_load_n(&cuda_injected, __ATOMIC_ACQUIRE))
		return __atomic_load_n(&gdr_injected, __ATOMIC_ACQUIRE);
	pthread_once(&gdr_once, load_gdr);
	return gdr_usable ? &gdr_loaded : NULL;
}

void cuda_inject(const struct cuda_ops *cuda, const struct gdr_ops *gdr)
{
	__atomic_store_n(&gdr_injected, gdr, __ATOMIC_RELEASE);
	__atomic_store_n(&cuda_injected, cuda, __ATOMIC_RELEASE);
}

const char *cuda_error_name(cuda_result result, char *buf, size_t size)
{
	const struct cuda_ops *ops = cuda_usable ? &cuda_loaded : NULL;
	const char *name = NULL;

	if (ops && ops->GetErrorName && ops->GetErrorName(result, &name) == CUDA_OK && name)
		return name;
	snprintf(buf, size, "CUDA error %d", result);
	return buf;
}
