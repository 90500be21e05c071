// SPDX-License-Identifier: BSD-3-Clause
/* What `gdakit run` was asked to observe: from the environment to the session of this process. */
#include <stdlib.h>
#include <unistd.h>

#include "emu/observe/session.h"
#include "emu/uverbs/face.h"

enum { RECORD_PAYLOAD = 128 };

static struct session *session;

static void say(const char *sentence)
{
	uv_say_always("%s", sentence);
}

static uint32_t record_payload(void)
{
	const char *text = getenv(UV_ENV_PAYLOAD);
	unsigned long n = text ? strtoul(text, NULL, 10) : RECORD_PAYLOAD;

	return n < NM_MTU_MAX ? (uint32_t)n : NM_MTU_MAX;
}

void uv_observe(struct world *w, struct world_nic *n)
{
	const char *sysfs = getenv("SYSFS_PATH");
	const struct session_config config = {
		.record = getenv(UV_ENV_RECORD),
		.pcap = getenv(UV_ENV_PCAP),
		.record_payload = record_payload(),
		.version = GDAKIT_VERSION,
		.host = getenv(UV_ENV_HOST),
		.sysfs = sysfs ? sysfs : "/sys",
		.say = say,
	};

	if (!session)
		session = session_start(w, &config);
	if (session)
		session_add(session, n);
}

void uv_observe_end(void)
{
	struct session *s = session;

	session = NULL;
	if (s)
		session_end(s);
}

void uv_observe_abandon(void)
{
	struct session *s = session;

	session = NULL;
	if (s)
		session_abandon(s);
}

/* After the program's own exit handlers, most of which close the device. */
__attribute__((destructor)) static void at_exit(void)
{
	uv_observe_end();
}
