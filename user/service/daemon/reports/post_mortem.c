/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/daemon/reports/post_mortem.h"

#include "base/clock.h"
#include "base/escape.h"
#include "base/log.h"
#include "config/units.h"
#include "report/text/death_words.h"
#include "report/text/text.h"
#include "report/view/view_stack.h"
#include "service/daemon/growth/growth_words.h"
#include "service/daemon/reports/reports.h"
#include "service/session/session.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/uio.h>
/* Where the code is that sends an entry is no news to its readers. */
#define SD_JOURNAL_SUPPRESS_LOCATION
#include <systemd/sd-journal.h>
#include <time.h>
#include <unistd.h>

/* Of an entry of systemd's journal. */
struct journal_field {
	const char *name;  /* capital letters and '_' */
	const char *value; /* NULL: the field is left out */
};

#define JOURNAL_MOST_FIELDS 16

/* sd_journal_sendv() is silent where nothing listens there. */
#define JOURNAL_SOCKET "/run/systemd/journal/socket"

#define OWN_FIELDS 3

static int send_fields(const struct journal_field *fields, size_t n)
{
	struct strbuf texts[JOURNAL_MOST_FIELDS + OWN_FIELDS] = { 0 };
	struct iovec parts[JOURNAL_MOST_FIELDS + OWN_FIELDS];
	int used = 0, r = 0;

	assert(n <= JOURNAL_MOST_FIELDS + OWN_FIELDS);
	for (size_t i = 0; i < n; i++) {
		struct strbuf *text = &texts[used];

		if (!fields[i].value)
			continue;
		strbuf_addf(text, "%s=", fields[i].name);
		escape_text(text, fields[i].value);
		r = r ? r : strbuf_error(text);
		parts[used++] = (struct iovec){ (void *)strbuf_str(text), text->len };
	}
	if (r == 0)
		r = sd_journal_sendv(parts, used);
	for (int i = 0; i < used; i++)
		strbuf_done(&texts[i]);
	return r;
}

static bool journal_warn(const char *message, const struct journal_field *fields, size_t n)
{
	struct journal_field all[JOURNAL_MOST_FIELDS + OWN_FIELDS] = {
		{ "MESSAGE", message },
		{ "PRIORITY", "4" }, /* syslog(3): LOG_WARNING */
		{ "SYSLOG_IDENTIFIER", "memtraced" },
	};

	assert(n <= JOURNAL_MOST_FIELDS);
	for (size_t i = 0; i < n; i++)
		all[OWN_FIELDS + i] = fields[i];
	return access(JOURNAL_SOCKET, F_OK) == 0 && send_fields(all, OWN_FIELDS + n) == 0;
}

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

void post_mortem_words(const struct view_process *process, const char *growth, const char *report,
		       int error, struct strbuf *out)
{
	const struct model_process *image = process->image;
	_cleanup_strbuf_ struct strbuf killer = { 0 }, site = { 0 };
	char size[FORMAT_UNIT_LEN];

	strbuf_addf(out, "process %" PRIu32 " (", image->pid);
	escape_text(out, image->comm);
	strbuf_addf(out, ") was ended by signal %d", image->end_value);
	death_words_killer(&killer, image);
	if (killer.len)
		strbuf_addf(out, ", %s", strbuf_str(&killer));
	if (image->has_totals)
		strbuf_addf(out, "; it held %s%s of heap", process->exact ? "" : "about ",
			    format_size(process->totals.live_bytes, size));
	if (!growth && growth_words_site(process, VIEW_HEAP, &site))
		strbuf_addf(out, ", most from %s", strbuf_str(&site));
	if (growth)
		strbuf_addf(out, "; %s", growth);
	if (report)
		strbuf_addf(out, "; memtraced ctl reports %s", report);
	else
		strbuf_addf(out, "; no report: %s", strerror(-error));
}

/* What is told beside a report; all of it may be NULL. */
struct telling {
	const char *growth, *place; /* of who was not traced */
	const char *report;
	int error;
};

static void log_death(const struct view_process *process, const struct telling *telling)
{
	const struct model_process *image = process->image;
	const struct record_death *death = image->has_death ? &image->death : NULL;
	_cleanup_strbuf_ struct strbuf words = { 0 }, site = { 0 };
	bool has_site = !telling->growth && growth_words_site(process, VIEW_HEAP, &site);
	char pid[16], signal[16], live[32], mapped[32], sender[16];
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
		{ "MEMTRACED_MAPPED_BYTES", process->has_mmap ? mapped : NULL },
		{ "MEMTRACED_SITE", has_site ? strbuf_str(&site) : telling->place },
		{ "MEMTRACED_REPORT", telling->report },
	};

	(void)snprintf(pid, sizeof(pid), "%" PRIu32, image->pid); /* fits, as these do: */
	(void)snprintf(signal, sizeof(signal), "%d", image->end_value);
	(void)snprintf(live, sizeof(live), "%" PRId64, process->totals.live_bytes);
	(void)snprintf(mapped, sizeof(mapped), "%" PRId64, process->mmap.live_bytes);
	(void)snprintf(sender, sizeof(sender), "%" PRIu32, death ? death->sender : 0);
	post_mortem_words(process, telling->growth, telling->report, telling->error, &words);
	if (!journal_warn(strbuf_str(&words), fields, sizeof(fields) / sizeof(fields[0])))
		log_warning("%s", strbuf_str(&words));
}

/* --- on two threads -------------------------------------------------------------------------- */

/*
 * A post-mortem in the making. The report is written and told of on the session's thread, which has
 * the view; what the service knows is asked for and changed on the owner's.
 */
struct post_mortem {
	struct session_job job;
	struct service *service;	     /* the owner's */
	const struct service_config *config; /* a reference */
	struct killed killed;
	bool of_growth;
	uint64_t number; /* of the report, in its name */

	/* The session's thread's, for the owner's. */
	bool is_shown, is_own, is_written, is_failed;
	const struct view_process *process;

	/* The owner's, for the session's. */
	bool is_wanted;
	struct strbuf resident;
};

/* *ret_name: the report's, malloc'ed; NULL: there is none. 0 or negative errno. */
static int write_report(struct post_mortem *pm, const struct view *view, char **ret_name)
{
	const struct model_process *image = pm->process->image;
	const char *format = pm->config->post_mortem_format;
	_cleanup_free_ char *name = report_name(REPORT_DEATH, time(NULL), pm->number,
						(pid_t)image->pid, image->comm, format);
	int r = -ENOMEM;

	*ret_name = NULL;
	if (name)
		r = reports_write(pm->config, pm->service->users, name,
				  post_mortem_owner(image, pm->killed.asked),
				  report_format_find(format), view);
	pm->is_written = r == 0;
	pm->is_failed = r < 0;
	if (r == 0)
		*ret_name = TAKE_PTR(name);
	return r;
}

/* Of a process that has shown no samples growth depth knows more. */
static bool knows_nothing(const struct view *view, const struct view_process *process)
{
	return view_image_is_sampled(view_model(view), process->image) &&
	       process->totals.sample_interval == 0;
}

/* Is it a process of memtraced's own, of this run or another? */
static bool is_own(struct post_mortem *pm, const struct view *view)
{
	const struct model_process *image = pm->process->image;
	const struct mapping *exe = model_exe_mapping(view_model(view), image->id);

	pm->is_own = own_process_is(&pm->service->program, image, exe ? exe->object : NULL);
	return pm->is_own;
}

/* Owner's thread, by session_runner_call(). */
static void note_told(void *arg)
{
	const struct post_mortem *pm = arg;
	struct service *service = pm->service;

	service->told[service->n_told++ % SERVICE_TOLD] =
		(struct service_told){ pm->process->image->pid, pm->process->image->end_ns };
}

static void report_of_trace(struct post_mortem *pm, const struct view *view)
{
	_cleanup_free_ char *name = NULL;
	struct telling telling = { 0 };

	if (knows_nothing(view, pm->process) || is_own(pm, view))
		return;
	session_runner_call(pm->killed.runner, note_told, pm);
	telling.error = write_report(pm, view, &name);
	telling.report = name;
	log_death(pm->process, &telling);
}

/* --- of a process that was not traced -------------------------------------------------------- */

/* Two sessions see one end at slightly different times. */
#define SAME_END_NS UINT64_C(1000000000)

static bool is_told(const struct service *service, const struct model_process *image)
{
	for (size_t i = 0; i < SERVICE_TOLD; i++) {
		const struct service_told *told = &service->told[i];
		uint64_t apart_ns = told->end_ns > image->end_ns ? told->end_ns - image->end_ns :
								   image->end_ns - told->end_ns;

		if (told->pid == image->pid && apart_ns < SAME_END_NS)
			return true;
	}
	return false;
}

/* "; its resident memory was 12.0 MiB 3.0 h ago and 80.0 MiB at last" */
static void add_resident(const struct service *service, const struct model_process *image,
			 struct strbuf *out)
{
	const struct watched_process *process =
		watched_process_until(watch_data(service->watch), (pid_t)image->pid, image->end_ns);
	char first_size[FORMAT_UNIT_LEN], last_size[FORMAT_UNIT_LEN], ago[FORMAT_UNIT_LEN];
	struct watch_point first, last;

	if (!process || process->rss.n < 2)
		return;
	first = watch_series_at(&process->rss, 0);
	last = watch_series_at(&process->rss, process->rss.n - 1);
	strbuf_addf(out,
		    "; its resident memory was %s, and %s when it was last looked at, %s later",
		    format_size((int64_t)first.bytes, first_size),
		    format_size((int64_t)last.bytes, last_size),
		    format_duration(last.time_ns - first.time_ns, ago));
}

/* Owner's thread, by session_runner_call(). */
static void decide(void *arg)
{
	struct post_mortem *pm = arg;
	struct service *service = pm->service;
	const struct model_process *image = pm->process->image;

	if (is_told(service, image))
		return;
	pm->is_wanted = post_mortem_may(image->oom ? &service->oom_limit : &service->kill_limit,
					clock_monotonic_ns());
	if (pm->is_wanted)
		add_resident(service, image, &pm->resident);
	else
		service->post_mortems_limited++;
}

/* "; 80.0 MiB of address space was mapped ... (12 regions), most from fill (grow.c:12)" */
static void add_mapped(const struct view_process *process, struct strbuf *out)
{
	_cleanup_strbuf_ struct strbuf words = { 0 }, place = { 0 };

	if (!growth_words_mapped(process, &words))
		return;
	strbuf_addf(out, "; %s", strbuf_str(&words));
	if (growth_words_site(process, VIEW_MMAP, &place))
		strbuf_addf(out, ", most from %s", strbuf_str(&place));
}

static uint64_t seen_ns(const struct view *view)
{
	size_t n = view_n_processes(view);
	const struct model_process *last = view_process(view, 0)->image,
				   *first = view_process(view, n - 1)->image;

	return last->end_ns > first->start_ns ? last->end_ns - first->start_ns : 0;
}

static void report_of_growth(struct post_mortem *pm, const struct view *view)
{
	const struct view_event *faults = view_n_events(view) ? view_event(view, 0) : NULL;
	uint64_t page_size = (uint64_t)sysconf(_SC_PAGESIZE);
	_cleanup_strbuf_ struct strbuf words = { 0 }, place = { 0 };
	_cleanup_free_ char *name = NULL;
	struct telling telling = { 0 };

	if (!faults || is_own(pm, view))
		return;
	session_runner_call(pm->killed.runner, decide, pm);
	if (!pm->is_wanted)
		return;
	growth_words(faults, seen_ns(view), page_size, &words);
	if (growth_words_place(faults, page_size, &place))
		strbuf_addf(&words, ", most from %s", strbuf_str(&place));
	add_mapped(pm->process, &words);
	strbuf_adds(&words, strbuf_str(&pm->resident));
	telling.growth = strbuf_str(&words);
	telling.place = place.len ? strbuf_str(&place) : NULL;
	telling.error = write_report(pm, view, &name);
	telling.report = name;
	log_death(pm->process, &telling);
}

/* --- the job --------------------------------------------------------------------------------- */

static int show_killed(const struct view *view, void *userdata)
{
	struct post_mortem *pm = userdata;

	pm->is_shown = true;
	if (view_n_processes(view) == 0 || !pm->config->post_mortems)
		return 0;
	pm->process = view_process(view, 0);
	if (pm->of_growth)
		report_of_growth(pm, view);
	else
		report_of_trace(pm, view);
	return 0;
}

static int run_post_mortem(struct session *session, struct session_job *job)
{
	struct post_mortem *pm = (struct post_mortem *)job;
	int r = session_show(session, &pm->killed.opts, show_killed, pm);

	return pm->is_shown ? 1 : r;
}

static void on_done(struct session_job *job, int result)
{
	struct post_mortem *pm = (struct post_mortem *)job;

	pm->service->post_mortems += pm->is_written;
	pm->service->post_mortems_failed += pm->is_failed;
	pm->service->post_mortems_own += pm->is_own;
	pm->killed.told(result, pm->killed.userdata);
	strbuf_done(&pm->resident);
	service_config_unref(pm->config);
	free(pm);
}

static struct session_job *post_mortem_new(struct service *service, const struct killed *killed,
					   bool of_growth)
{
	struct post_mortem *pm = calloc(1, sizeof(*pm));

	if (!pm)
		return NULL;
	pm->job = (struct session_job){ .run = run_post_mortem, .done = on_done };
	pm->service = service;
	pm->config = service_config_ref(service->config);
	pm->killed = *killed;
	pm->of_growth = of_growth;
	pm->number = ++service->n_recordings;
	return &pm->job;
}

struct session_job *post_mortem_of_trace(const struct killed *killed, void *userdata)
{
	return post_mortem_new(userdata, killed, false);
}

struct session_job *post_mortem_of_growth(const struct killed *killed, void *userdata)
{
	return post_mortem_new(userdata, killed, true);
}
