/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/record/record_cut.h"

#include <string.h>

bool record_loss_spares_totals(const char *cause)
{
	static const char *const causes[] = {
		"stack-map-full",	  RECORD_CAUSE_STACK_ROOM,
		"stack-unreadable",	  "stack-scratch-busy",
		"mapping-unknown",	  "file-name",
		"unwind-tables-full",	  RECORD_CAUSE_CUT_OFF,
		"free-pair-map-full",	  "birth-map-full",
		RECORD_CAUSE_UNREAD,	  RECORD_CAUSE_PLACES,
		"unwind-rows-not-parsed", "process-mapping-stacks-full",
		"code-start-map-full",	  "cpu-was-away",
		RECORD_CAUSE_BOOK_STACKS, "crash-block-not-searched",
	};

	for (size_t i = 0; i < sizeof(causes) / sizeof(causes[0]); i++)
		if (strcmp(cause, causes[i]) == 0)
			return true;
	return false;
}

bool record_counted_nothing(const struct record_coverage *coverage)
{
	for (size_t i = 0; i < coverage->n_losses; i++)
		if (strcmp(coverage->losses[i].cause, RECORD_CAUSE_FLOOR) == 0)
			return true;
	return false;
}
