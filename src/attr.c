/* SPDX-License-Identifier: BSD-3-Clause */
#include "attr.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "util.h"
#include "verbs.h"

static bool passes(const struct attr_field *field, uint64_t value)
{
	switch ((enum attr_check)field->check) {
	case ATTR_ANY:
		return true;
	case ATTR_NOT_NULL:
	case ATTR_NOT_ZERO:
		return value != 0;
	case ATTR_AT_MOST:
		return value <= field->limit;
	case ATTR_POW2:
		return is_pow2(value);
	}
	return false;
}

doca_error_t attr_store(void *object, const struct attr_field *field, uint64_t value)
{
	uint8_t *p = object;

	if (!object) {
		ENGINE_ERR("set %s: NULL object", field->name);
		return DOCA_ERROR_INVALID_VALUE;
	}
	if (!passes(field, value)) {
		ENGINE_ERR("set %s: value 0x%llx is not allowed", field->name,
			   (unsigned long long)value);
		return DOCA_ERROR_INVALID_VALUE;
	}
	p += field->offset;
	/* Little-endian hosts only: the low bytes of value are the field. */
	assert(field->size <= sizeof(value));
	memcpy(p, &value, field->size);
	return DOCA_SUCCESS;
}
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "attr_store copies low bytes first");

uint64_t attr_load(const void *object, const struct attr_field *field, uint64_t if_null)
{
	uint64_t value = 0;

	if (!object)
		return if_null;
	memcpy(&value, (const uint8_t *)object + field->offset, field->size);
	return value;
}

doca_error_t attr_new(void **out, size_t size)
{
	if (!out)
		return DOCA_ERROR_INVALID_VALUE;
	*out = calloc(1, size);
	return *out ? DOCA_SUCCESS : DOCA_ERROR_NO_MEMORY;
}

doca_error_t attr_delete(void *object)
{
	if (!object)
		return DOCA_ERROR_INVALID_VALUE;
	free(object);
	return DOCA_SUCCESS;
}

/*
 * The table: X(object, prefix of the getter, value, C type, check, limit, getter's value for NULL).
 * SET ends where only a setter exists.
 */
#define ATTR_SET_GET(X)                                                                            \
	X(qp_init_attr, qp_init_attr, pd, struct ibv_pd *, ATTR_NOT_NULL, 0, 0)                    \
	X(qp_init_attr, qp_init_attr, send_cq, struct doca_verbs_cq *, ATTR_NOT_NULL, 0, 0)        \
	X(qp_init_attr, qp_init_attr, receive_cq, struct doca_verbs_cq *, ATTR_NOT_NULL, 0, 0)     \
	X(qp_init_attr, qp_init_attr, srq, struct doca_verbs_srq *, ATTR_NOT_NULL, 0, 0)           \
	X(qp_init_attr, qp_init_attr, sq_sig_all, int, ATTR_ANY, 0, UINT64_MAX)                    \
	X(qp_init_attr, qp_init_attr, sq_wr, uint32_t, ATTR_ANY, 0, 0)                             \
	X(qp_init_attr, qp_init_attr, rq_wr, uint32_t, ATTR_ANY, 0, 0)                             \
	X(qp_init_attr, qp_init_attr, send_max_sges, uint32_t, ATTR_ANY, 0, 0)                     \
	X(qp_init_attr, qp_init_attr, receive_max_sges, uint32_t, ATTR_ANY, 0, 0)                  \
	X(qp_init_attr, qp_init_attr, max_inline_data, uint32_t, ATTR_ANY, 0, 0)                   \
	X(qp_init_attr, qp_init_attr, user_index, uint32_t, ATTR_AT_MOST, 0xffffff, 0)             \
	X(qp_init_attr, qp_init_attr, qp_type, uint32_t, ATTR_ANY, 0, 0)                           \
	X(qp_init_attr, qp_init_attr, qp_context, void *, ATTR_NOT_NULL, 0, 0)                     \
	X(qp_init_attr, qp_init_attr, core_direct_master, uint8_t, ATTR_AT_MOST, 1, 0)             \
	X(qp_init_attr, qp_init_attr, send_dbr_mode, enum doca_verbs_qp_send_dbr_mode,             \
	  ATTR_AT_MOST, DOCA_VERBS_QP_SEND_DBR_MODE_NO_DBR_EXT, 0)                                 \
	X(qp_init_attr, qp_init_attr, emulate_no_dbr_ext, bool, ATTR_ANY, 0, 0)                    \
	X(qp_attr, qp_attr, next_state, enum doca_verbs_qp_state, ATTR_ANY, 0, 0)                  \
	X(qp_attr, qp_attr, current_state, enum doca_verbs_qp_state, ATTR_ANY, 0, 0)               \
	X(qp_attr, qp_attr, path_mtu, enum doca_verbs_mtu_size, ATTR_ANY, 0, 0)                    \
	X(qp_attr, qp_attr, rq_psn, uint32_t, ATTR_ANY, 0, 0)                                      \
	X(qp_attr, qp_attr, sq_psn, uint32_t, ATTR_ANY, 0, 0)                                      \
	X(qp_attr, qp_attr, dest_qp_num, uint32_t, ATTR_ANY, 0, 0)                                 \
	X(qp_attr, qp_attr, allow_remote_write, int, ATTR_ANY, 0, UINT64_MAX)                      \
	X(qp_attr, qp_attr, allow_remote_read, int, ATTR_ANY, 0, UINT64_MAX)                       \
	X(qp_attr, qp_attr, allow_remote_atomic, enum doca_verbs_qp_atomic_type, ATTR_ANY, 0, 0)   \
	X(qp_attr, qp_attr, ah_attr, struct doca_verbs_ah_attr *, ATTR_NOT_NULL, 0, 0)             \
	X(qp_attr, qp_attr, pkey_index, uint16_t, ATTR_ANY, 0, 0)                                  \
	X(qp_attr, qp_attr, port_num, uint16_t, ATTR_ANY, 0, 0)                                    \
	X(qp_attr, qp_attr, ack_timeout, uint16_t, ATTR_ANY, 0, 0)                                 \
	X(qp_attr, qp_attr, retry_cnt, uint16_t, ATTR_ANY, 0, 0)                                   \
	X(qp_attr, qp_attr, rnr_retry, uint16_t, ATTR_ANY, 0, 0)                                   \
	X(qp_attr, qp_attr, min_rnr_timer, uint16_t, ATTR_ANY, 0, 0)                               \
	X(ah_attr, ah, addr_type, enum doca_verbs_addr_type, ATTR_ANY, 0, 0)                       \
	X(ah_attr, ah, dlid, uint32_t, ATTR_ANY, 0, 0)                                             \
	X(ah_attr, ah, sl, uint8_t, ATTR_ANY, 0, 0)                                                \
	X(ah_attr, ah, sgid_index, uint8_t, ATTR_ANY, 0, 0)                                        \
	X(ah_attr, ah, static_rate, uint8_t, ATTR_ANY, 0, 0)                                       \
	X(ah_attr, ah, hop_limit, uint8_t, ATTR_ANY, 0, 0)                                         \
	X(ah_attr, ah, traffic_class, uint8_t, ATTR_ANY, 0, 0)                                     \
	X(srq_init_attr, srq_init_attr, srq_wr, uint32_t, ATTR_NOT_ZERO, 0, 0)                     \
	X(srq_init_attr, srq_init_attr, receive_max_sges, uint32_t, ATTR_NOT_ZERO, 0, 0)           \
	X(srq_init_attr, srq_init_attr, type, enum doca_verbs_srq_type, ATTR_ANY, 0, 0)            \
	X(srq_init_attr, srq_init_attr, pd, struct ibv_pd *, ATTR_NOT_NULL, 0, 0)

#define ATTR_SET(X)                                                                                \
	X(qp_init_attr, , external_uar, struct doca_verbs_uar *, ATTR_NOT_NULL, 0, 0)              \
	X(qp_attr, , max_rd_atomic, uint8_t, ATTR_POW2, 0, 0)                                      \
	X(qp_attr, , max_dest_rd_atomic, uint8_t, ATTR_POW2, 0, 0)                                 \
	X(cq_attr, , cq_size, uint32_t, ATTR_ANY, 0, 0)                                            \
	X(cq_attr, , cq_context, void *, ATTR_ANY, 0, 0)                                           \
	X(cq_attr, , external_uar, struct doca_verbs_uar *, ATTR_NOT_NULL, 0, 0)                   \
	X(cq_attr, , cq_overrun, enum doca_verbs_cq_overrun, ATTR_AT_MOST,                         \
	  DOCA_VERBS_CQ_ENABLE_OVERRUN, 0)                                                         \
	X(cq_attr, , cq_collapsed, uint8_t, ATTR_AT_MOST, 1, 0)

/* Getters of the device attributes. */
#define ATTR_DEVICE(X)                                                                             \
	X(device_attr, device_attr, max_qp, uint32_t, 0, 0, 0)                                     \
	X(device_attr, device_attr, max_qp_wr, uint32_t, 0, 0, 0)                                  \
	X(device_attr, device_attr, max_sge, uint32_t, 0, 0, 0)                                    \
	X(device_attr, device_attr, max_cq, uint32_t, 0, 0, 0)                                     \
	X(device_attr, device_attr, max_cqe, uint32_t, 0, 0, 0)                                    \
	X(device_attr, device_attr, max_mr, uint32_t, 0, 0, 0)                                     \
	X(device_attr, device_attr, max_pd, uint32_t, 0, 0, 0)                                     \
	X(device_attr, device_attr, max_ah, uint32_t, 0, 0, 0)                                     \
	X(device_attr, device_attr, max_srq, uint32_t, 0, 0, 0)                                    \
	X(device_attr, device_attr, max_srq_wr, uint32_t, 0, 0, 0)                                 \
	X(device_attr, device_attr, max_srq_sge, uint32_t, 0, 0, 0)                                \
	X(device_attr, device_attr, max_pkeys, uint16_t, 0, 0, 0)                                  \
	X(device_attr, device_attr, send_dbr_mode_no_dbr_ext, uint8_t, 0, 0, 0)                    \
	X(device_attr, device_attr, max_qp_rd_atom, uint8_t, 0, 0, 0)                              \
	X(device_attr, device_attr, max_qp_init_rd_atom, uint8_t, 0, 0, 0)

#define ATTR_INDEX_(object, prefix, value, type, chk, lim, if_null) ATTR_##object##_##value,
enum { ATTR_SET_GET(ATTR_INDEX_) ATTR_SET(ATTR_INDEX_) ATTR_DEVICE(ATTR_INDEX_) };

#define ATTR_ROW_(object, prefix, value, type, chk, lim, if_null)                                  \
	[ATTR_##object##_##value] = {                                                              \
		.name = #object "." #value,                                                        \
		.offset = offsetof(struct doca_verbs_##object, value),                             \
		.size = sizeof(type),                                                              \
		.check = (chk),                                                                    \
		.limit = (lim),                                                                    \
	},
#define ATTR_TYPE_(object, prefix, value, type, chk, lim, if_null)                                 \
	_Static_assert(__builtin_types_compatible_p(                                               \
			       type, __typeof__(((struct doca_verbs_##object *)0)->value)),        \
		       #object "." #value " has another type");
ATTR_SET_GET(ATTR_TYPE_)
ATTR_SET(ATTR_TYPE_)
ATTR_DEVICE(ATTR_TYPE_)
static const struct attr_field attr_table[] = {ATTR_SET_GET(ATTR_ROW_) ATTR_SET(ATTR_ROW_)
						       ATTR_DEVICE(ATTR_ROW_)};

#define ATTR_SETTER_(object, prefix, value, type, chk, lim, if_null)                               \
	doca_error_t doca_verbs_##object##_set_##value(struct doca_verbs_##object *attr, type v)   \
	{                                                                                          \
		return attr_store(attr, &attr_table[ATTR_##object##_##value],                      \
				  (uint64_t)(uintptr_t)v);                                         \
	}
#define ATTR_GETTER_(object, prefix, value, type, chk, lim, if_null)                               \
	type doca_verbs_##prefix##_get_##value(const struct doca_verbs_##object *attr)             \
	{                                                                                          \
		return (type)(uintptr_t)attr_load(attr, &attr_table[ATTR_##object##_##value],      \
						  if_null);                                        \
	}
ATTR_SET_GET(ATTR_SETTER_)
ATTR_SET_GET(ATTR_GETTER_)
ATTR_SET(ATTR_SETTER_)
ATTR_DEVICE(ATTR_GETTER_)

/* Life of the bags that need nothing else. */
#define ATTR_BAGS(X) X(qp_init_attr) X(qp_attr) X(cq_attr) X(srq_init_attr)
#define ATTR_LIFE_(object)                                                                         \
	doca_error_t doca_verbs_##object##_create(struct doca_verbs_##object **attr)               \
	{                                                                                          \
		return attr_new((void **)attr, sizeof(**attr));                                    \
	}                                                                                          \
	doca_error_t doca_verbs_##object##_destroy(struct doca_verbs_##object *attr)               \
	{                                                                                          \
		return attr_delete(attr);                                                          \
	}
ATTR_BAGS(ATTR_LIFE_)

doca_error_t doca_verbs_ah_attr_create(struct ibv_context *context,
				       struct doca_verbs_ah_attr **attr)
{
	if (!context)
		return DOCA_ERROR_INVALID_VALUE;
	return attr_new((void **)attr, sizeof(**attr));
}

doca_error_t doca_verbs_ah_attr_destroy(struct doca_verbs_ah_attr *attr)
{
	return attr_delete(attr);
}

/* The values that are no scalars. */

doca_error_t doca_verbs_ah_attr_set_gid(struct doca_verbs_ah_attr *attr, struct doca_verbs_gid gid)
{
	if (!attr)
		return DOCA_ERROR_INVALID_VALUE;
	attr->gid = gid;
	return DOCA_SUCCESS;
}

struct doca_verbs_gid doca_verbs_ah_get_gid(const struct doca_verbs_ah_attr *attr)
{
	return attr ? attr->gid : (struct doca_verbs_gid){{0}};
}

static doca_error_t set_place(struct umem_at *place, struct doca_verbs_umem *umem, uint64_t offset)
{
	if (!place || !umem) {
		ENGINE_ERR("external umem: NULL argument");
		return DOCA_ERROR_INVALID_VALUE;
	}
	*place = (struct umem_at){.umem = umem, .offset = offset};
	return DOCA_SUCCESS;
}

static doca_error_t get_place(const struct umem_at *place, struct doca_verbs_umem **umem,
			      uint64_t *offset)
{
	if (!place || !umem || !offset)
		return DOCA_ERROR_INVALID_VALUE;
	*umem = place->umem;
	*offset = place->offset;
	return DOCA_SUCCESS;
}

#define ATTR_PLACE_SETTER_(object, value, member)                                                  \
	doca_error_t doca_verbs_##object##_set_##value(struct doca_verbs_##object *attr,           \
						       struct doca_verbs_umem *external_umem,      \
						       uint64_t external_umem_offset)              \
	{                                                                                          \
		return set_place(attr ? &attr->member : NULL, external_umem,                       \
				 external_umem_offset);                                            \
	}
#define ATTR_PLACE_GETTER_(object, value, member)                                                  \
	doca_error_t doca_verbs_##object##_get_##value(const struct doca_verbs_##object *attr,     \
						       struct doca_verbs_umem **external_umem,     \
						       uint64_t *external_umem_offset)             \
	{                                                                                          \
		return get_place(attr ? &attr->member : NULL, external_umem,                       \
				 external_umem_offset);                                            \
	}
ATTR_PLACE_SETTER_(qp_init_attr, external_umem, ring)
ATTR_PLACE_SETTER_(qp_init_attr, external_dbr_umem, dbr)
ATTR_PLACE_SETTER_(cq_attr, external_umem, ring)
ATTR_PLACE_SETTER_(cq_attr, external_dbr_umem, dbr)
ATTR_PLACE_SETTER_(srq_init_attr, external_umem, ring)
ATTR_PLACE_GETTER_(qp_init_attr, external_umem, ring)
ATTR_PLACE_GETTER_(srq_init_attr, external_umem, ring)

doca_error_t doca_verbs_qp_init_attr_get_external_uar(const struct doca_verbs_qp_init_attr *attr,
						      struct doca_verbs_uar **external_uar)
{
	if (!attr || !external_uar)
		return DOCA_ERROR_INVALID_VALUE;
	*external_uar = attr->external_uar;
	return DOCA_SUCCESS;
}

doca_error_t
doca_verbs_device_attr_get_is_qp_type_supported(const struct doca_verbs_device_attr *attr,
						uint32_t qp_type)
{
	if (!attr || qp_type != DOCA_VERBS_QP_TYPE_RC)
		return DOCA_ERROR_INVALID_VALUE;
	return attr->has_rc ? DOCA_SUCCESS : DOCA_ERROR_NOT_SUPPORTED;
}
