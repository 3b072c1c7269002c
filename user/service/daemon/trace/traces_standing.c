/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The configuration of traces, and the trace that it names itself: [post_mortem] trace. */
#include "base/log.h"
#include "service/daemon/trace/trace_state.h"
#include "service/daemon/trace/traces.h"

#include <errno.h>
#include <string.h>

struct traces_next {
	const struct service_config *config;
	struct trace *stands; /* what it names is traced already; NULL: it is not */
	struct trace *trace;  /* of what it names; NULL: it names nothing, or `stands` */
};

static struct trace *stands_already(const struct traces *traces, const struct trace_ask *ask,
				    const char *patterns)
{
	vec_foreach(&traces->list, trace)
		if (trace_is_standing(*trace) && (*trace)->depth == ask->depth &&
		    strcmp((*trace)->standing, patterns) == 0)
			return *trace;
	return NULL;
}

static int begin_standing(struct traces *traces, struct traces_next *next, struct strbuf *error)
{
	const struct service_config *config = next->config;
	const struct trace_ask ask = { .kind = TRACE_HEAP, .depth = config->standing_depth };
	_cleanup_strbuf_ struct strbuf patterns = {};
	int r;

	for (size_t i = 0; config->standing && config->standing[i]; i++)
		strbuf_addf(&patterns, "%s%s", i > 0 ? ", " : "", config->standing[i]);
	if (strbuf_error(&patterns))
		return -ENOMEM;
	next->stands = stands_already(traces, &ask, strbuf_str(&patterns));
	if (next->stands || !config->standing)
		return 0;
	r = trace_new(traces, config, &ask, strbuf_str(&patterns), &next->trace);
	if (r < 0)
		strbuf_addf(error, "[post_mortem] trace: cannot trace %s: %s",
			    strbuf_str(&patterns), strerror(-r));
	return r;
}

int traces_prepare(struct traces *traces, const struct service_config *config,
		   struct traces_next **ret_next, struct strbuf *error)
{
	_cleanup_(traces_next_free_p) struct traces_next *next = calloc(1, sizeof(*next));
	int r;

	if (!next)
		return -ENOMEM;
	next->config = service_config_ref(config);
	r = begin_standing(traces, next, error);
	/* A service that begins does the rest of its work without it. */
	if (r < 0 && r != -ENOMEM && !traces->config) {
		log_error("%s", strbuf_str(error));
		strbuf_reset(error);
		r = 0;
	}
	if (r == 0)
		*ret_next = TAKE_PTR(next);
	return r;
}

/* Whether it can be traced is known later, and is no matter of the configuration. */
static void start_standing(struct trace *trace)
{
	int r = trace_start(trace);

	if (r == 0)
		return;
	trace->has_ended = true;
	log_error("[post_mortem] trace: %s: cannot trace: %s", trace->standing, strerror(-r));
}

void traces_start(struct traces *traces)
{
	traces->is_started = true;
	vec_foreach(&traces->list, trace)
		if (!(*trace)->runner)
			start_standing(*trace);
}

void traces_commit(struct traces *traces, struct traces_next *next)
{
	service_config_set(&traces->config, next->config);
	traces->budget.most = (double)next->config->max_overhead / 10000;
	/* What is named goes on until its successor traces. */
	if (!next->trace)
		traces_end_standing(traces, next->stands);
	if (next->trace) {
		(void)vec_push(&traces->list, next->trace); /* there is room */
		if (traces->is_started)
			start_standing(next->trace);
		next->trace = NULL;
	}
	traces_next_free(next);
}

void traces_next_free(struct traces_next *next)
{
	if (!next)
		return;
	trace_free(next->trace);
	service_config_unref(next->config);
	free(next);
}
