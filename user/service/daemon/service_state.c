/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/daemon/service_state.h"

#include <stdlib.h>
#include <string.h>

void service_end_call(struct service_call *call)
{
	http_query_done(&call->query);
	free(call->rows.rows);
	free(call);
}

void service_answer(struct service_call *call, struct http_answer *answer)
{
	http_request_set_userdata(call->request, NULL);
	http_request_answer(call->request, answer);
	service_end_call(call);
}

void service_resume(struct service_call *call, int error)
{
	struct http_answer answer = {};
	int r = error < 0 ? error : call->route(call, &answer);

	if (r == 1)
		return;
	if (r < 0)
		http_answer_error(&answer, 500, "%s", strerror(-r));
	service_answer(call, &answer);
	http_answer_done(&answer);
}
