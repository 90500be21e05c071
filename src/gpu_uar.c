/* SPDX-License-Identifier: BSD-3-Clause */
/* Doorbell registers that kernels write. */
#include <assert.h>
#include <stdlib.h>

#include "gpu.h"
#include "log.h"
#include "util.h"

/*
 * A mapped page. CUDA maps pages, so registers of one page share an entry: asking CUDA twice would
 * fail. The list is as long as a process has doorbell pages.
 */
struct uar_page {
	struct uar_page *next;
	struct gpu_mem mem; /* as it was when mapped */
	uintptr_t host;
	uintptr_t gpu;
	unsigned int users; /* >= 1 */
	bool is_registered; /* by us */
};

static pthread_mutex_t pages_lock = PTHREAD_MUTEX_INITIALIZER; /* guards pages and all entries */
static struct uar_page *pages;

/* The link that points to the entry, or the end of the list. Caller holds pages_lock. */
static struct uar_page **find(uintptr_t address, bool is_gpu, size_t page_size)
{
	uintptr_t page = address & ~(page_size - 1);
	struct uar_page **link = &pages;

	while (*link && (is_gpu ? (*link)->gpu : (*link)->host) != page)
		link = &(*link)->next;
	return link;
}

static doca_error_t map_page(struct gpu_mem *mem, uintptr_t host, size_t page_size)
{
	struct uar_page *page = calloc(1, sizeof(*page));
	doca_error_t status;
	void *gpu = NULL;

	if (!page)
		return DOCA_ERROR_NO_MEMORY;
	status = mem->ops->host_register(mem, (void *)host, page_size, true, &gpu);
	if (status != DOCA_SUCCESS && status != DOCA_ERROR_ALREADY_EXIST) {
		free(page);
		return status;
	}
	page->is_registered = status == DOCA_SUCCESS;
	page->mem = *mem;
	page->host = host;
	page->gpu = (uintptr_t)gpu;
	page->next = pages;
	pages = page;
	return DOCA_SUCCESS;
}

static doca_error_t drop(struct uar_page **link)
{
	struct uar_page *page = *link;
	doca_error_t status = DOCA_SUCCESS;

	assert(page->users > 0);
	if (--page->users > 0)
		return DOCA_SUCCESS;
	*link = page->next;
	if (page->is_registered)
		status = page->mem.ops->host_unregister(&page->mem, (void *)page->host);
	free(page);
	return status;
}

doca_error_t uar_map(struct gpu_mem *mem, void *reg, uint64_t **gpu)
{
	size_t page_size = host_page_size();
	uintptr_t host = (uintptr_t)reg, offset = host & (page_size - 1);
	doca_error_t status = DOCA_SUCCESS;
	struct uar_page **link;

	pthread_mutex_lock(&pages_lock);
	link = find(host, false, page_size);
	if (!*link) {
		status = map_page(mem, host - offset, page_size);
		link = &pages; /* a new entry is the first */
	}
	if (status == DOCA_SUCCESS) {
		(*link)->users++;
		*gpu = (uint64_t *)((*link)->gpu + offset);
	}
	pthread_mutex_unlock(&pages_lock);
	return status;
}

doca_error_t uar_unmap(const uint64_t *gpu)
{
	doca_error_t status = DOCA_ERROR_INVALID_VALUE;
	struct uar_page **link;

	pthread_mutex_lock(&pages_lock);
	link = find((uintptr_t)gpu, true, host_page_size());
	if (*link)
		status = drop(link);
	else
		ENGINE_ERR("%p is not a mapped doorbell register", (const void *)gpu);
	pthread_mutex_unlock(&pages_lock);
	return status;
}

doca_error_t uar_can_map(struct gpu_mem *mem, void *reg, bool *can)
{
	uint64_t *gpu;
	doca_error_t status = uar_map(mem, reg, &gpu);

	if (status == DOCA_ERROR_NO_MEMORY)
		return status;
	*can = status == DOCA_SUCCESS;
	if (*can)
		uar_unmap(gpu);
	return DOCA_SUCCESS;
}

doca_error_t doca_gpu_verbs_can_gpu_register_uar(void *db, bool *out_can_register)
{
	struct gpu_mem mem;

	if (!db || !out_can_register)
		return DOCA_ERROR_INVALID_VALUE;
	gpu_mem_current(&mem);
	return uar_can_map(&mem, db, out_can_register);
}

doca_error_t doca_gpu_verbs_export_uar(uint64_t *sq_db, uint64_t **uar_addr_gpu)
{
	struct gpu_mem mem;

	if (!sq_db || !uar_addr_gpu)
		return DOCA_ERROR_INVALID_VALUE;
	gpu_mem_current(&mem);
	return uar_map(&mem, sq_db, uar_addr_gpu);
}

doca_error_t doca_gpu_verbs_unexport_uar(uint64_t *uar_addr_gpu)
{
	if (!uar_addr_gpu)
		return DOCA_ERROR_INVALID_VALUE;
	return uar_unmap(uar_addr_gpu);
}
