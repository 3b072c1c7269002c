/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where a session's records go. */
#include "service/session_state.h"

#include <errno.h>

int session_take_record(const struct record *record, void *userdata)
{
	struct session *s = userdata;
	int r = model_apply(record, s->model);

	if (r == 0)
		r = outputs_take(s->outputs, record);
	return r || !s->listener ? r : s->listener(record, s->listener_data);
}

int session_drain(struct session *s)
{
	int r = source_drain(live_source(s->live), session_take_record, s);

	if (r < 0)
		return r;
	r = outputs_flush(s->outputs);
	return r == -EPIPE && s->launch ? 0 : r;
}
