// SPDX-License-Identifier: BSD-3-Clause
/* What `gdakit run` was asked to observe: from the environment to the session of this process. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "emu/observe/session.h"
#include "emu/uverbs/face.h"

enum { RECORD_PAYLOAD = 128, EXIT_WAIT_S = 1 };

/* A program may exit in one thread while another opens the device. Held while the session begins,
 * gets a NIC or ends; taken after the face's lock and before the NICs'. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct session *session;
static _Atomic bool over; /* the program's exit handlers have run: nothing is observed any more */

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
		.check = getenv(UV_ENV_CHECK),
		.record_payload = record_payload(),
		.version = GDAKIT_VERSION,
		.host = getenv(UV_ENV_HOST),
		.sysfs = sysfs ? sysfs : "/sys",
		.say = say,
	};

	pthread_mutex_lock(&lock);
	if (!session && !atomic_load(&over))
		session = session_start(w, &config);
	if (session)
		session_add(session, n);
	pthread_mutex_unlock(&lock);
}

static void end_locked(void)
{
	if (session)
		session_end(session);
	session = NULL;
}

void uv_observe_end(void)
{
	pthread_mutex_lock(&lock);
	end_locked();
	pthread_mutex_unlock(&lock);
}

void uv_observe_abandon(void)
{
	struct session *s = session;

	pthread_mutex_init(&lock, NULL);
	atomic_store(&over, false);
	session = NULL;
	if (s)
		session_abandon(s);
}

/*
 * After the program's own exit handlers, most of which close the device. Whoever holds the lock may
 * be the thread that exits, from a signal handler: then the files stay as they are, which is
 * readable, too.
 */
__attribute__((destructor)) void uv_observe_exit(void)
{
	struct timespec until;

	atomic_store(&over, true);
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += EXIT_WAIT_S;
	if (pthread_mutex_timedlock(&lock, &until))
		return;
	end_locked();
	pthread_mutex_unlock(&lock);
}
