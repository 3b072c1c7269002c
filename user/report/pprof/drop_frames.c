/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/pprof/drop_frames.h"

#include "base/escape.h"

#include <errno.h>
#include <string.h>

/* By the addresses of their strings: the symbolizer keeps each once. */
struct function_key {
	const char *function, *object;
};

void drop_frames_done(struct drop_frames *frames)
{
	interns_done(&frames->functions);
	interns_done(&frames->texts);
	vec_done(&frames->numbers);
	vec_done(&frames->names);
	strbuf_done(&frames->pattern);
}

/* As simplifyFunc of pprof's profile/prune.go; two names have a '(' that begins no parameters. */
void drop_frames_matched(const char *name, struct strbuf *out)
{
	static const char *const reserved[] = { "(anonymous namespace)", "operator()" };
	const char *start = name + (*name == '.'), *s;
	size_t skip;

	for (s = start; *s; s += skip) {
		skip = *s == '(' ? 0 : 1;
		for (size_t i = 0; i < sizeof(reserved) / sizeof(reserved[0]); i++)
			if (strncmp(s, reserved[i], strlen(reserved[i])) == 0)
				skip = strlen(reserved[i]);
		if (skip == 0)
			break;
	}
	strbuf_add(out, start, (size_t)(s - start));
}

/* The number of what pprof matches of the frame's name. */
static int find_name(struct drop_frames *frames, const struct view_frame *frame, size_t *ret_number)
{
	const struct function_key key = { frame->function, frame->place->object };
	_cleanup_strbuf_ struct strbuf name = { 0 }, clean = { 0 }, text = { 0 };
	size_t index;
	int r = interns_add(&frames->functions, &key, sizeof(key), &index);

	if (r <= 0) {
		if (r == 0)
			*ret_number = frames->numbers.data[index];
		return r;
	}
	view_frame_name(frame, &name);
	escape_text(&clean, strbuf_str(&name));
	drop_frames_matched(strbuf_str(&clean), &text);
	if (strbuf_error(&name) < 0 || strbuf_error(&clean) < 0 || strbuf_error(&text) < 0)
		return -ENOMEM;
	r = interns_add_string(&frames->texts, strbuf_str(&text), &index);
	if (r == 1)
		r = vec_push(&frames->names, (struct dropped_name){ 0 });
	if (r == 0)
		r = vec_push(&frames->numbers, index);
	*ret_number = index;
	return r;
}

int drop_frames_mark(struct drop_frames *frames, const struct view_stack *stack)
{
	struct view_frames it = { stack, stack->name.place, stack->name.frame };
	struct view_frame frame;
	size_t number;
	int r = 0;

	while (r == 0 && !stack->only_wrappers && view_frames_next(&it, &frame)) {
		r = find_name(frames, &frame, &number);
		if (r == 0)
			frames->names.data[number].stays = true;
	}
	return r;
}

/* An alternative of the expression. */
static int add_to_pattern(struct drop_frames *frames, size_t number)
{
	const char *text = interns_get(&frames->texts, number);

	if (*text && frames->pattern.len > 0)
		strbuf_addch(&frames->pattern, '|');
	for (; *text; text++) {
		if (strchr("\\.+*?()|[]{}^$", *text))
			strbuf_addch(&frames->pattern, '\\');
		strbuf_addch(&frames->pattern, *text);
	}
	return strbuf_error(&frames->pattern);
}

int drop_frames_drop(struct drop_frames *frames, const struct view_stack *stack)
{
	struct view_frames it = { .stack = stack };
	struct view_frame frame;
	bool has_number = false;
	struct dropped_name *name;
	size_t number, last = 0;
	int r = 0;

	while (r == 0 && !stack->only_wrappers &&
	       (it.place != stack->name.place || it.frame != stack->name.frame) &&
	       view_frames_next(&it, &frame)) {
		r = find_name(frames, &frame, &number);
		if (r == 0 && !frames->names.data[number].stays) {
			last = number;
			has_number = true;
		}
	}
	if (r < 0 || !has_number)
		return r;
	name = &frames->names.data[last];
	if (name->is_dropped)
		return 0;
	name->is_dropped = true;
	return add_to_pattern(frames, last);
}

const char *drop_frames_pattern(const struct drop_frames *frames)
{
	return frames->pattern.len > 0 ? strbuf_str(&frames->pattern) : NULL;
}
