/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/daemon/reports/recordings.h"

#include "base/log.h"
#include "service/daemon/reports/reports.h"

#include <errno.h>
#include <string.h>

struct recording {
	struct service *service;
	struct recording_ask ask;
	char *name, *why;
};

static void recording_free(struct recording *recording)
{
	if (!recording)
		return;
	free(recording->name);
	free(recording->why);
	free(recording);
}
DEFINE_CLEANUP(struct recording, recording_free)

static int write_report(const struct recording *recording, const struct view *view)
{
	const struct http_peer *who = &recording->ask.who;
	uid_t uid = http_peer_is_root(who) ? 0 : who->uid;

	return reports_write(recording->service->config, recording->service->users, recording->name,
			     uid, recording->ask.format, view);
}

static void on_trace(const struct view *view, int error, void *userdata)
{
	_cleanup_(recording_free_p) struct recording *recording = userdata;
	const struct recording_ask *ask = &recording->ask;
	int pid = (int)ask->process.pid, r = error ? error : write_report(recording, view);

	if (error)
		log_error("process %d: no report: tracing failed: %s", pid, strerror(-error));
	else if (r < 0)
		log_error("process %d: no report in %s: %s", pid,
			  recording->service->config->state_directory, strerror(-r));
	else
		log_info("process %d (%s): report %s%s%s", pid, ask->process.comm, recording->name,
			 recording->why ? ", for " : "", recording->why ? recording->why : "");
	if (ask->over)
		ask->over(ask->userdata);
}

static int recording_new(struct service *service, const struct recording_ask *ask,
			 struct recording **ret_recording)
{
	_cleanup_(recording_free_p) struct recording *recording = calloc(1, sizeof(*recording));

	if (!recording)
		return -ENOMEM;
	recording->service = service;
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
		    char ret_name[RECORDING_NAME_LEN])
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
		.fn = on_trace,
	};
	struct trace_wait *wait;
	int r = recording_new(service, ask, &recording);

	if (r < 0)
		return r;
	asked.userdata = recording;
	r = traces_ask(service->traces, &asked, &wait);
	if (r < 0)
		return r;
	(void)snprintf(ret_name, RECORDING_NAME_LEN, "%s", recording->name); /* fits */
	recording = NULL;						     /* the wait's */
	return 0;
}
