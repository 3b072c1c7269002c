/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --check-stacks: copies of stacks go through stack_check.h, and what came of them into cuts.
 */
#include "bpf/abi_stack_copy.h"
#include "trace/live/slots/live_slots.h"
#include "trace/live/stacks/live_stacks.h"
#include "trace/unwind/stack_check.h"

#include <stdio.h>

/* Stacks that differ and are handed over in full. */
#define DIFFERENCES 10
#define RESULT_NAME_LEN 48

static int code_of(const struct live_process *process, struct stack_check_code **ret_code)
{
	struct stack_check_code *code = calloc(process->code.ranges.len + 1, sizeof(*code));

	if (!code)
		return -ENOMEM;
	for (size_t i = 0; i < process->code.ranges.len; i++) {
		const struct code_range *range = &process->code.ranges.data[i];

		code[i] = (struct stack_check_code){
			.start = range->start,
			.offset = range->offset,
			.fd = range->object ? object_fd(range->object) : -1,
			.path = range->object ? object_path(range->object) : NULL,
			.vdso = range->vdso,
		};
	}
	*ret_code = code;
	return 0;
}

static int emit_difference(struct live *live, image_t image, bool whole, const struct strbuf *ours,
			   const struct strbuf *reference)
{
	const struct record record = {
		.type = RECORD_STACK_DIFFERS,
		.stack_differs = { .image = image,
				   .whole = whole,
				   .ours = strbuf_str(ours),
				   .reference = strbuf_str(reference) },
	};

	if (ours->len == 0 || live->check.differences == DIFFERENCES)
		return 0;
	live->check.differences++;
	return live_emit(live, &record);
}

int live_on_stack_copy(struct live *live, const struct abi_ev_stack_copy *copy)
{
	const struct live_process *process = live_process_at(live, event_slot(&copy->head));
	_cleanup_strbuf_ struct strbuf ours = { 0 }, reference = { 0 };
	_cleanup_free_ struct stack_check_code *code = NULL;
	enum stack_check_result result = CHECK_NO_REFERENCE;
	struct live_frames frames = { .cut = ABI_CUT_NONE };
	struct stack_check_walked walked = { .frames = frames.frame };
	int r;

	if (process) {
		walked.by_frame_pointer = copy->walked.flags & ABI_STACK_FRAME_POINTERS;
		live_stack_frames(process, &copy->walked, &frames);
		walked.n = frames.n;
		walked.whole = frames.cut == ABI_CUT_NONE;
		r = code_of(process, &code);
		if (r == 0)
			r = stack_check_compare(live->check.check, copy, code,
						process->code.ranges.len, &walked, &result, &ours,
						&reference);
		if (r)
			return r;
	}
	live->check.results[result]++;
	if (result == CHECK_TRUNCATED)
		live->check.truncated[frames.cut]++;
	return emit_difference(live, process ? process->image : RECORD_NO_IMAGE, walked.whole,
			       &ours, &reference);
}

int live_emit_check(struct live *live)
{
	struct record_loss results[CHECK_RESULTS + STACK_CUTS + 1];
	char names[STACK_CUTS][RESULT_NAME_LEN];
	struct record record = { .type = RECORD_STACK_CHECK, .stack_check.results = results };
	size_t n = 0;

	if (!live->check.check)
		return 0;
	for (size_t i = 0; i < CHECK_RESULTS; i++)
		if (live->check.results[i] && i != CHECK_TRUNCATED)
			results[n++] = (struct record_loss){ stack_check_result_name(i),
							     live->check.results[i] };
	for (size_t i = 0; i < STACK_CUTS; i++) {
		if (!live->check.truncated[i])
			continue;
		snprintf(names[i], sizeof(names[i]), "truncated-%s", live_cut_name(i));
		results[n++] = (struct record_loss){ names[i], live->check.truncated[i] };
	}
	if (live->programs->control->copies_lost)
		results[n++] =
			(struct record_loss){ "copy-lost", live->programs->control->copies_lost };
	record.stack_check.n_results = n;
	return live_emit(live, &record);
}
