/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/leak/leak_check.h"

#include "base/log.h"
#include "base/vec.h"
#include "config/words.h"
#include "probe/allocators.h"
#include "report/leak/leak_result.h"
#include "report/leak/leak_text.h"
#include "report/leak/leak_xtree.h"
#include "service/leak/heap_error_log.h"
#include "service/leak/leak_log.h"
#include "service/leak/leak_pending.h"
#include "service/leak/leak_xml_log.h"
#include "target/hold/hold.h"
#include "target/hold/stop.h"
#include "trace/live/live.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

/* How long a thread is waited for that is inside the kernel and does not come to its stop. */
#define STOP_LIMIT_NS 100000000

/* What is kept for a report: so many blocks, and results, at most. */
#define MOST_BLOCKS (1U << 20)
#define MOST_RESULTS 64

struct leak_check {
	const struct options *options;
	const struct leak_options *leak;
	const struct model *model;
	struct symbols *symbols;
	struct worker *worker;
	struct suppressions *suppressions;
	size_t n_own_suppressions;    /* the user's; behind them the default ones */
	struct leak_log *log, *xtree; /* NULL: no trees are wanted */
	struct leak_xml_log *xml;     /* NULL: errors are text */
	struct heap_error_log *heap_errors;
	record_fn record;
	void *record_userdata;
	leak_pending_list pending;
	VEC(struct leak_result *) results; /* of an image: the latest, and what is not written */
	pid_t command_pid;		   /* 0: there is no command */
	VEC(image_t) begun;		   /* images of which Valgrind's first lines are written */
	bool has_errors, has_missed;
};

/* --- making ---------------------------------------------------------------------------------- */

static int read_suppressions(struct leak_check *check)
{
	_cleanup_strbuf_ struct strbuf error = { 0 };
	int r = suppressions_new(&check->suppressions);

	/* The user's own come first: what they name is theirs in the counts. */
	for (char **file = check->leak->suppressions; r == 0 && file && *file; file++) {
		r = suppressions_add_file(check->suppressions, *file, &error);
		if (r == 0 && error.len)
			log_warning("--suppressions: %s", strbuf_str(&error));
		if (r == 0)
			strbuf_reset(&error);
	}
	check->n_own_suppressions = r == 0 ? suppressions_n(check->suppressions) : 0;
	if (r == 0 && check->leak->default_suppressions == LEAK_DEFAULT_SUPPRESSIONS)
		r = suppressions_add_default(check->suppressions, !check->leak->keep_libc,
					     !check->leak->keep_libstdcxx);
	if (r == -ENOMEM)
		log_error("out of memory");
	else if (r < 0)
		log_error("--suppressions: %s", strbuf_str(&error));
	return r;
}

int leak_check_new(const struct options *options, const struct model *model,
		   struct symbols *symbols, struct worker *worker, record_fn record, void *userdata,
		   struct leak_check **ret_check)
{
	_cleanup_(leak_check_free_p) struct leak_check *check = calloc(1, sizeof(*check));
	int r;

	if (!check)
		return -ENOMEM;
	check->options = options;
	check->leak = &options->leak;
	check->model = model;
	check->symbols = symbols;
	check->worker = worker;
	check->record = record;
	check->record_userdata = userdata;
	r = read_suppressions(check);
	if (r == 0)
		r = leak_log_new(&check->leak->log, "--log", 1, &check->log);
	if (r == 0 && check->leak->time_stamps)
		leak_log_stamp_lines(check->log);
	if (r == 0 && check->leak->xtree)
		r = leak_log_new(&check->leak->xtree_to, "--xtree-leak", 1, &check->xtree);
	if (r == 0 && check->leak->xml.on)
		r = leak_xml_log_new(options, check->suppressions, &check->xml);
	if (r == 0)
		r = heap_error_log_new(&(struct view_resolver){ model, symbols },
				       check->suppressions, check->leak, check->xml,
				       &check->heap_errors);
	if (r < 0)
		return r;
	*ret_check = TAKE_PTR(check);
	return 0;
}

void leak_check_free(struct leak_check *check)
{
	if (!check)
		return;
	leak_pending_done(&check->pending);
	vec_foreach(&check->results, result)
		leak_result_free(*result);
	vec_done(&check->results);
	heap_error_log_free(check->heap_errors);
	suppressions_free(check->suppressions);
	leak_log_free(check->log);
	leak_xml_log_free(check->xml);
	vec_done(&check->begun);
	leak_log_free(check->xtree);
	free(check);
}

void leak_check_stop(struct leak_check *check)
{
	leak_log_stop(check->log);
	if (check->xml)
		leak_xml_log_stop(check->xml);
	if (check->xtree)
		leak_log_stop(check->xtree);
}

/* --- text ------------------------------------------------------------------------------------- */

static int add_text(struct leak_check *check, pid_t pid, const struct strbuf *text)
{
	const struct record record = {
		.type = RECORD_LEAK_TEXT,
		.leak_text = { .pid = (uint32_t)pid, .text = strbuf_str(text) },
	};
	int r = leak_log_add(check->log, pid, strbuf_str(text));

	return r < 0 ? r : check->record(&record, check->record_userdata);
}

static int flush(struct leak_check *check)
{
	int r = leak_log_flush(check->log),
	    of_xml = check->xml ? leak_xml_log_flush(check->xml) : 0,
	    of_tree = check->xtree ? leak_log_flush(check->xtree) : 0;

	return r < 0 ? r : of_xml < 0 ? of_xml : of_tree;
}

/* --- what comes first ------------------------------------------------------------------------- */

static int begin_text(struct leak_check *check, pid_t pid, pid_t ppid, char *const *command)
{
	struct leak_text_head head = {
		.title = "Memcheck, by memtraced: lost blocks and wrong uses of the heap",
		.pid = pid,
		.ppid = leak_log_has_files(check->log) ? ppid : 0,
		.command = command,
	};
	_cleanup_strbuf_ struct strbuf text = { 0 };

	if (check->leak->shape == LEAK_SHAPE_VALGRIND && !check->xml)
		leak_text_begin(&text, &head);
	return strbuf_error(&text) < 0 ? strbuf_error(&text) : add_text(check, pid, &text);
}

int leak_check_begin(struct leak_check *check, pid_t pid)
{
	char *const *command = check->options->command;
	int r = check->xml ? leak_xml_log_begin(check->xml, pid, command) : 0;

	check->command_pid = pid;
	/* Of Valgrind's there is a file even if nothing is to be told. */
	if (r == 0 && check->leak->shape != LEAK_SHAPE_OWN)
		r = begin_text(check, pid, getpid(), command);
	if (r < 0) {
		log_error("leak check: %s", strerror(-r));
		return r;
	}
	return flush(check);
}

int leak_check_thread(struct leak_check *check, pid_t pid, pid_t tid, uint32_t number)
{
	return heap_error_log_thread(check->heap_errors, pid, tid, number);
}

static bool is_begun(const struct leak_check *check, const struct model_process *image)
{
	vec_foreach(&check->begun, id)
		if (image_is(*id, image->id))
			return true;
	return image->inherits ||
	       ((pid_t)image->pid == check->command_pid && image_is_none(image->prev_id));
}

/* Of what a process has executed, as Valgrind begins anew there. */
static int begin_image(struct leak_check *check, const struct model_process *image)
{
	char **words = NULL, *name[] = { (char *)image->comm, NULL };
	int r;

	if (check->leak->shape != LEAK_SHAPE_VALGRIND || check->xml || is_begun(check, image))
		return 0;
	r = vec_push(&check->begun, image->id);
	if (r == 0 && image->command && words_split(image->command, &words) == -ENOMEM)
		r = -ENOMEM;
	if (r == 0)
		r = begin_text(check, (pid_t)image->pid, (pid_t)image->ppid, words ? words : name);
	words_free(words);
	return r;
}

/* --- stopping and scanning ------------------------------------------------------------------- */

static void log_not_checked(pid_t pid, int r)
{
	if (r == -EBUSY)
		log_warning("process %d is under a debugger, which alone can stop it: no leak "
			    "check",
			    (int)pid);
	else if (r == -ETIME)
		log_warning("process %d: no leak check: --max-stop expired before it was known "
			    "what it holds",
			    (int)pid);
	else if (r == -EFBIG)
		log_warning("process %d: no leak check: it holds more blocks than there is memory "
			    "for here",
			    (int)pid);
	else if (r != -ESRCH)
		log_warning("process %d: no leak check: %s", (int)pid, strerror(-r));
}

static void note(struct leak_noted *noted, const struct allocator_family *family)
{
	noted->by = family->name;
	noted->blocks++;
}

/* An allocator's own data is left out where all that it has mapped is known. */
static void count_noted(const struct live *live, slot_t slot, struct leak_scan *scan)
{
	bool areas_known = !scan->seen.unknown_blocks && !scan->seen.older_blocks;
	const struct allocator_family *behind = live_family_behind(live, slot);

	for (size_t i = 0; i < scan->n_blocks; i++) {
		const struct allocator_family *family =
			live_family_of(live, scan->blocks[i].fn, behind);

		if (family && family->traces == ALLOCATOR_TRACES_INSIDE)
			note(&scan->seen.noted_inside, family);
		else if (family && family->traces == ALLOCATOR_TRACES_APART && !areas_known)
			note(&scan->seen.noted_apart, family);
	}
}

static enum call_arguments arguments_of(const struct leak_moment *moment)
{
	if (moment->request != LEAK_REQUEST_NONE)
		return ARGUMENTS_NONE;
	return moment->occasion == LEAK_AT_EXEC ? ARGUMENTS_OF_EXEC : ARGUMENTS_UNKNOWN;
}

/* Of a stopped process whose events have been drained. */
static int scan(struct leak_check *check, struct live *live, const struct stop *stop, pid_t pid,
		const struct leak_moment *moment)
{
	struct leak_scan_opts opts = {
		.pid = pid,
		.heuristics = check->leak->heuristics << REACH_STDSTRING,
		.max_stop_ns = check->leak->max_stop_ns,
		.roots = {
			.worker = check->worker,
			.exiting = moment->occasion == LEAK_AT_EXIT,
			.caller = moment->caller,
			.arguments = arguments_of(moment),
			.with_kept = check->leak->keep_libc ||
				     check->leak->default_suppressions ==
					     LEAK_NO_DEFAULT_SUPPRESSIONS,
		},
	};
	uint64_t deadline_ns = stop_began_ns(stop) + opts.max_stop_ns;
	struct live_block *blocks;
	struct leak_scan *found;
	enum live_older older;
	slot_t slot;
	size_t n;
	int r = live_slot_of(live, pid, &slot);

	if (r == 0)
		r = live_blocks(live, slot, opts.max_stop_ns ? deadline_ns : 0, &blocks, &n);
	if (r < 0)
		return r;
	opts.image = live_image_of(live, slot);
	opts.roots.areas = live_areas(live, slot);
	older = live_older_blocks(live, slot);
	opts.roots.unknown_blocks = older == LIVE_OLDER_UNKNOWN || older == LIVE_OLDER_PARTLY;
	opts.older_blocks = older == LIVE_OLDER_READ || older == LIVE_OLDER_PARTLY;
	r = leak_scan_new(&opts, stop, blocks, n, &found);
	if (r < 0)
		return r;
	found->seen.has_allocator = live_slot_has_allocator(live, slot);
	count_noted(live, slot, found);
	if (moment->occasion == LEAK_AT_EXEC)
		leak_pending_drop_exec(&check->pending, opts.image);
	r = vec_push(&check->pending, (struct leak_pending){ .scan = found,
							     .occasion = moment->occasion,
							     .request = moment->request });
	if (r < 0)
		leak_scan_free(found);
	return r;
}

static int stop_one(const struct leak_check *check, struct hold *hold, pid_t pid,
		    struct stop **ret_stop)
{
	uint64_t max_ns = check->leak->max_stop_ns;
	uint64_t limit_ns = max_ns && max_ns < STOP_LIMIT_NS ? max_ns : STOP_LIMIT_NS;

	return hold && hold_has(hold, pid) ? hold_stop(hold, pid, limit_ns, ret_stop) :
					     stop_new(pid, limit_ns, ret_stop);
}

static int scan_all(struct leak_check *check, struct live *live, struct stop *const *stops,
		    const struct leak_moment *moment)
{
	for (size_t i = 0; i < moment->n_pids; i++) {
		pid_t pid = moment->pids[i];
		int r = stops[i] ? scan(check, live, stops[i], pid, moment) : 0;

		if (r == -ENOMEM)
			return r;
		if (r < 0)
			log_not_checked(pid, r);
	}
	return 0;
}

/* memcheck makes no check before an exec. */
static bool is_wanted(const struct leak_check *check, enum leak_occasion occasion)
{
	return occasion != LEAK_AT_EXEC || check->leak->shape == LEAK_SHAPE_OWN;
}

int leak_check_run(struct leak_check *check, struct live *live, struct hold *hold,
		   const struct leak_moment *moment, leak_drain_fn drain, void *userdata)
{
	const size_t n_pids = moment->n_pids;
	_cleanup_free_ struct stop **stops = calloc(n_pids + 1, sizeof(struct stop *));
	int r;

	if (!stops)
		return -ENOMEM;
	if (!is_wanted(check, moment->occasion))
		return 0;
	for (size_t i = 0; i < n_pids; i++) {
		r = stop_one(check, hold, moment->pids[i], &stops[i]);
		if (r < 0)
			log_not_checked(moment->pids[i], r);
	}
	r = drain(userdata);
	if (r == 0 && moment->occasion != LEAK_AT_EXIT && moment->occasion != LEAK_AT_EXEC)
		live_begin_cut(live);
	if (r == 0)
		r = scan_all(check, live, stops, moment);
	for (size_t i = 0; i < n_pids; i++)
		stop_free(stops[i]);
	return r;
}

/* --- results --------------------------------------------------------------------------------- */

static struct leak_result *find_latest(const struct leak_check *check, image_t image)
{
	for (size_t i = check->results.len; i-- > 0;)
		if (image_is(check->results.data[i]->seen.image, image))
			return check->results.data[i];
	return NULL;
}

struct leak_result *const *leak_check_results(const struct leak_check *check, size_t *ret_n)
{
	*ret_n = check->results.len;
	return check->results.data;
}

bool leak_check_has_errors(const struct leak_check *check)
{
	return check->has_errors;
}

bool leak_check_has_missed(const struct leak_check *check)
{
	return check->has_missed;
}

void leak_check_cut_taken(struct leak_check *check)
{
	leak_pending_set_totals(&check->pending, check->model);
}

static int add_result(struct leak_check *check, const struct leak_pending *pending)
{
	const struct view_resolver resolver = { check->model, check->symbols };
	struct leak_options options = *check->leak;
	struct leak_result *result;
	int r;

	leak_options_ask(&options, pending->request);
	r = leak_result_new(pending->scan, &resolver, &options,
			    find_latest(check, pending->scan->seen.image), &result);
	if (r < 0)
		return r;
	result->occasion = pending->occasion;
	result->asked = pending->request != LEAK_REQUEST_NONE;
	result->has_totals = pending->has_totals;
	result->totals = pending->totals;
	r = vec_push(&check->results, result);
	if (r < 0)
		leak_result_free(result);
	return r;
}

/* What a later check of the same image has taken the place of. */
static void drop_older(struct leak_check *check)
{
	size_t n = 0, len = check->results.len;

	for (size_t i = 0; i < len; i++) {
		struct leak_result *result = check->results.data[i];

		/* those from i on are still where they were */
		if (find_latest(check, result->seen.image) == result)
			check->results.data[n++] = result;
		else
			leak_result_free(result);
	}
	check->results.len = n;
}

/* Each check counts, as in memcheck: with a delta what is new in it, else all that it has found. */
static void add_up_errors(const struct leak_check *check, struct leak_result *result)
{
	const struct loss_totals *totals = loss_records_totals(result->records);

	result->errors = totals->errors;
	result->suppressed_errors = totals->suppressed_errors;
	vec_foreach(&check->results, other) {
		if (!image_is((*other)->seen.image, result->seen.image) ||
		    (*other)->number + 1 != result->number)
			continue;
		result->errors += (*other)->errors;
		result->suppressed_errors += (*other)->suppressed_errors;
	}
}

static int write_tree(struct leak_check *check, const struct leak_result *result,
		      const struct leak_stacks *stacks, const struct model_process *image)
{
	_cleanup_strbuf_ struct strbuf text = { 0 };
	const char *command = model_command(check->model, result->seen.image);
	int r;

	if (!check->xtree)
		return 0;
	leak_xtree(&text, result, stacks, command ? command : image->comm);
	r = strbuf_error(&text);
	return r < 0 ? r : leak_log_replace(check->xtree, result->seen.pid, strbuf_str(&text));
}

/* --child-silent-after-fork */
static bool is_silent(const struct leak_check *check, const struct model_process *image)
{
	return check->options->valgrind.silent_forks && image->inherits;
}

static int write_xml(struct leak_check *check, const struct leak_result *result,
		     const struct model_process *image, const struct leak_stacks *stacks)
{
	bool is_last = result->occasion == LEAK_AT_EXIT || result->occasion == LEAK_AT_END;
	int r = is_last ? leak_xml_log_finish(check->xml, image) : 0;

	for (size_t i = 0; r == 0 && i < loss_records_n(result->records); i++) {
		_cleanup_strbuf_ struct strbuf text = { 0 };
		struct leak_xml_id id;

		if (!loss_records_get(result->records, i)->shown)
			continue;
		r = leak_xml_log_number(check->xml, image, &id);
		if (r < 0)
			return r;
		leak_xml_record(&text, &id, result->records, i, stacks, check->leak);
		r = leak_xml_log_add(check->xml, image, &text);
	}
	return r;
}

/* The stacks of the places, by which it is known what is suppressed. */
static int judge(struct leak_check *check, struct leak_result *result, struct leak_stacks *stacks)
{
	const struct view_resolver resolver = { check->model, check->symbols };
	bool frees_libraries = check->leak->shape != LEAK_SHAPE_OWN;
	int r = leak_stacks_init(&resolver, view_resolve_process(&resolver, result->seen.image),
				 result->places, result->n_places, check->leak->num_callers,
				 stacks);

	if (r < 0 || result->judged)
		return r;
	/* memcheck has freed what libraries hold before it looks at the user's suppressions */
	r = leak_result_suppress(result, stacks, check->suppressions, frees_libraries);
	if (r < 0)
		return r;
	result->judged = true;
	if (frees_libraries) {
		leak_result_free_libraries(result, check->n_own_suppressions);
		suppressions_forget_uses(check->suppressions, check->n_own_suppressions);
	}
	return 0;
}

static int write_result(struct leak_check *check, struct leak_result *result)
{
	const struct view_resolver resolver = { check->model, check->symbols };
	const struct model_process *image = view_resolve_process(&resolver, result->seen.image);
	_cleanup_(leak_stacks_done) struct leak_stacks stacks = { 0 };
	_cleanup_strbuf_ struct strbuf text = { 0 };
	int r;

	r = judge(check, result, &stacks);
	if (r < 0)
		return r;
	result->written = true;
	add_up_errors(check, result);
	if (is_silent(check, image))
		return 0;
	r = begin_image(check, image);
	if (r == 0)
		r = heap_error_log_write(check->heap_errors, image, &text);
	if (r < 0)
		return r;
	leak_text(&text, result, &stacks, image, check->leak);
	r = strbuf_error(&text);
	if (r == 0)
		r = add_text(check, result->seen.pid, &text);
	if (r == 0 && check->xml)
		r = write_xml(check, result, image, &stacks);
	if (r == 0)
		r = write_tree(check, result, &stacks, image);
	return r < 0 ? r : leak_record_emit(result, check->record, check->record_userdata);
}

static bool shows_used(const struct leak_check *check)
{
	if (check->leak->shape != LEAK_SHAPE_OWN)
		return check->leak->error_list && !check->xml;
	return !check->xml && (check->options->verbose || check->leak->suppressions);
}

/* What all of an image comes to: `result` is its latest check, NULL: there was none. */
static int write_end(struct leak_check *check, const struct model_process *image,
		     const struct leak_result *result, struct strbuf *text)
{
	_cleanup_strbuf_ struct strbuf list = { 0 };
	struct leak_errors errors = { 0 };
	int r;

	if (is_silent(check, image))
		return 0;

	if (result)
		errors = (struct leak_errors){
			.errors = result->errors,
			.contexts = result->errors,
			.suppressed = result->suppressed_errors,
			.suppressed_contexts = result->suppressed_errors,
		};
	heap_error_log_end(check->heap_errors, image, &errors);
	check->has_errors |= errors.errors > 0;
	r = heap_error_log_list(check->heap_errors, image, errors.contexts, &list);
	if (r < 0)
		return r;
	leak_text_end(text, (pid_t)image->pid, &errors,
		      shows_used(check) ? check->suppressions : NULL, strbuf_str(&list),
		      check->leak);
	r = strbuf_error(text);
	return r < 0 ? r : add_text(check, (pid_t)image->pid, text);
}

/*
 * A check that was due and did not come: the process ended by SIGKILL, which leaves nobody a
 * moment, or could not be stopped. Before an exec checks come if it is by the C library.
 */
static bool is_missed(const struct model_process *image)
{
	bool executes = image->ended && image->how == RECORD_END_EXEC;

	return !executes && image->has_totals && image->totals.live_blocks > 0;
}

static int write_unchecked(struct leak_check *check, const struct model_process *image)
{
	_cleanup_strbuf_ struct strbuf text = { 0 };
	bool missed = is_missed(image);
	int r;

	if (is_silent(check, image))
		return 0;
	r = begin_image(check, image);
	if (r == 0)
		r = heap_error_log_write(check->heap_errors, image, &text);
	if (r < 0)
		return r;
	if (missed && image->ended)
		log_warning("process %" PRIu32 " (%s) ended before it could be checked: no leak "
			    "check",
			    image->pid, image->comm);
	if (missed)
		leak_text_missed(&text, (pid_t)image->pid, image);
	check->has_missed |= missed;
	return missed || text.len > 0 ? write_end(check, image, NULL, &text) : 0;
}

/* The last text of each image. */
static int write_ends(struct leak_check *check)
{
	int r = 0;

	for (size_t i = 0; i < model_n_processes(check->model) && r == 0; i++) {
		const struct model_process *image = model_process(check->model, i);

		if (!find_latest(check, image->id))
			r = write_unchecked(check, image);
	}
	vec_foreach(&check->results, result) {
		const struct view_resolver resolver = { check->model, check->symbols };
		_cleanup_strbuf_ struct strbuf text = { 0 };

		if (r == 0)
			r = write_end(check, view_resolve_process(&resolver, (*result)->seen.image),
				      *result, &text);
	}
	return r;
}

static int add_results(struct leak_check *check, bool final)
{
	size_t n = check->pending.len, kept = 0;
	int r = 0;

	for (size_t i = 0; i < n; i++) {
		struct leak_pending pending = check->pending.data[i];
		const struct model_process *image =
			model_find_process(check->model, pending.scan->seen.image);

		if (leak_pending_is_of_exec(&pending) && !final && image && !image->ended) {
			check->pending.data[kept++] = pending;
			continue;
		}
		if (r == 0 && (!leak_pending_is_of_exec(&pending) ||
			       leak_pending_exec_came(&check->pending, i, check->model)))
			r = add_result(check, &pending);
		leak_scan_free(pending.scan);
	}
	check->pending.len = kept;
	return r;
}

/* Results of the scans so far, whose blocks are freed. */
static int settle(struct leak_check *check, bool final)
{
	int r = symbols_update(check->symbols);

	return r ? r : add_results(check, final);
}

int leak_check_settle(struct leak_check *check)
{
	return settle(check, false);
}

int leak_check_totals(struct leak_check *check, image_t image, struct loss_totals *ret_totals)
{
	_cleanup_(leak_stacks_done) struct leak_stacks stacks = { 0 };
	struct leak_result *latest;
	int r = settle(check, false);

	latest = find_latest(check, image);
	*ret_totals = (struct loss_totals){ 0 };
	if (r < 0 || !latest)
		return r;
	r = judge(check, latest, &stacks);
	if (r == 0)
		*ret_totals = *loss_records_totals(latest->records);
	return r;
}

static int report(struct leak_check *check, bool final)
{
	int r = settle(check, final);

	vec_foreach(&check->results, result)
		if (r == 0 && !(*result)->written)
			r = write_result(check, *result);
	if (r == 0)
		drop_older(check);
	if (r == 0 && final)
		r = write_ends(check);
	return r == 0 && final && check->xml ? leak_xml_log_end(check->xml) : r;
}

bool leak_check_is_full(const struct leak_check *check)
{
	return leak_pending_blocks(&check->pending) > MOST_BLOCKS ||
	       check->pending.len + check->results.len > MOST_RESULTS;
}

int leak_check_report(struct leak_check *check, bool final)
{
	int r = report(check, final);

	if (r < 0) {
		log_error("leak check: %s", strerror(-r));
		return r;
	}
	return flush(check);
}
