/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Collapsed stacks: "comm-pid;main;make_buf;malloc 4096", root first, one line a stack (FORMATS.md
 * 8.2). The count is live bytes, or what the report is sorted by where that is a quantity of its
 * own: bytes at the peak, temporary allocations; of an event's stacks, how often it happened. The
 * kernel's frames end in "_[k]", as collapsers mark them: no collapser comes behind this.
 */
#include "base/interns.h"
#include "base/vec.h"
#include "report/samples.h"
#include "report/text/text.h"
#include "report/writers.h"

#include <errno.h>
#include <inttypes.h>

struct folded {
	enum option_sort sort;
	bool peaks_differ; /* sample_peaks_differ: below a root that says so */
	struct interns stacks;
	VEC(uint64_t) counts;	     /* of the stacks */
	struct sample_frames frames; /* of the stack at hand */
	struct strbuf text;
};

static void add_frame(struct strbuf *out, const struct sample_frame *frame)
{
	_cleanup_strbuf_ struct strbuf name = { 0 };

	sample_frame_name(frame, &name);
	strbuf_addch(out, ';');
	text_folded(out, strbuf_str(&name));
	if (frame->is_kernel)
		strbuf_adds(out, "_[k]");
	strbuf_pass_error(out, &name);
}

static int stack_text(struct folded *folded, const struct sample *sample)
{
	const struct model_process *image = sample->image;
	int r = sample_frames_fill(&folded->frames, sample->stack);

	strbuf_reset(&folded->text);
	if (folded->peaks_differ)
		strbuf_adds(&folded->text, "each_process_at_its_own_peak;");
	text_folded(&folded->text, *image->comm ? image->comm : "unknown");
	strbuf_addf(&folded->text, "-%" PRIu32, image->pid);
	for (size_t i = folded->frames.list.len; i > 0; i--)
		add_frame(&folded->text, &folded->frames.list.data[i - 1]);
	return r < 0 ? r : strbuf_error(&folded->text);
}

static int add_sample(const struct sample *sample, void *userdata)
{
	struct folded *folded = userdata;
	uint64_t count = sample_weight(sample, folded->sort);
	size_t index;
	int r;

	if (count == 0)
		return 0;
	r = stack_text(folded, sample);
	if (r == 0)
		r = interns_add_string(&folded->stacks, strbuf_str(&folded->text), &index);
	if (r == 1)
		r = vec_push(&folded->counts, 0);
	if (r == 0)
		folded->counts.data[index] += count;
	return r;
}

int folded_write(const struct view *view, FILE *file)
{
	enum option_sort sort = view_opts(view)->sort;
	struct folded folded = { .sort = sort, .peaks_differ = sample_peaks_differ(view, sort) };
	int r = samples_each(view, add_sample, &folded);

	for (size_t i = 0; r == 0 && i < folded.counts.len; i++)
		fprintf(file, "%s %" PRIu64 "\n", (const char *)interns_get(&folded.stacks, i),
			folded.counts.data[i]);
	interns_done(&folded.stacks);
	vec_done(&folded.counts);
	sample_frames_done(&folded.frames);
	strbuf_done(&folded.text);
	return r == 0 && ferror(file) ? -EIO : r;
}
