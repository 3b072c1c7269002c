/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is left of processes that ended long ago: sums by executable. So a run over a host takes the
 * room of the processes that live, however many come and go. Part of the model.
 */
#ifndef MEMTRACED_MODEL_ENDED_H
#define MEMTRACED_MODEL_ENDED_H

#include "base/vec.h"
#include "model/image.h"

struct model_ended {
	const char *exe;  /* NULL: not known, or of the many beyond ENDED_MAX, */
	const char *comm; /* which have none; else that of the first of them */
	uint64_t processes;
	/* Sums; peak_bytes is the largest of one process, slot and comm mean nothing. */
	struct record_totals totals;
};

/* So many executables are told apart. */
#define ENDED_MAX 512

/* To begin with zero. */
struct ended {
	VEC(struct model_ended) list;
	VEC(const char *) names; /* what those of the list are told apart by; interned */
};

void ended_done(struct ended *ended);

/* Adds an image; `exe` and its comm are interned. 0 or -ENOMEM. */
int ended_add(struct ended *ended, const struct model_process *image, const char *exe);

#endif
