/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/daemon/reports/post_mortem.h"

#include "base/log.h"
#include "config/units.h"
#include "report/text/death_words.h"
#include "report/text/text.h"
#include "service/daemon/reports/journal.h"
#include "service/daemon/reports/reports.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <time.h>

bool post_mortem_is_due(const struct record_process_end *end)
{
	static const int signals[] = { SIGKILL, SIGABRT, SIGSEGV, SIGBUS,  SIGILL,
				       SIGFPE,	SIGTRAP, SIGSYS,  SIGXCPU, SIGXFSZ };

	if (end->how != RECORD_END_SIGNAL)
		return false;
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		if (end->value == signals[i])
			return true;
	return false;
}

uid_t post_mortem_owner(const struct model_process *image, uid_t asked)
{
	const struct record_death *death = &image->death;

	return image->has_death && death->uid == asked && death->euid == asked ? asked : 0;
}

/* Of the site that holds most: the innermost of its frames behind the allocator's. */
static bool add_site(const struct view_process *process, struct strbuf *out)
{
	const struct view_site *most = NULL;
	struct view_frames frames = { 0 };
	struct view_frame frame;
	char size[FORMAT_UNIT_LEN];

	for (size_t i = 0; i < process->n_sites; i++)
		if (!most || process->sites[i].live_bytes > most->live_bytes)
			most = &process->sites[i];
	if (!most || most->live_bytes <= 0)
		return false;
	frames.stack = &most->stack;
	while (view_frames_next(&frames, &frame)) {
		_cleanup_strbuf_ struct strbuf name = { 0 };

		if (frame.place->alloc)
			continue;
		view_frame_name(&frame, &name);
		text_clean(out, strbuf_str(&name));
		if (frame.file) {
			strbuf_adds(out, " (");
			text_clean(out, text_base_name(frame.file));
			strbuf_addf(out, ":%" PRIu32 ")", frame.line);
		}
		strbuf_addf(out, ", %s", format_size(most->live_bytes, size));
		return true;
	}
	return false;
}

void post_mortem_words(const struct view_process *process, const char *report, int error,
		       struct strbuf *out)
{
	const struct model_process *image = process->image;
	_cleanup_strbuf_ struct strbuf killer = { 0 }, site = { 0 };
	char size[FORMAT_UNIT_LEN];

	strbuf_addf(out, "process %" PRIu32 " (", image->pid);
	text_clean(out, image->comm);
	strbuf_addf(out, ") was ended by signal %d", image->end_value);
	death_words_killer(&killer, image);
	if (killer.len)
		strbuf_addf(out, ", %s", strbuf_str(&killer));
	if (image->has_totals)
		strbuf_addf(out, "; it held %s%s of heap", process->exact ? "" : "about ",
			    format_size(process->totals.live_bytes, size));
	if (add_site(process, &site))
		strbuf_addf(out, ", most from %s", strbuf_str(&site));
	if (report)
		strbuf_addf(out, "; memtraced ctl reports %s", report);
	else
		strbuf_addf(out, "; no report: %s", strerror(-error));
}

static void tell(const struct view_process *process, const char *report, int error)
{
	const struct model_process *image = process->image;
	const struct record_death *death = image->has_death ? &image->death : NULL;
	_cleanup_strbuf_ struct strbuf words = { 0 }, site = { 0 };
	char pid[16], signal[16], live[32], sender[16];
	const struct journal_field fields[] = {
		{ "MEMTRACED_PID", pid },
		{ "MEMTRACED_COMM", image->comm },
		{ "MEMTRACED_EXE", image->exe },
		{ "MEMTRACED_SIGNAL", signal },
		{ "MEMTRACED_OOM", image->oom_unknown ? NULL :
				   image->oom	      ? "1" :
							"0" },
		{ "MEMTRACED_OOM_CGROUP", death ? death->oom_cgroup : NULL },
		{ "MEMTRACED_CGROUP", death ? death->cgroup : NULL },
		{ "MEMTRACED_SENDER_PID",
		  death && death->killer == RECORD_KILLER_PROCESS ? sender : NULL },
		{ "MEMTRACED_LIVE_BYTES", image->has_totals ? live : NULL },
		{ "MEMTRACED_SITE", add_site(process, &site) ? strbuf_str(&site) : NULL },
		{ "MEMTRACED_REPORT", report },
	};

	(void)snprintf(pid, sizeof(pid), "%" PRIu32, image->pid); /* fits, as these do: */
	(void)snprintf(signal, sizeof(signal), "%d", image->end_value);
	(void)snprintf(live, sizeof(live), "%" PRId64, process->totals.live_bytes);
	(void)snprintf(sender, sizeof(sender), "%" PRIu32, death ? death->sender : 0);
	post_mortem_words(process, report, error, &words);
	if (!journal_warn(strbuf_str(&words), fields, sizeof(fields) / sizeof(fields[0])))
		log_warning("%s", strbuf_str(&words));
}

void post_mortem_write(const struct view *view, uid_t asked, void *userdata)
{
	struct service *service = userdata;
	const struct service_config *config = service->config;
	const struct view_process *process = view_n_processes(view) ? view_process(view, 0) : NULL;
	const char *format = config->post_mortem_format;
	_cleanup_free_ char *name = NULL;
	int r;

	if (!process || !config->post_mortems)
		return;
	name = report_name(REPORT_DEATH, time(NULL), ++service->n_recordings,
			   (pid_t)process->image->pid, process->image->comm, format);
	r = name ? reports_write(config, name, post_mortem_owner(process->image, asked),
				 report_format_find(format), view) :
		   -ENOMEM;
	if (r < 0)
		service->post_mortems_failed++;
	else
		service->post_mortems++;
	tell(process, r < 0 ? NULL : name, r);
}
