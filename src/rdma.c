/* SPDX-License-Identifier: BSD-3-Clause */
#include "rdma.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "log.h"

struct rdma_symbol {
	enum rdma_library library;
	bool required;
	const char *name;
	size_t offset; /* of the pointer in struct rdma_ops */
};

#define RDMA_ROW_(library, required, ret, member, symbol, args)                                    \
	{library, required, #symbol, offsetof(struct rdma_ops, member)},
static const struct rdma_symbol symbols[] = {RDMA_SYMBOLS(RDMA_ROW_)};

static const char *const library_names[RDMA_LIBRARIES][2] = {
	[RDMA_LIBIBVERBS] = {"libibverbs.so.1", "libibverbs.so"},
	[RDMA_LIBMLX5] = {"libmlx5.so.1", "libmlx5.so"},
};

static pthread_once_t load_once = PTHREAD_ONCE_INIT;
static struct rdma_ops loaded;
static bool is_loaded;
static const struct rdma_ops *injected;

static void *open_library(enum rdma_library library)
{
	void *handle = NULL;

	for (size_t i = 0; i < 2 && !handle; i++)
		handle = dlopen(library_names[library][i], RTLD_NOW);
	if (!handle)
		ENGINE_LOG(LOG_EMERG, "cannot load %s: %s", library_names[library][0], dlerror());
	return handle;
}

static void load(void)
{
	void *handles[RDMA_LIBRARIES];

	for (int i = 0; i < RDMA_LIBRARIES; i++) {
		handles[i] = open_library((enum rdma_library)i);
		if (!handles[i])
			return;
	}
	for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
		const struct rdma_symbol *s = &symbols[i];
		void *address = dlsym(handles[s->library], s->name);

		if (!address && s->required) {
			ENGINE_LOG(LOG_EMERG, "%s has no symbol %s", library_names[s->library][0],
				   s->name);
			return;
		}
		memcpy((char *)&loaded + s->offset, &address, sizeof(address));
	}
	is_loaded = true;
}

const struct rdma_ops *rdma_get(void)
{
	const struct rdma_ops *ops = __atomic_load_n(&injected, __ATOMIC_ACQUIRE);

	if (ops)
		return ops;
	pthread_once(&load_once, load);
	return is_loaded ? &loaded : NULL;
}

void rdma_inject(const struct rdma_ops *ops)
{
	__atomic_store_n(&injected, ops, __ATOMIC_RELEASE);
}
