/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/daemon/reports/recordings.h"

#include "base/log.h"
#include "service/daemon/reports/reports.h"

#include <errno.h>
#include <string.h>

struct recording {
	const struct service_config *config; /* a reference */
	struct login_users *users;
	struct recording_ask ask;
	char *name, *why;
};

static void recording_free(struct recording *recording)
{
	if (!recording)
		return;
	free(recording->name);
	free(recording->why);
	service_config_unref(recording->config);
	free(recording);
}
DEFINE_CLEANUP(struct recording, recording_free)

/* Session's thread. */
static int write_report(const struct view *view, void *userdata)
{
	const struct recording *recording = userdata;
	const struct http_peer *who = &recording->ask.who;
	uid_t uid = http_peer_is_root(who) ? 0 : who->uid;

	return reports_write(recording->config, recording->users, recording->name, uid,
			     recording->ask.format, view);
}

static void answer_begun(struct recording *recording, int error)
{
	if (recording->ask.begun)
		recording->ask.begun(error, recording->ask.userdata);
	recording->ask.begun = NULL;
}

static void on_begun(void *userdata)
{
	answer_begun(userdata, 0);
}

static void on_done(enum trace_outcome outcome, int error, void *userdata)
{
	struct recording *recording = userdata;
	const struct recording_ask *ask = &recording->ask;
	int pid = (int)ask->process.pid;

	if (outcome == TRACE_NOT_BEGUN)
		answer_begun(recording, error);
	else if (outcome == TRACE_SHOWN)
		log_info("process %d (%s): report %s%s%s", pid, ask->process.comm, recording->name,
			 recording->why ? ", for " : "", recording->why ? recording->why : "");
	else
		log_error("process %d: no report in %s: %s", pid,
			  recording->config->state_directory, strerror(-error));
	if (ask->over)
		ask->over(ask->userdata);
}

static void free_recording(void *userdata)
{
	recording_free(userdata);
}

void recording_forget(struct recording *recording)
{
	if (recording)
		recording->ask.begun = NULL;
}

static int recording_new(struct service *service, const struct recording_ask *ask,
			 struct recording **ret_recording)
{
	_cleanup_(recording_free_p) struct recording *recording = calloc(1, sizeof(*recording));

	if (!recording)
		return -ENOMEM;
	recording->config = service_config_ref(service->config);
	recording->users = service->users;
	recording->ask = *ask;
	recording->ask.why = NULL; /* below is a copy */
	recording->name = report_name(REPORT_TRACE, time(NULL), ++service->n_recordings,
				      ask->process.pid, ask->process.comm, ask->format->name);
	recording->why = ask->why ? strdup(ask->why) : NULL;
	if (!recording->name || (ask->why && !recording->why))
		return -ENOMEM;
	*ret_recording = TAKE_PTR(recording);
	return 0;
}

int recording_begin(struct service *service, const struct recording_ask *ask,
		    char ret_name[SERVICE_NAME_LEN], struct recording **ret_recording)
{
	_cleanup_(recording_free_p) struct recording *recording = NULL;
	struct trace_ask asked = {
		.kind = TRACE_HEAP,
		.depth = ask->depth,
		.pid = ask->process.pid,
		.uid = ask->who.uid,
		.gid = ask->who.gid,
		.is_rules = ask->why != NULL,
		.for_ns = ask->for_ns,
		.begun = on_begun,
		.show = write_report,
		.done = on_done,
		.free = free_recording,
	};
	struct trace_wait *wait;
	int r = recording_new(service, ask, &recording);

	if (r < 0)
		return r;
	asked.userdata = recording;
	r = traces_ask(service->traces, &asked, &wait);
	if (r < 0)
		return r;
	(void)snprintf(ret_name, SERVICE_NAME_LEN, "%s", recording->name); /* fits */
	*ret_recording = TAKE_PTR(recording);				   /* the wait's */
	return 0;
}
