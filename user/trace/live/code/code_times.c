/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/live/code/code_times.h"

void code_times_changed(struct code_times *times, uint64_t time_ns)
{
	struct code_changes *changes = time_ns < times->read_ns ? &times->shown : &times->coming;

	if (!changes->first_ns || time_ns < changes->first_ns)
		changes->first_ns = time_ns;
	if (time_ns > changes->last_ns)
		changes->last_ns = time_ns;
}

void code_times_read(struct code_times *times, uint64_t now_ns)
{
	times->read_ns = now_ns;
	times->shown = times->coming;
	times->coming = (struct code_changes){ 0 };
}

uint64_t code_times_gone_ns(const struct code_times *times)
{
	return times->shown.first_ns ? times->shown.first_ns : times->read_ns;
}

uint64_t code_times_came_ns(const struct code_times *times, bool all_told, uint64_t asked_ns)
{
	if (!all_told)
		return times->read_ns;
	return times->shown.last_ns ? times->shown.last_ns : asked_ns;
}
