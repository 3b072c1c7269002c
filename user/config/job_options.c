/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config/job_options.h"

#include "config/units.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int job_apply_hist(struct option_parser *p, const struct option_def *def, const char *value)
{
	struct options *o = p->options;
	struct hist_spec *hists;
	int r;

	(void)def; /* sets its own field */
	for (size_t i = 0; i < o->n_hists; i++)
		if (strcmp(o->hists[i].text, value) == 0)
			return option_error(p, "'--hist %s' is given twice: give it once", value);
	hists = reallocarray(o->hists, o->n_hists + 1, sizeof(*hists));
	if (!hists)
		return -ENOMEM;
	o->hists = hists;
	r = hist_spec_parse(value, &hists[o->n_hists], p->error);
	if (r == 0)
		o->n_hists++;
	return r;
}

/* Room for one more, which is not counted yet; NULL: no memory. */
static struct event_spec *more_events(struct options *o)
{
	struct event_spec *events = reallocarray(o->events, o->n_events + 1, sizeof(*events));

	if (!events)
		return NULL;
	o->events = events;
	return &events[o->n_events];
}

int job_apply_event(struct option_parser *p, const struct option_def *def, const char *value)
{
	struct options *o = p->options;
	struct event_spec *event = more_events(o);
	int r;

	(void)def; /* sets its own field */
	if (!event)
		return -ENOMEM;
	r = event_spec_parse(value, event, p->error);
	if (r < 0)
		return r;
	o->n_events++;
	for (size_t i = 0; i + 1 < o->n_events; i++)
		if (event_spec_equal(&o->events[i], event))
			return option_error(p, "'-e %s' and '-e %s' are one event: give it once",
					    o->events[i].text, value);
	return 0;
}

/* The usual one: no multiple of what timers do, few enough for hosts. */
#define DEFAULT_HZ 99
#define MOST_HZ 10000

/* A number of 1 to `most`, which stays as it is without a value; false: that is none. */
static bool take_rate(const char *value, uint64_t most, uint64_t *number)
{
	return !value || (parse_digits(value, value + strlen(value), number) == 0 && *number > 0 &&
			  *number <= most);
}

/* r: of what has filled more_events(). */
static int count_event(struct options *o, int r)
{
	if (r == 0)
		o->n_events++;
	return r;
}

int job_apply_cpu(struct option_parser *p, const struct option_def *def, const char *value)
{
	struct event_spec *event = more_events(p->options);
	uint64_t hz = DEFAULT_HZ;

	(void)def; /* sets its own field */
	if (!event)
		return -ENOMEM;
	if (!take_rate(value, MOST_HZ, &hz))
		return option_error(p, "'%s' is no value of '--cpu': give 1 to %d samples a second",
				    value, MOST_HZ);
	return count_event(p->options, event_spec_cpu((uint32_t)hz, event));
}

#define MOST_FAULTS 1000000000

int job_apply_page_faults(struct option_parser *p, const struct option_def *def, const char *value)
{
	struct event_spec *event = more_events(p->options);
	uint64_t period = 0; /* it adapts */

	(void)def; /* sets its own field */
	if (!event)
		return -ENOMEM;
	if (!take_rate(value, MOST_FAULTS, &period))
		return option_error(p,
				    "'%s' is no value of '--page-faults': give 1 for each fault, "
				    "or up to %d for one in so many",
				    value, MOST_FAULTS);
	return count_event(p->options, event_spec_page_faults((uint32_t)period, event));
}

int job_apply_off_cpu(struct option_parser *p, const struct option_def *def, const char *value)
{
	struct event_spec *event = more_events(p->options);

	(void)def;   /* sets its own field */
	(void)value; /* a flag has none */
	return event ? count_event(p->options, event_spec_off_cpu(event)) : -ENOMEM;
}

int job_apply_allocator(struct option_parser *p, const struct option_def *def, const char *value)
{
	struct options *o = p->options;
	struct allocator_spec *allocators;
	int r;

	(void)def; /* sets its own field */
	allocators = reallocarray(o->allocators, o->n_allocators + 1, sizeof(*allocators));
	if (!allocators)
		return -ENOMEM;
	o->allocators = allocators;
	r = allocator_spec_parse(value, &allocators[o->n_allocators], p->error);
	if (r == 0)
		o->n_allocators++;
	return r;
}
