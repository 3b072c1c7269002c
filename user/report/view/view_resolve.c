/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/view/view_resolve.h"

#include "base/hashmap.h"
#include "report/text/text.h"
#include "target/preload.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

static const struct symbol_frame unknown_frame = { 0 };
static const struct symbol unknown_symbol = { .n_frames = 1, .frames = &unknown_frame };

/* In place of the callers of what RECORD_STACK_OTHER stands for. */
static const struct symbol_frame other_frame = { .function = RECORD_STACK_OTHER_NAME };
static const struct symbol other_symbol = { .n_frames = 1, .frames = &other_frame };

/* A process whose beginning was lost. */
static const struct model_process unknown_image = {
	.id = RECORD_NO_IMAGE,
	.parent_id = RECORD_NO_IMAGE,
	.prev_id = RECORD_NO_IMAGE,
	.next_id = RECORD_NO_IMAGE,
	.comm = "",
};

const struct model_process *view_resolve_process(const struct view_resolver *resolver,
						 image_t image)
{
	const struct model_process *process = model_find_process(resolver->model, image);

	return process ? process : &unknown_image;
}

const struct model_process *view_same_program(const struct model *model,
					      const struct model_process *image)
{
	const struct model_process *next = image;

	while (next && next->ended && next->how == RECORD_END_DEPTH &&
	       !image_is_none(next->next_id)) {
		image = next;
		next = model_find_process(model, image->next_id);
	}
	return next ? next : image;
}

/* What tells a place from another within one process. Code without a file has only its address. */
static uint64_t place_where(const struct view_place *place)
{
	if (!place->mapped)
		return place->object ? place->offset : place->addr;
	return place->mapped->is_anonymous ? place->addr : place->offset;
}

uint64_t view_stack_hash(const struct view_stack *stack)
{
	uint64_t h = hash_seed();

	for (size_t i = 0; i < stack->n_places; i++)
		h = hash_u64(h ^ place_where(view_stack_place(stack, i)));
	return h;
}

bool view_stack_equal(const struct view_stack *a, const struct view_stack *b)
{
	if (a->n_places != b->n_places || a->lost != b->lost || a->kernel_lost != b->kernel_lost)
		return false;
	for (size_t i = 0; i < a->n_places; i++) {
		const struct view_place *p = view_stack_place(a, i), *q = view_stack_place(b, i);

		if (p->mapped != q->mapped || p->alloc != q->alloc ||
		    place_where(p) != place_where(q))
			return false;
	}
	return true;
}

static uint64_t mix_u64(uint64_t h, uint64_t x)
{
	uint64_t le = htole64(x);

	return hash_bytes(&le, sizeof(le), h);
}

/*
 * Of what stays the same from run to run: build ID or file name, and offset in the file. Where
 * there is no file, address space layout randomisation keeps the offset in the page.
 */
static uint64_t place_id(uint64_t h, const struct view_place *place)
{
	const struct model_object *mapped = place->mapped;

	if (!place->object || (mapped && mapped->is_anonymous))
		return mix_u64(h, place->addr & 0xfff);
	if (mapped && mapped->build_id_len > 0) {
		h = hash_bytes(mapped->build_id, mapped->build_id_len, h);
	} else {
		const char *name = text_base_name(place->object);

		h = hash_bytes(name, strlen(name) + 1, h);
	}
	return mix_u64(h, place->offset);
}

uint64_t view_stack_id(const struct view_stack *stack, uint64_t seed)
{
	uint64_t h = mix_u64(0, seed);

	for (size_t i = 0; i < stack->n_places; i++) {
		const struct view_place *place = view_stack_place(stack, i);

		if (place->alloc)
			h = hash_bytes(place->alloc, strlen(place->alloc) + 1, h);
		h = place_id(h, place);
	}
	return h;
}

/* Fills in what the symbols know; *ret_resolved stays NULL where there is nothing. */
static int resolve_place(const struct view_resolver *resolver, image_t image, uint64_t time_ns,
			 const struct model_place *at, bool is_call, struct view_place *place,
			 const struct resolved **ret_resolved)
{
	const struct symbols_at where = { image, place->addr, time_ns, is_call };
	const struct resolved *resolved;
	int r = symbols_resolve(resolver->symbols, at, &where, &resolved);

	if (r < 0)
		return r;
	place->mapped = at->object;
	place->mapping = at->mapping;
	place->object = resolved->object;
	place->offset = at->file_offset;
	place->vaddr = resolved->vaddr;
	place->symbol = resolved->symbol;
	*ret_resolved = resolved;
	return 0;
}

/* A run's stacks have some thousand places, each in thousands of them. */
static int cache_resolved(const struct view_resolver *resolver, const struct resolved *resolved,
			  const struct view_place *place, struct view_stack *stack)
{
	const void *kept;
	int r = symbols_keep(resolver->symbols, resolved, place, sizeof(*place), &kept);

	if (r == 0)
		stack->places[stack->n_places++] = kept;
	return r;
}

/* Padding too, as places are told apart by their bytes. */
static void place_init(struct view_place *place)
{
	memset(place, 0, sizeof(*place));
	place->symbol = &unknown_symbol;
}

/* The allocator function itself, where it was mapped when the stack was taken. */
static int add_allocator(const struct view_resolver *resolver,
			 const struct record_function *function, image_t image, uint64_t time_ns,
			 struct view_stack *stack)
{
	const struct resolved *resolved = NULL;
	struct view_place place;
	struct model_place at;
	int r = 0;

	place_init(&place);
	place.object = function->object;
	place.offset = place.vaddr = function->file_offset;
	place.alloc = function->name;
	if (model_locate(resolver->model, image, function, time_ns, &place.addr, &at)) {
		place.has_addr = true;
		place.mapped = at.object;
		place.mapping = at.mapping;
		r = resolve_place(resolver, image, time_ns, &at, false, &place, &resolved);
	}
	if (r == 0)
		r = cache_resolved(resolver, resolved, &place, stack);
	/* Each site has room for this one. */
	return r == -ENOSPC ? cache_resolved(resolver, NULL, &place, stack) : r;
}

/* There is no room for where in the object it is. */
static int add_other_place(const struct view_resolver *resolver, const struct model_object *object,
			   struct view_stack *stack)
{
	const struct resolved *resolved;
	struct view_place place;
	int r = symbols_other(resolver->symbols, object, &resolved);

	if (r < 0)
		return r;
	place_init(&place);
	place.mapped = object;
	place.object = resolved->object;
	place.symbol = resolved->symbol;
	return cache_resolved(resolver, resolved, &place, stack);
}

/* `is_call`: the address is where a call returns to. */
static int add_frame(const struct view_resolver *resolver, const struct model_stack *from,
		     uint64_t addr, bool is_call, struct view_stack *stack)
{
	const struct resolved *resolved = NULL;
	struct model_place at = { 0 };
	struct view_place place;
	int r;

	place_init(&place);
	place.has_addr = true;
	place.is_call = is_call;
	place.addr = place.vaddr = addr;
	/*
	 * A call that never returns may end its function, and the return address is then beyond the
	 * mapping of what made it: the call itself counts.
	 */
	if (addr >= is_call &&
	    model_resolve(resolver->model, from->image, addr - is_call, from->time_ns, &at))
		at.file_offset += is_call;
	r = resolve_place(resolver, from->image, from->time_ns, &at, is_call, &place, &resolved);
	if (r == 0)
		r = cache_resolved(resolver, resolved, &place, stack);
	return r == -ENOSPC ? add_other_place(resolver, at.object, stack) : r;
}

/* `from` may be NULL: there is nothing to add then. */
static int add_callers(const struct view_resolver *resolver, const struct model_stack *from,
		       struct view_stack *stack)
{
	int r = 0;

	for (size_t i = 0; r == 0 && from && i < from->n_frames; i++)
		r = add_frame(resolver, from, model_stack_frame(from, i),
			      model_stack_is_call(from, i), stack);
	return r;
}

static int allocate(struct view_stack *stack, size_t n)
{
	*stack = (struct view_stack){ .places = calloc(n + 1, sizeof(stack->places[0])) };
	return stack->places ? 0 : -ENOMEM;
}

/* One place more than the stack has frames. */
static int add_other(const struct view_resolver *resolver, struct view_stack *stack)
{
	struct view_place place;

	place_init(&place);
	place.symbol = &other_symbol;
	stack->truncated = true;
	return cache_resolved(resolver, NULL, &place, stack);
}

static bool in_sampling_library(const struct view_place *place)
{
	return place->object && preload_is_library(place->object);
}

/*
 * Of the library that samples for a program, only what the program has called is shown: malloc,
 * behind the frame that stands for all samples. At exact depth that is the next allocator's, which
 * comes first; of the library, which has passed the call on, nothing is.
 */
static void leave_out_sampler(struct view_stack *stack, const struct record_function *function)
{
	bool keeps_one = strcmp(function->name, RECORD_SAMPLED_NAME) == 0;
	size_t n = 1;

	while (n < stack->n_places && in_sampling_library(stack->places[n]) &&
	       (!keeps_one ||
		(n + 1 < stack->n_places && in_sampling_library(stack->places[n + 1]))))
		n++;
	if (n == 1)
		return;
	memmove(&stack->places[1], &stack->places[n],
		(stack->n_places - n) * sizeof(stack->places[0]));
	stack->n_places -= n - 1;
}

int view_resolve_site(const struct view_resolver *resolver, const struct model_process *image,
		      uint16_t fn, uint64_t stack_id, struct view_stack *ret_stack)
{
	const struct record_function *function = model_function(resolver->model, fn);
	const struct model_stack *from = model_stack(resolver->model, stack_id, image->id);
	const bool is_other = stack_id == RECORD_STACK_OTHER;
	int r = allocate(ret_stack, (function ? 1 : 0) + (from ? from->n_frames : is_other));

	if (r < 0)
		return r;
	/* 0: of no frame, as under --max-stack=0 */
	ret_stack->lost = !from && stack_id != 0 && !is_other;
	ret_stack->truncated = from ? from->truncated : stack_id == 0 && fn != RECORD_BEFORE_ATTACH;
	if (function)
		r = add_allocator(resolver, function, from ? from->image : image->id,
				  from ? from->time_ns : model_now_ns(resolver->model), ret_stack);
	if (r == 0)
		r = is_other ? add_other(resolver, ret_stack) :
			       add_callers(resolver, from, ret_stack);
	if (r == 0 && function)
		leave_out_sampler(ret_stack, function);
	return r;
}

static bool none_wanted(const struct view_resolver *resolver)
{
	const struct record_run *run = model_run(resolver->model);

	return run && run->no_stacks;
}

int view_resolve_event(const struct view_resolver *resolver, const struct model_process *image,
		       uint64_t stack_id, uint64_t kernel_stack_id, struct view_stack *ret_stack)
{
	const struct model_stack *from = NULL, *kernel = NULL;
	bool is_other;
	int r;

	if (stack_id != 0)
		from = model_stack(resolver->model, stack_id, image->id);
	if (kernel_stack_id != 0)
		kernel = model_stack(resolver->model, kernel_stack_id, RECORD_NO_IMAGE);
	is_other = stack_id == RECORD_STACK_OTHER;
	r = allocate(ret_stack,
		     (kernel ? kernel->n_frames : 0) + (from ? from->n_frames : is_other));
	if (r < 0)
		return r;
	ret_stack->lost = !from && !is_other && stack_id != RECORD_STACK_NO_CODE &&
			  (stack_id != 0 || !none_wanted(resolver));
	ret_stack->kernel_lost = kernel_stack_id != 0 && !kernel;
	ret_stack->truncated = from && from->truncated;
	r = add_callers(resolver, kernel, ret_stack);
	if (r < 0)
		return r;
	return is_other ? add_other(resolver, ret_stack) : add_callers(resolver, from, ret_stack);
}

int view_stack_share(struct view_stack *stack, struct pieces *pieces)
{
	size_t own = pieces_own(stack->n_places), count = pieces_count(stack->n_places);
	_cleanup_free_ const struct view_place **places = NULL;
	struct words_piece **list;
	int r;

	if (count == 0)
		return 0;
	places = calloc(own + count, sizeof(*places));
	if (!places)
		return -ENOMEM;
	list = (struct words_piece **)(places + own);
	r = pieces_add(pieces, stack->places, stack->n_places, list);
	if (r < 0)
		return r;
	memcpy(places, stack->places, own * sizeof(*places));
	free(stack->places);
	stack->places = TAKE_PTR(places);
	stack->pieces = list;
	return 0;
}

void view_stack_done(struct view_stack *stack)
{
	free(stack->places);
	stack->places = NULL;
	stack->pieces = NULL;
	stack->n_places = 0;
}
