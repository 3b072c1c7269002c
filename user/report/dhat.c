/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * DHAT's file, version 2, for dh_view.html and the Firefox Profiler: a program point for each stack
 * of allocations of one process, without the counts of accesses. The format is described in
 * Valgrind's dhat/dh_main.c; from what each field is computed, in docs/guide/formats.md. Readers
 * refuse a file with two points of the same frames: these are added up.
 */
#include "base/interns.h"
#include "base/saturate.h"
#include "base/vec.h"
#include "report/json/json_out.h"
#include "report/one_process.h"
#include "report/place_label.h"
#include "report/samples.h"
#include "report/text/coverage_words.h"
#include "report/writers.h"

#include <errno.h>
#include <inttypes.h>

/* Units of time are microseconds, as of the Rust crate dhat: "instrs" are not counted. */
#define UNIT_NS 1000
/* Blocks that live for so long on average are short-lived ones, as in the Rust crate. */
#define SHORT_LIVED_US 10

struct point {
	uint64_t bytes, blocks, lifetime_ns;
	uint64_t peak_bytes, peak_blocks, live_bytes, live_blocks;
};

struct dhat {
	struct json_out out;
	const struct view *view;
	const struct view_process *process;
	bool has_lifetimes;
	struct interns frames;	   /* texts; number i is i + 1 in the file */
	struct interns stacks;	   /* numbers of their frames, of each point */
	struct sample_frames list; /* of the stack at hand, */
	VEC(uint32_t) numbers;	   /* and of its frames */
	VEC(struct point) points;
};

static int push_frame(struct dhat *dhat, const char *text)
{
	size_t number;
	int r = interns_add_string(&dhat->frames, text, &number);

	return r < 0 ? r : vec_push(&dhat->numbers, (uint32_t)number + 1);
}

/* Without the allocator functions that it begins with; there is always a frame. */
static int number_frames(struct dhat *dhat, const struct view_stack *stack)
{
	_cleanup_strbuf_ struct strbuf label = { 0 };
	int r = sample_frames_fill(&dhat->list, stack);

	dhat->numbers.len = 0;
	for (size_t i = 0; r == 0 && i < dhat->list.list.len; i++) {
		const struct sample_frame *frame = &dhat->list.list.data[i];

		if (!dhat->numbers.len && place_is_allocator(frame))
			continue;
		strbuf_reset(&label);
		place_label(&label, frame);
		r = strbuf_error(&label);
		if (r == 0)
			r = push_frame(dhat, strbuf_str(&label));
	}
	if (r == 0 && !dhat->numbers.len)
		r = push_frame(dhat, "0x0: ???");
	return r;
}

static void add_up(uint64_t *sum, uint64_t value)
{
	*sum = saturate_add_u64(*sum, value);
}

static int add_site(const struct sample *sample, void *userdata)
{
	const struct view_site *site = sample->site;
	struct dhat *dhat = userdata;
	struct point *point;
	size_t index;
	int r;

	if (site->class != VIEW_HEAP ||
	    (!site->allocs && site->live_blocks <= 0 && site->peak_bytes <= 0))
		return 0;
	r = number_frames(dhat, sample->stack);
	if (r == 0)
		r = interns_add(&dhat->stacks, dhat->numbers.data,
				dhat->numbers.len * sizeof(*dhat->numbers.data), &index);
	if (r == 1)
		r = vec_push(&dhat->points, (struct point){ 0 });
	if (r < 0)
		return r;
	point = &dhat->points.data[index];
	add_up(&point->bytes, site->bytes);
	add_up(&point->blocks, site->allocs);
	add_up(&point->live_bytes, saturate_unsigned(site->live_bytes));
	add_up(&point->live_blocks, saturate_unsigned(site->live_blocks));
	if (!dhat->has_lifetimes)
		return 0;
	add_up(&point->peak_bytes, saturate_unsigned(site->peak_bytes));
	add_up(&point->peak_blocks, site->peak_blocks);
	add_up(&point->lifetime_ns, site->lifetime_ns);
	return 0;
}

/* The most that is known to have been live at once is what was at the peak, or at the end. */
static void put_point(const struct dhat *dhat, size_t index)
{
	const struct point *point = &dhat->points.data[index];
	const uint32_t *numbers = interns_get(&dhat->stacks, index);
	size_t n = interns_length(&dhat->stacks, index) / sizeof(*numbers);
	bool is_most_at_end = point->live_bytes > point->peak_bytes;
	FILE *file = dhat->out.file;

	fprintf(file, " %c{\"tb\":%" PRIu64 ",\"tbk\":%" PRIu64 "\n", index ? ',' : '[',
		point->bytes, point->blocks);
	if (dhat->has_lifetimes)
		fprintf(file,
			"  ,\"tl\":%" PRIu64 "\n"
			"  ,\"mb\":%" PRIu64 ",\"mbk\":%" PRIu64 "\n"
			"  ,\"gb\":%" PRIu64 ",\"gbk\":%" PRIu64 "\n"
			"  ,\"eb\":%" PRIu64 ",\"ebk\":%" PRIu64 "\n",
			point->lifetime_ns / UNIT_NS,
			is_most_at_end ? point->live_bytes : point->peak_bytes,
			is_most_at_end ? point->live_blocks : point->peak_blocks, point->peak_bytes,
			point->peak_blocks, point->live_bytes, point->live_blocks);
	fputs("  ,\"fs\":[", file);
	for (size_t i = 0; i < n; i++)
		fprintf(file, "%s%" PRIu32, i ? "," : "", numbers[i]);
	fputs("]\n  }\n", file);
}

static void put_string(struct dhat *dhat, const char *s)
{
	json_out_put(&dhat->out, json_out_new_string(&dhat->out, s));
}

/* The command is what readers show, so that it says it where the numbers are not certain. */
static int put_command(struct dhat *dhat)
{
	enum coverage_state state = coverage_state_of(dhat->view, dhat->process);
	size_t others = one_process_others(dhat->view, dhat->process);
	_cleanup_strbuf_ struct strbuf text = { 0 };

	strbuf_adds(&text, one_process_command(dhat->view, dhat->process));
	if (state != COVERAGE_EXACT)
		strbuf_addf(&text, " (totals %s)", coverage_state_name(state));
	if (others > 0)
		strbuf_addf(&text, " (without %zu other image%s of this pid)", others,
			    others == 1 ? "" : "s");
	fputs(",\"cmd\":", dhat->out.file);
	put_string(dhat, strbuf_str(&text));
	return strbuf_error(&text);
}

/* What the format has no fields for; its readers pass over it. */
static void put_own(struct dhat *dhat)
{
	const struct record_run *run = model_run(view_model(dhat->view));
	const struct record_totals *totals = &dhat->process->totals;
	struct json_object *own = json_out_new(&dhat->out);

	if (!own)
		return;
	json_out_string(&dhat->out, own, "tool", run ? run->tool : NULL);
	json_out_string(&dhat->out, own, "totals",
			coverage_state_name(coverage_state_of(dhat->view, dhat->process)));
	json_out_known(&dhat->out, own, "lifetime_resolution_ns", dhat->has_lifetimes,
		       totals->lifetime_resolution_ns);
	json_out_u64(&dhat->out, own, "peak_error_bytes", totals->peak_error_bytes);
	json_out_bool(&dhat->out, own, "peak_time_known",
		      dhat->process->timeline.peak_ns != UINT64_MAX);
	fputs(",\"memtraced\":", dhat->out.file);
	json_out_put(&dhat->out, own);
	fputc('\n', dhat->out.file);
}

static void put_times(const struct dhat *dhat)
{
	uint64_t end_ns = one_process_end_ns(dhat->view, dhat->process);
	uint64_t peak_ns = dhat->process->timeline.peak_ns;
	FILE *file = dhat->out.file;

	fprintf(file, ",\"te\":%" PRIu64 "\n",
		one_process_own_ns(dhat->view, dhat->process, end_ns) / UNIT_NS);
	/* The format must have it. */
	if (peak_ns > end_ns)
		peak_ns = end_ns;
	if (dhat->has_lifetimes)
		fprintf(file, ",\"tg\":%" PRIu64 "\n",
			one_process_own_ns(dhat->view, dhat->process, peak_ns) / UNIT_NS);
}

/* Of lifetimes that are true to a tick, those below it may be short. */
static int put_header(struct dhat *dhat)
{
	uint64_t short_us = dhat->process->totals.lifetime_resolution_ns / UNIT_NS;
	FILE *file = dhat->out.file;
	int r;

	fprintf(file,
		"{\"dhatFileVersion\":2\n,\"mode\":\"heap\",\"verb\":\"Allocated\"\n"
		",\"bklt\":%s,\"bkacc\":false\n,\"tu\":\"µs\",\"Mtu\":\"s\"\n",
		dhat->has_lifetimes ? "true" : "false");
	if (dhat->has_lifetimes)
		fprintf(file, ",\"tuth\":%" PRIu64 "\n",
			short_us > SHORT_LIVED_US ? short_us : SHORT_LIVED_US);
	r = put_command(dhat);
	fprintf(file, "\n,\"pid\":%" PRIu32 "\n", dhat->process->image->pid);
	put_times(dhat);
	put_own(dhat);
	return r;
}

static int write_dhat(struct dhat *dhat)
{
	FILE *file = dhat->out.file;
	int r = samples_of_process(dhat->process, add_site, dhat);

	if (r == 0)
		r = put_header(dhat);
	if (r < 0)
		return r;
	fputs(",\"pps\":\n", file);
	for (size_t i = 0; i < dhat->points.len; i++)
		put_point(dhat, i);
	fprintf(file, "%s ]\n,\"ftbl\":\n [\"[root]\"\n", dhat->points.len ? "" : " [\n");
	for (size_t i = 0; i < interns_count(&dhat->frames); i++) {
		fputs(" ,", file);
		put_string(dhat, interns_get(&dhat->frames, i));
		fputc('\n', file);
	}
	fputs(" ]\n}\n", file);
	return dhat->out.error;
}

int dhat_write_process(const struct view *view, const struct view_process *process, FILE *file)
{
	struct dhat dhat = {
		.out = { .file = file },
		.view = view,
		.process = process,
		.has_lifetimes = process->totals.lifetime_resolution_ns > 0,
	};
	int r = write_dhat(&dhat);

	interns_done(&dhat.frames);
	interns_done(&dhat.stacks);
	sample_frames_done(&dhat.list);
	vec_done(&dhat.numbers);
	vec_done(&dhat.points);
	return r == 0 && ferror(file) ? -EIO : r;
}
