/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is left of processes that ended long ago: sums by executable. So a run over a host takes the
 * room of the processes that live, however many come and go. Part of the model.
 */
#ifndef MEMTRACED_MODEL_ENDED_H
#define MEMTRACED_MODEL_ENDED_H

#include "base/cleanup.h"
#include "model/image.h"

#include <stddef.h>

struct ended;

struct model_ended {
	const char *exe;  /* NULL: not known, or of the many beyond ENDED_MAX, */
	const char *comm; /* which have none; else that of the first of them */
	uint64_t processes;
	/* Sums; peak_bytes is the largest of one process, slot and comm mean nothing. */
	struct record_totals totals;
};

/* So many executables are told apart. */
#define ENDED_MAX 512

int ended_new(struct ended **ret_ended);
/* NULL is legal. */
void ended_free(struct ended *ended);
DEFINE_CLEANUP(struct ended, ended_free)

/* Adds an image; `exe` and its comm are interned. 0 or -ENOMEM. */
int ended_add(struct ended *ended, const struct model_process *image, const char *exe);

size_t ended_count(const struct ended *ended);
const struct model_ended *ended_get(const struct ended *ended, size_t index);

#endif
