/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/jit_reader.h"

#include "sandbox/worker.h"

#include <errno.h>

/* 0, -EBADMSG, -ENOMEM or what fn returned, which has no -EBADMSG. */
static int take_items(struct wire_reader *reader, uint32_t n, jit_item_fn fn, void *userdata)
{
	_cleanup_(jit_item_room_done) struct jit_item_room room = {};
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < n; i++) {
		struct jit_item item;

		r = jit_get_item(reader, &room, &item);
		if (r == 0)
			r = fn(&item, userdata);
	}
	return r == 0 && !wire_is_read(reader) ? -EBADMSG : r;
}

int jit_read(struct worker *worker, enum jit_request what, int fd, const struct jit_asked *asked,
	     jit_item_fn fn, void *userdata, struct jit_head *ret_head)
{
	_cleanup_strbuf_ struct strbuf request = {}, answer = {};
	struct wire_reader reader;
	struct jit_head head;
	int r;

	wire_put_u8(&request, (uint8_t)what);
	jit_put_asked(&request, asked);
	r = worker_call(worker, &request, &fd, 1, &answer);
	if (r < 0)
		return r;
	reader = wire_read(&answer);
	head = jit_get_head(&reader, asked);
	r = reader.bad ? -EBADMSG : take_items(&reader, head.n_items, fn, userdata);
	if (r == -EBADMSG)
		return worker_distrust(worker);
	if (r == 0)
		*ret_head = head;
	return r;
}
