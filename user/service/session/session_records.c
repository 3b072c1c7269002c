/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where a session's records go. */
#include "report/view/symbols.h"
#include "service/session/session_state.h"

#include <errno.h>

int session_add_record(const struct record *record, void *userdata)
{
	struct session *s = userdata;
	int r = model_apply(record, s->model);

	if (r == 0)
		r = outputs_add_record(s->outputs, record);
	return r || !s->listener ? r : s->listener(record, s->listener_data);
}

static int close_files(struct session *s)
{
	const struct live_file *files;
	size_t n = live_closed_files(s->live, &files);
	_cleanup_free_ struct symbols_file *closed = n ? calloc(n, sizeof(*closed)) : NULL;

	if (n == 0)
		return 0;
	if (!closed)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		closed[i] = (struct symbols_file){ files[i].dev, files[i].ino };
	return symbols_close_files(outputs_symbols(s->outputs), closed, n);
}

int session_drain(struct session *s)
{
	int r = source_drain(live_source(s->live), session_add_record, s);

	if (r >= 0)
		r = live_maintain(s->live, session_add_record, s);
	if (r < 0)
		return r;
	r = close_files(s);
	if (r < 0)
		return r;
	r = outputs_flush(s->outputs);
	return r == -EPIPE && s->launch ? 0 : r;
}
