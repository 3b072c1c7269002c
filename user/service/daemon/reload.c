/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/daemon/reload.h"

static void discard(const struct reload_step *steps, size_t n, struct reload *reload)
{
	while (n-- > 0)
		if (steps[n].discard)
			steps[n].discard(reload);
}

int reload_run(const struct reload_step *steps, size_t n, struct service *service,
	       struct reload *reload, struct strbuf *error)
{
	for (size_t i = 0; i < n; i++) {
		int r = steps[i].prepare ? steps[i].prepare(service, reload, error) : 0;

		if (r < 0) {
			discard(steps, i, reload);
			return r;
		}
	}
	for (size_t i = 0; i < n; i++)
		if (steps[i].commit)
			steps[i].commit(service, reload);
	return 0;
}
