/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/view/view_budget.h"

#include "base/strbuf.h"
#include "config/units.h"
#include "report/report_opts.h"

#include <inttypes.h>

static void add_share(struct strbuf *line, uint64_t ppm)
{
	strbuf_addf(line, "%" PRIu64 ".%02" PRIu64 " %%", ppm / 10000, ppm / 100 % 100);
}

void view_budget_words(const struct report_budget *budget, struct strbuf *out)
{
	char time[FORMAT_UNIT_LEN];

	if (budget->pre_empted) {
		strbuf_addf(out,
			    "ended early to make room for another trace ([trace] max_traces): NOT "
			    "TRACED for the last %s",
			    format_duration(budget->untraced_ns, time));
		return;
	}
	strbuf_adds(out, "budget: probes used ");
	add_share(out, budget->used_ppm);
	strbuf_adds(out, " of a CPU's time (estimated), ");
	add_share(out, budget->predicted_ppm);
	strbuf_adds(out, " if it had gone on; allowed: ");
	if (budget->max_ppm)
		add_share(out, budget->max_ppm);
	else
		strbuf_adds(out, "all");
	if (budget->untraced_ns)
		strbuf_addf(out, "; so it was NOT TRACED for the last %s",
			    format_duration(budget->untraced_ns, time));
}
