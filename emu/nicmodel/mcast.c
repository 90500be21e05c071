// SPDX-License-Identifier: BSD-3-Clause
/*
 * Multicast: which QPs of this NIC hear a group (PRM, ATTACH_TO_MCG; IBTA 10.5). A group is a GID;
 * a packet for one has destination QP 0xffffff, and every attached QP gets its own copy.
 */
#include <stdlib.h>
#include <string.h>

#include "emu/nicmodel/cmd.h"
#include "emu/nicmodel/rc.h"
#include "emu/nicmodel/roce_wire.h"

enum { MCG_QPS = 4096 }; /* attachments of one NIC: log_max_mcg of the capabilities, one QP each */

struct nm_mcast {
	struct nm_mcast *next;
	uint8_t gid[16];
	struct nm_qp *qp;
};

static struct nm_mcast **find(struct nm_nic *nic, const uint8_t gid[16], const struct nm_qp *qp)
{
	struct nm_mcast **at = &nic->mcasts;

	while (*at && ((*at)->qp != qp || memcmp((*at)->gid, gid, sizeof((*at)->gid)) != 0))
		at = &(*at)->next;
	return at;
}

static void unlink_at(struct nm_nic *nic, struct nm_mcast **at)
{
	struct nm_mcast *m = *at;

	*at = m->next;
	nic->nmcasts--;
	free(m);
}

/* The QP and GID of either command; NULL with the status set. */
static struct nm_qp *operands(struct nm_cmd *c, const uint8_t **gid, uint8_t *status)
{
	struct nm_qp *qp =
		(struct nm_qp *)nm_cmd_own(c, NM_OBJ_QP, PRM_GET(mcg_in, c->in, qpn), status);

	*gid = PRM_CPTR(mcg_in, c->in, multicast_gid);
	if (!qp)
		return NULL;
	if (qp->service->connected) {
		*status = nm_cmd_fail(c, PRM_STATUS_BAD_PARAM, NM_SYND_FIELD,
				      "QP 0x%x is of service %s; groups are for datagrams",
				      qp->obj.number, qp->service->name);
		return NULL;
	}
	if (!nm_roce_is_multicast(*gid)) {
		*status = nm_cmd_fail(c, PRM_STATUS_BAD_PARAM, NM_SYND_ADDRESS,
				      "the GID begins with 0x%02x and is none of multicast "
				      "(0xff, or an IPv4 group)",
				      (*gid)[0]);
		return NULL;
	}
	return qp;
}

uint8_t nm_cmd_attach_to_mcg(struct nm_cmd *c)
{
	const uint8_t *gid;
	uint8_t status;
	struct nm_qp *qp = operands(c, &gid, &status);
	struct nm_mcast *m;

	if (!qp)
		return status;
	if (*find(c->nic, gid, qp))
		return PRM_STATUS_OK;
	if (c->nic->nmcasts >= MCG_QPS)
		return nm_cmd_fail(c, PRM_STATUS_NO_RES_ERR, NM_SYND_TABLE_FULL,
				   "all %d attachments to groups are in use", MCG_QPS);
	m = malloc(sizeof(*m));
	if (!m)
		return nm_cmd_no_memory(c);
	m->qp = qp;
	memcpy(m->gid, gid, sizeof(m->gid));
	m->next = c->nic->mcasts;
	c->nic->mcasts = m;
	c->nic->nmcasts++;
	return PRM_STATUS_OK;
}

uint8_t nm_cmd_detach_from_mcg(struct nm_cmd *c)
{
	const uint8_t *gid;
	uint8_t status;
	struct nm_qp *qp = operands(c, &gid, &status);
	struct nm_mcast **at;

	if (!qp)
		return status;
	at = find(c->nic, gid, qp);
	if (!*at)
		return nm_cmd_fail(c, PRM_STATUS_BAD_PARAM, NM_SYND_NO_OBJECT,
				   "QP 0x%x is not attached to this group", qp->obj.number);
	unlink_at(c->nic, at);
	return PRM_STATUS_OK;
}

void nm_mcast_forget_qp(struct nm_qp *qp)
{
	struct nm_mcast **at = &qp->obj.nic->mcasts;

	while (*at) {
		if ((*at)->qp == qp)
			unlink_at(qp->obj.nic, at);
		else
			at = &(*at)->next;
	}
}

bool nm_mcast_next(const struct nm_nic *nic, const uint8_t gid[16], struct nm_mcast **at,
		   struct nm_qp **qp)
{
	struct nm_mcast *m = *at ? (*at)->next : nic->mcasts;

	while (m && memcmp(m->gid, gid, sizeof(m->gid)) != 0)
		m = m->next;
	*at = m;
	*qp = m ? m->qp : NULL;
	return m != NULL;
}
