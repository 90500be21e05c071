// SPDX-License-Identifier: BSD-3-Clause
#include "emu/observe/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "emu/check/checker.h"
#include "emu/observe/pcapng.h"
#include "emu/observe/recorder.h"
#include "emu/observe/stat.h"

enum {
	SESSION_NICS = 16,
	END_TIMEOUT_US = 1000000,
	COMMAND_MAX = 4096,
};

struct session_nic {
	struct nm_nic *nic;
	struct nm_observer *record, *pcap;
	struct checker *checker;
};

struct session {
	struct world *world;
	void (*say)(const char *sentence);
	bool recording, capturing; /* the file is open */
	bool checking;
	struct stat_server *stat;
	struct recorder recorder;
	struct pcapng pcap;
	struct findings findings;
	unsigned int nnics;
	struct session_nic nic[SESSION_NICS];
};

static void complain(struct session *s, const char *what, struct mapfile *f)
{
	char sentence[MAPFILE_WHY_MAX + 64];

	if (!f->why[0])
		return;
	snprintf(sentence, sizeof(sentence), "%s %s", what, f->why);
	s->say(sentence);
}

static void start_recording(struct session *s, const struct session_config *config)
{
	char command[COMMAND_MAX];

	if (recorder_open(&s->recorder, config->record, config->record_payload)) {
		complain(s, "--record:", &s->recorder.file);
		mapfile_close(&s->recorder.file);
		return;
	}
	s->recording = true;
	recorder_text(&s->recorder, "gdakit", config->version);
	stat_command_line(command, sizeof(command));
	recorder_text(&s->recorder, "command", command);
	if (config->host)
		recorder_text(&s->recorder, "host", config->host);
	recorder_libraries(&s->recorder);
}

static void start_capture(struct session *s, const struct session_config *config)
{
	char application[64];

	snprintf(application, sizeof(application), "gdakit %s", config->version);
	if (pcapng_open(&s->pcap, config->pcap, application)) {
		complain(s, "--pcap:", &s->pcap.file);
		mapfile_close(&s->pcap.file);
		return;
	}
	s->capturing = true;
}

struct session *session_start(struct world *w, const struct session_config *config)
{
	struct session *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->world = w;
	s->say = config->say;
	if (config->record && *config->record)
		start_recording(s, config);
	if (config->pcap && *config->pcap)
		start_capture(s, config);
	if (config->check && *config->check) {
		findings_open(&s->findings, config->check, STDERR_FILENO);
		s->checking = true;
	}
	s->stat = stat_start(w, config->host, config->sysfs);
	return s;
}

struct attach {
	struct session *s;
	struct world_nic *n;
	uint8_t gid[16];
};

/* Under the lock. */
static void attach(void *arg)
{
	const struct attach *a = arg;
	struct session *s = a->s;
	struct session_nic *sn = &s->nic[s->nnics];
	const struct nm_config *config;
	char description[96];

	if (s->nnics == SESSION_NICS)
		return;
	*sn = (struct session_nic){.nic = world_nic_model(a->n)};
	config = nm_nic_config(sn->nic);
	if (s->recording)
		sn->record = recorder_add(&s->recorder, config, a->gid);
	snprintf(description, sizeof(description), "%s of process %d, GID ::ffff:%u.%u.%u.%u",
		 config->name, (int)getpid(), a->gid[12], a->gid[13], a->gid[14], a->gid[15]);
	if (s->capturing)
		sn->pcap = pcapng_add(&s->pcap, config->name, description);
	if (sn->record)
		nm_nic_add_observer(sn->nic, sn->record);
	if (sn->pcap)
		nm_nic_add_observer(sn->nic, sn->pcap);
	if (s->checking)
		sn->checker = checker_new(&s->findings, config->name);
	if (sn->checker)
		nm_nic_add_observer(sn->nic, checker_observer(sn->checker));
	s->nnics++;
}

void session_add(struct session *s, struct world_nic *n)
{
	struct attach a = {.s = s, .n = n};

	world_nic_gid(n, a.gid);
	world_locked(s->world, attach, &a);
	if (s->stat)
		stat_add(s->stat, n);
}

static void detach(void *arg)
{
	struct session *s = arg;

	for (unsigned int i = 0; i < s->nnics; i++) {
		if (s->nic[i].record)
			nm_nic_remove_observer(s->nic[i].nic, s->nic[i].record);
		if (s->nic[i].pcap)
			nm_nic_remove_observer(s->nic[i].nic, s->nic[i].pcap);
		if (s->nic[i].checker) {
			nm_nic_remove_observer(s->nic[i].nic, checker_observer(s->nic[i].checker));
			checker_end(s->nic[i].checker, s->nic[i].nic);
		}
	}
	s->nnics = 0;
}

void session_end(struct session *s)
{
	if (s->stat)
		stat_end(s->stat);
	/* A thread that exits within the NIC keeps the lock for ever: then the files stay as they
	 * are, which is readable, too. */
	if (!world_peek(s->world, detach, s, END_TIMEOUT_US))
		return;
	if (s->recording) {
		recorder_libraries(&s->recorder);
		recorder_close(&s->recorder);
		complain(s, "--record:", &s->recorder.file);
	}
	if (s->capturing) {
		pcapng_close(&s->pcap);
		complain(s, "--pcap:", &s->pcap.file);
	}
	if (s->checking)
		findings_close(&s->findings);
	free(s);
}

void session_abandon(struct session *s)
{
	if (s->stat)
		stat_abandon(s->stat);
	if (s->recording)
		mapfile_abandon(&s->recorder.file);
	if (s->capturing)
		mapfile_abandon(&s->pcap.file);
	for (unsigned int i = 0; i < s->nnics; i++)
		if (s->nic[i].checker)
			checker_abandon(s->nic[i].checker);
	if (s->checking)
		findings_close(&s->findings);
	free(s);
}
