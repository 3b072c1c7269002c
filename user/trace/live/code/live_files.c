/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A session that goes on for good keeps no files open that no process maps any more: their file
 * system could not be unmounted. One that ends keeps them, as its report needs their symbols.
 */
#include "base/clock.h"
#include "trace/live/code/live_code.h"

/* A death may still be told of, with the names of functions, and a program begin again. */
#define UNUSED_NS 3000000000ULL
#define LOOK_EVERY_NS 1000000000ULL

static void on_closed(uint32_t dev, uint64_t ino, void *userdata)
{
	struct live *live = userdata;

	/* Without memory its symbols keep it open: no fault of the trace. */
	(void)vec_push(&live->closed.files, (struct live_file){ dev, ino });
}

void live_close_files(struct live *live)
{
	uint64_t now_ns = clock_monotonic_ns();

	if (!live->opts.forget_ended || now_ns < live->closed.next_ns)
		return;
	live->closed.next_ns = now_ns + LOOK_EVERY_NS;
	vec_foreach(&live->slots.all, p) {
		if (!*p || (*p)->ended)
			continue;
		vec_foreach(&(*p)->code.ranges, range)
			if (range->object)
				object_use(range->object);
	}
	objects_close_unused(live->objects, now_ns, UNUSED_NS, on_closed, live);
}

size_t live_take_closed(struct live *live, const struct live_file **ret_files)
{
	size_t n = live->closed.files.len;

	*ret_files = live->closed.files.data;
	live->closed.files.len = 0;
	return n;
}
