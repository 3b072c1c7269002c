/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/diff/diff_keys.h"

#include "base/cleanup.h"
#include "base/interns.h"
#include "base/vec.h"
#include "report/text/text.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* No name holds it. */
#define SEPARATOR '\x1f'

/* What a run knows of an object by its name. */
struct known {
	bool seen[DIFF_SIDES], has_lines[DIFF_SIDES];
};

struct diff_keys {
	const struct view *views[DIFF_SIDES];
	struct interns objects, builds;
	VEC(struct known) known;       /* of the objects */
	VEC(unsigned int) build_sides; /* of the builds: which runs have it, by bits */
	char *traced[DIFF_SIDES];      /* the programs that are one under two names, or NULL */
	struct strbuf text;
};

static void add_program(const struct model_process *image, struct strbuf *out)
{
	strbuf_adds(out, image->comm);
	strbuf_addch(out, SEPARATOR);
	if (image->exe)
		diff_object_name(image->exe, out);
}

void diff_keys_program(struct diff_keys *keys, unsigned int side, const struct model_process *image,
		       struct strbuf *out)
{
	size_t start = out->len;

	add_program(image, out);
	if (side == DIFF_BEFORE && keys->traced[DIFF_BEFORE] && strbuf_error(out) == 0 &&
	    strcmp(strbuf_str(out) + start, keys->traced[DIFF_BEFORE]) == 0) {
		out->len = start;
		strbuf_adds(out, keys->traced[DIFF_AFTER]);
	}
}

/* A program may lie elsewhere and have another name than it had: its code is known as its own. */
static void add_object(struct diff_keys *keys, unsigned int side, const struct model_process *image,
		       const struct view_place *place, struct strbuf *out)
{
	const char *exe = image->exe;

	if (!place->object)
		return;
	if (exe && strcmp(place->object, exe) == 0) {
		strbuf_addch(out, '/');
		diff_keys_program(keys, side, image, out);
	} else {
		diff_object_name(place->object, out);
	}
}

/* The number of the frame's object. 0 or -ENOMEM. */
static int object_of(struct diff_keys *keys, unsigned int side, const struct model_process *image,
		     const struct view_place *place, size_t *ret_index)
{
	int r;

	strbuf_reset(&keys->text);
	add_object(keys, side, image, place, &keys->text);
	r = strbuf_error(&keys->text);
	if (r == 0)
		r = interns_add_string(&keys->objects, strbuf_str(&keys->text), ret_index);
	if (r == 1)
		r = vec_push(&keys->known, (struct known){ 0 });
	return r;
}

static int learn_stack(struct diff_keys *keys, unsigned int side, const struct model_process *image,
		       const struct view_stack *stack)
{
	struct view_frames it = { .stack = stack };
	struct view_frame frame;
	size_t index;
	int r = 0;

	while (r == 0 && view_frames_next(&it, &frame)) {
		r = object_of(keys, side, image, frame.place, &index);
		if (r == 0) {
			keys->known.data[index].seen[side] = true;
			keys->known.data[index].has_lines[side] |= frame.file != NULL;
		}
	}
	return r;
}

static int learn_builds(struct diff_keys *keys, unsigned int side)
{
	const struct model *model = view_model(keys->views[side]);
	int r = 0;

	for (size_t i = 0; r == 0 && i < model_objects(model)->list.len; i++) {
		const struct model_object *object = model_objects(model)->list.data[i];
		size_t index;

		if (object->build_id_len == 0)
			continue;
		r = interns_add(&keys->builds, object->build_id, object->build_id_len, &index);
		if (r == 1)
			r = vec_push(&keys->build_sides, 0);
		if (r == 0)
			keys->build_sides.data[index] |= 1U << side;
	}
	return r;
}

static bool has_program(const struct view *view, const char *program, bool *ret_error)
{
	_cleanup_strbuf_ struct strbuf name = { 0 };

	for (size_t i = 0; i < view_n_processes(view); i++) {
		strbuf_reset(&name);
		add_program(view_process(view, i)->image, &name);
		*ret_error |= strbuf_error(&name) < 0;
		if (strcmp(strbuf_str(&name), program) == 0)
			return true;
	}
	return false;
}

/* The one program that was named, by its newest image; "" when there are several. */
static int traced_program(const struct view *view, struct strbuf *out)
{
	_cleanup_strbuf_ struct strbuf name = { 0 };

	for (size_t i = 0; i < view_n_processes(view); i++) {
		const struct view_process *process = view_process(view, i);

		if (!process->image->root || !image_is_none(process->image->next_id))
			continue;
		strbuf_reset(&name);
		add_program(process->image, &name);
		if (out->len > 0 && strcmp(strbuf_str(&name), strbuf_str(out)) != 0) {
			strbuf_reset(out);
			break;
		}
		if (out->len == 0)
			strbuf_adds(out, strbuf_str(&name));
	}
	return strbuf_error(&name) < 0 ? strbuf_error(&name) : strbuf_error(out);
}

/* Two builds often differ in their name; then neither run knows the other's. */
static int find_traced(struct diff_keys *keys)
{
	_cleanup_strbuf_ struct strbuf before = { 0 }, after = { 0 };
	bool error = false;
	int r = traced_program(keys->views[DIFF_BEFORE], &before);

	if (r == 0)
		r = traced_program(keys->views[DIFF_AFTER], &after);
	if (r < 0 || before.len == 0 || after.len == 0 ||
	    has_program(keys->views[DIFF_AFTER], strbuf_str(&before), &error) ||
	    has_program(keys->views[DIFF_BEFORE], strbuf_str(&after), &error))
		return r < 0 || error ? -ENOMEM : 0;
	keys->traced[DIFF_BEFORE] = strdup(strbuf_str(&before));
	keys->traced[DIFF_AFTER] = strdup(strbuf_str(&after));
	return error || !keys->traced[DIFF_BEFORE] || !keys->traced[DIFF_AFTER] ? -ENOMEM : 0;
}

static int learn(struct diff_keys *keys, unsigned int side)
{
	const struct view *view = keys->views[side];
	int r = learn_builds(keys, side);

	for (size_t i = 0; r == 0 && i < view_n_processes(view); i++) {
		const struct view_process *process = view_process(view, i);

		for (size_t j = 0; r == 0 && j < process->n_sites; j++)
			r = learn_stack(keys, side, process->image, &process->sites[j].stack);
	}
	for (size_t i = 0; r == 0 && i < view_n_events(view); i++) {
		const struct view_event *event = view_event(view, i);

		for (size_t j = 0; r == 0 && j < event->n_stacks; j++)
			r = learn_stack(keys, side, event->stacks[j].image,
					&event->stacks[j].stack);
	}
	return r;
}

int diff_keys_new(const struct view *const views[DIFF_SIDES], struct diff_keys **ret_keys)
{
	_cleanup_(diff_keys_free_p) struct diff_keys *keys = calloc(1, sizeof(*keys));
	int r;

	if (!keys)
		return -ENOMEM;
	keys->views[DIFF_BEFORE] = views[DIFF_BEFORE];
	keys->views[DIFF_AFTER] = views[DIFF_AFTER];
	r = find_traced(keys);
	for (unsigned int side = 0; r == 0 && side < DIFF_SIDES; side++)
		r = learn(keys, side);
	if (r == 0)
		*ret_keys = TAKE_PTR(keys);
	return r;
}

void diff_keys_free(struct diff_keys *keys)
{
	if (!keys)
		return;
	interns_done(&keys->objects);
	interns_done(&keys->builds);
	vec_done(&keys->known);
	vec_done(&keys->build_sides);
	free(keys->traced[DIFF_BEFORE]);
	free(keys->traced[DIFF_AFTER]);
	strbuf_done(&keys->text);
	free(keys);
}

int diff_keys_shows(struct diff_keys *keys, unsigned int side, const struct model_process *image,
		    const struct view_frame *frame)
{
	const struct known *known;
	size_t index;
	int r;

	if (!frame->is_inline)
		return 1;
	r = object_of(keys, side, image, frame->place, &index);
	if (r < 0)
		return r;
	known = &keys->known.data[index];
	return !known->seen[!side] || known->has_lines[!side];
}

/* Where both runs have the same file, an offset in it means the same. */
static int in_both(struct diff_keys *keys, const struct view_place *place)
{
	const struct model_object *mapped = place->mapped;
	size_t index;
	int r;

	if (!mapped || mapped->build_id_len == 0 || mapped->is_anonymous)
		return 0;
	r = interns_add(&keys->builds, mapped->build_id, mapped->build_id_len, &index);
	if (r == 1) /* of no object of the model: not to be */
		r = vec_push(&keys->build_sides, 0);
	if (r < 0)
		return r;
	return keys->build_sides.data[index] == ((1U << DIFF_BEFORE) | (1U << DIFF_AFTER));
}

/* The allocator goes by its function alone: which library it is in may be what was changed. */
static int add_frame(struct diff_keys *keys, unsigned int side, const struct model_process *image,
		     const struct view_frame *frame, struct strbuf *out)
{
	bool has_name = frame->function && *frame->function;
	int r = diff_keys_shows(keys, side, image, frame);

	if (r <= 0)
		return r;
	r = has_name ? 0 : in_both(keys, frame->place);
	if (has_name)
		diff_function_name(frame->function, out);
	else if (r > 0)
		strbuf_addf(out, "+0x%" PRIx64, frame->place->offset);
	strbuf_addch(out, SEPARATOR);
	if (!frame->place->alloc)
		add_object(keys, side, image, frame->place, out);
	strbuf_addch(out, '\n');
	return r < 0 ? r : 0;
}

int diff_keys_stack(struct diff_keys *keys, unsigned int side, const struct model_process *image,
		    const struct view_stack *stack, struct strbuf *out)
{
	struct view_frames it = { .stack = stack };
	struct view_frame frame;
	int r = 0;

	while (r == 0 && view_frames_next(&it, &frame))
		r = add_frame(keys, side, image, &frame, out);
	if (stack->lost)
		strbuf_adds(out, "lost");
	else if (stack->truncated)
		strbuf_adds(out, "truncated");
	return r < 0 ? r : strbuf_error(out);
}

#define RUST_HASH_DIGITS 16

/* GCC's and LLVM's: copies for constants or changed parameters, parts, renamed local functions. */
static const char *const clone_suffixes[] = {
	".constprop", ".isra", ".part", ".cold", ".lto_priv", ".llvm", ".localalias",
};

/* Does `at` hold nothing but such suffixes and their numbers, up to the end? */
static bool is_clone(const char *at, const char *end)
{
	while (at < end) {
		size_t n = 0;

		for (size_t i = 0; n == 0 && i < sizeof(clone_suffixes) / sizeof(clone_suffixes[0]);
		     i++) {
			size_t len = strlen(clone_suffixes[i]);

			if ((size_t)(end - at) >= len && strncmp(at, clone_suffixes[i], len) == 0)
				n = len;
		}
		if (n == 0 && *at == '.' && at + 1 < end && isdigit((unsigned char)at[1]))
			n = 1;
		if (n == 0)
			return false;
		at += n;
		while (at < end && isdigit((unsigned char)*at))
			at++;
	}
	return true;
}

static size_t without_clone(const char *name, size_t len)
{
	static const char mark[] = " [clone .";
	const char *clone = strstr(name, mark);

	if (clone && clone > name)
		return (size_t)(clone - name);
	for (size_t i = 1; i < len; i++)
		if (name[i] == '.' && !isdigit((unsigned char)name[i + 1]) &&
		    is_clone(name + i, name + len))
			return i;
	return len;
}

static size_t without_hash(const char *name, size_t len)
{
	const char *hash;

	if (len <= RUST_HASH_DIGITS + 3)
		return len;
	hash = name + len - RUST_HASH_DIGITS;
	if (strncmp(hash - 3, "::h", 3) != 0)
		return len;
	for (size_t i = 0; i < RUST_HASH_DIGITS; i++)
		if (!isdigit((unsigned char)hash[i]) && (hash[i] < 'a' || hash[i] > 'f'))
			return len;
	return len - RUST_HASH_DIGITS - 3;
}

void diff_function_name(const char *name, struct strbuf *out)
{
	size_t len = without_clone(name, strlen(name));

	strbuf_add(out, name, without_hash(name, len));
}

void diff_object_name(const char *path, struct strbuf *out)
{
	_cleanup_free_ char *whole = strndup(path, text_path_length(path));
	const char *name, *version;

	if (!whole) {
		out->error = -ENOMEM;
		return;
	}
	name = text_base_name(whole);
	version = strstr(name, ".so.");
	strbuf_add(out, name,
		   version && version > name ? (size_t)(version - name) + 3 : strlen(name));
}
