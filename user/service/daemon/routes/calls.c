/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/daemon/service_state.h"

#include <stdlib.h>

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
