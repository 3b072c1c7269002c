/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sums by executable of processes that ended long ago, so that the memory of a run over a host is
 * bounded by the processes that live. Part of the model.
 */
#ifndef MEMTRACED_MODEL_ENDED_H
#define MEMTRACED_MODEL_ENDED_H

#include "base/vec.h"
#include "model/image.h"

struct model_ended {
	const char *exe;  /* NULL: not known, or the sum of all executables beyond ENDED_MAX */
	const char *comm; /* of the first process; "" in that sum */
	uint64_t processes;
	/* Sums; peak_bytes is the largest of one process. `image` is not set. */
	struct record_totals totals;
};

/* Executables with an entry of their own. */
#define ENDED_MAX 512

/* Zero-initialised is empty. */
struct ended {
	VEC(struct model_ended) list;
};

void ended_done(struct ended *ended);

/* Adds an image; `exe` and its comm are interned. 0 or -ENOMEM. */
int ended_add(struct ended *ended, const struct model_process *image, const char *exe);

#endif
