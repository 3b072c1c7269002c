/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files that nothing maps any more are closed, and opened again when something does. */
#include "report/view/symbols_state.h"

#include <errno.h>

/* Not while it has places that are not looked up. */
static void close_object(struct symbols *symbols, size_t index)
{
	struct symbol_object *opened = symbols->objects.data[index];

	if (symbol_object_is_closed(opened))
		return;
	symbolizer_close(symbols->symbolizer, opened);
	symbols->n_closed += symbol_object_is_closed(opened);
}

/* A frame of a stack, if it is in one of these; as views resolve it. */
static int resolve_frame(struct symbols *symbols, const bool *closing,
			 const struct model_stack *stack, size_t frame)
{
	const struct symbols_at at = { stack->image, stack->frames[frame], stack->time_ns,
				       model_stack_is_call(stack, frame) };
	const struct resolved *resolved;
	struct model_place place;

	if (at.addr < at.is_call ||
	    !model_resolve(symbols->model, at.image, at.addr - at.is_call, at.time_ns, &place))
		return 0;
	if (place.object->index >= symbols->objects.len || !closing[place.object->index])
		return 0;
	place.file_offset += at.is_call;
	return symbols_resolve(symbols, &place, &at, &resolved);
}

static int resolve_closing(struct symbols *symbols, const bool *closing)
{
	const struct model_stack *stack = NULL;
	size_t pos = 0;
	int r = 0;

	while (r == 0 && (stack = model_next_stack(symbols->model, &pos, stack)))
		for (size_t i = 0; r == 0 && i < stack->n_frames; i++)
			r = resolve_frame(symbols, closing, stack, i);
	return r < 0 ? r : symbols_settle(symbols);
}

int symbols_close_files(struct symbols *symbols, const struct symbols_file *files, size_t n)
{
	_cleanup_free_ bool *closing = calloc(symbols->objects.len + 1, sizeof(*closing));
	size_t n_objects = symbols->objects.len;
	int r;

	if (!closing)
		return -ENOMEM;
	for (size_t i = 0; i < n_objects; i++) {
		const struct model_object *object = model_objects(symbols->model)->list.data[i];

		for (size_t k = 0; k < n; k++)
			closing[i] |= object->dev == files[k].dev && object->ino == files[k].ino;
	}
	r = resolve_closing(symbols, closing);
	for (size_t i = 0; r == 0 && i < n_objects; i++)
		if (closing[i])
			close_object(symbols, i);
	return r;
}

/* What was not found meanwhile is looked up again. */
static int retry_missed(struct symbols *symbols, const struct symbol_object *opened)
{
	struct entry *entry;
	size_t pos = 0;
	int r = 0;

	while (symbols->n_missed && r == 0 && (entry = hashmap_next(&symbols->entries, &pos))) {
		if (!entry->is_missed || entry->opened != opened)
			continue;
		entry->resolved.vaddr = symbol_object_vaddr(opened, entry->offset);
		entry->is_missed = false;
		symbols->n_missed--;
		r = vec_push(&symbols->pending, entry);
	}
	return r;
}

int symbols_open_again(struct symbols *symbols, const struct record_mapping *mapping)
{
	int r = 0;

	for (size_t i = 0; r == 0 && symbols->n_closed && i < symbols->objects.len; i++) {
		const struct model_object *object = model_objects(symbols->model)->list.data[i];
		struct symbol_object *opened = symbols->objects.data[i];

		if (object->dev != mapping->dev || object->ino != mapping->ino ||
		    !symbol_object_is_closed(opened) || !mapping->local_path)
			continue;
		r = symbols_open(symbols, object, mapping->local_path, mapping->image, &opened);
		opened = symbols->objects.data[i];
		if (r < 0 || symbol_object_is_closed(opened))
			continue;
		symbols->n_closed--;
		r = retry_missed(symbols, opened);
	}
	return r;
}
