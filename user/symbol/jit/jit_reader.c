/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/jit/jit_reader.h"

#include "sandbox/worker.h"

#include <errno.h>

/* 0, -EBADMSG, -ENOMEM or what fn returned, which has no -EBADMSG. */
static int read_items(struct decoder *decoder, uint32_t n, jit_item_fn fn, void *userdata)
{
	_cleanup_(jit_item_room_done) struct jit_item_room room = {};
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < n; i++) {
		struct jit_item item;

		r = jit_get_item(decoder, &room, &item);
		if (r == 0)
			r = fn(&item, userdata);
	}
	return r == 0 ? decoder_end(decoder) : r;
}

int jit_read(struct worker *worker, enum jit_request what, int fd, const struct jit_asked *asked,
	     jit_item_fn fn, void *userdata, struct jit_head *ret_head)
{
	_cleanup_strbuf_ struct strbuf request = {}, answer = {};
	struct decoder decoder;
	struct jit_head head;
	int r;

	strbuf_addch(&request, (char)what);
	codec_write(&request, &jit_asked_layout, asked, NULL);
	r = worker_call(worker, &request, &fd, 1, &answer);
	if (r < 0)
		return r;
	decoder = decoder_of(&answer);
	head = jit_get_head(&decoder, asked);
	r = decoder.error < 0 ? decoder.error : read_items(&decoder, head.n_items, fn, userdata);
	if (r == -EBADMSG)
		return worker_distrust(worker);
	if (r == 0)
		*ret_head = head;
	return r;
}
