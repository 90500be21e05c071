/* SPDX-License-Identifier: BSD-3-Clause */
/* Exported QPs, as the library's own files see them. */
#ifndef GDAKIT_EXPORT_H
#define GDAKIT_EXPORT_H

#include <pthread.h>
#include <stdatomic.h>

#include "common/doca_gpunetio_verbs_dev.h"
#include "gpu.h"
#include "verbs.h"

/* Who writes the doorbell register and record once a kernel has posted. */
enum proxy_kind {
	PROXY_NONE, /* the kernel does both */
	PROXY_FULL, /* the kernel stores its producer index in a shared word, the proxy does both */
	PROXY_RECORD, /* the kernel rings; the proxy writes the record behind it and rings again */
};

/* The public struct is the head of this one; callers hold a pointer to it. */
struct exported_qp {
	struct doca_gpu_verbs_qp pub;
	enum proxy_kind proxy;
	bool writes_record;	 /* the QP has a doorbell record that the proxy keeps */
	bool is_listed;		 /* seen in the list that is being checked */
	bool owns_qp_gpu;	 /* qp_gpu is an allocation of this QP, not part of an array */
	uint64_t *proxy_word;	 /* own: the shared word of PROXY_FULL */
	atomic_flag is_stepping; /* held by the thread that steps the proxy */

	/* Guarded by the service's lock. */
	struct proxy_service *service;
	struct exported_qp *next;
};

static inline struct exported_qp *exported(struct doca_gpu_verbs_qp *qp)
{
	return (struct exported_qp *)qp;
}

/* Takes the QP out of its service, if it has one; no step runs when this returns. */
void proxy_forget(struct exported_qp *qp);

#endif
