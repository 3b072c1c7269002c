/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/daemon/routes/process_rows.h"

#include "base/cleanup.h"
#include "service/daemon/routes/permits.h"
#include "target/process.h"
#include "target/process_list.h"
#include "target/statm.h"

#include <fnmatch.h>
#include <string.h>

typedef VEC(struct process_row) row_vec;

static int by_size(const void *a, const void *b)
{
	const struct process_row *x = a, *y = b;

	if (x->rss_bytes != y->rss_bytes)
		return x->rss_bytes < y->rss_bytes ? 1 : -1;
	return x->pid < y->pid ? -1 : x->pid > y->pid;
}

/* Kernel threads have no memory of their own, nor have zombies. */
static bool take(const struct service_call *call, const char *pattern, struct process_row *row)
{
	if (statm_rss(row->pid, &row->rss_bytes) < 0 || row->rss_bytes == 0)
		return false;
	if (!service_may_see_process(call, row->pid))
		return false;
	return process_comm(row->pid, row->comm) == 0 &&
	       (!pattern || fnmatch(pattern, row->comm, 0) == 0);
}

int process_rows_read(const struct service_call *call, const char *pattern, size_t most,
		      struct process_rows *ret_rows)
{
	row_vec rows = {};
	pid_vec pids = {};
	int r = process_list_host(&pids);

	for (size_t i = 0; r == 0 && i < pids.len; i++) {
		struct process_row row = { .pid = pids.data[i] };

		if (take(call, pattern, &row))
			r = vec_push(&rows, row);
	}
	vec_done(&pids);
	if (r < 0) {
		vec_done(&rows);
		return r;
	}
	if (rows.len > 0)
		qsort(rows.data, rows.len, sizeof(*rows.data), by_size);
	*ret_rows = (struct process_rows){
		.rows = rows.data,
		.n_rows = rows.len < most ? rows.len : most,
		.n_all = rows.len,
	};
	return 0;
}

void process_rows_done(struct process_rows *rows)
{
	free(rows->rows);
	*rows = (struct process_rows){};
}
