/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is known about a run: processes and their mappings over time, stacks, probed functions, the
 * sites and totals of the latest cut, the mmap class, losses. Fed with records (model_apply is a
 * record_fn), read by reports. It keeps nothing of a record but copies. One thread.
 */
#ifndef MEMTRACED_MODEL_MODEL_H
#define MEMTRACED_MODEL_MODEL_H

#include "base/cleanup.h"
#include "model/coverage.h"
#include "model/ended.h"
#include "model/image.h"
#include "model/job_counts.h"
#include "model/object_table.h"
#include "model/stacks.h"
#include "trace/record/record.h"

struct model;
struct series;

/* An address as a place in an object. */
struct model_place {
	const struct model_object *object;
	uint64_t file_offset;
	const struct mapping *mapping; /* model/mappings.h; valid until the next record */
};

int model_new(struct model **ret_model);
/* NULL is legal. */
void model_free(struct model *model);
DEFINE_CLEANUP(struct model, model_free)

/*
 * Takes in one record; `userdata` is the model. 0, -ENOMEM, or -EPROTO for a record that cannot
 * stand where it does (a site outside of a cut). Records of an image whose beginning was lost make
 * a process that is not `known`; RECORD_SYMBOL, RECORD_JIT_CODE, RECORD_OCCURRENCE and those of
 * leak checks are not the model's and ignored.
 */
int model_apply(const struct record *record, void *userdata);

/*
 * Of processes that have ended, only the newest n stay with their sites; sums by executable are
 * left of the others (model_ended). A tenth more may be there for a while. Without this all stay,
 * as they do where events or system calls are counted, which are told by process; but
 * model_forget_counts has events go with their process, whose counts end two cuts after it.
 */
void model_keep_ended(struct model *model, size_t n);
void model_forget_counts(struct model *model);
/* As regions_limit, of each process from then on. */
void model_limit_regions(struct model *model, size_t most);
/* What a run without end may fill memory with, though what has ended is forgotten. */
struct model_size {
	size_t counts;	 /* of events, each with a stack */
	size_t objects;	 /* files that were ever mapped */
	size_t mappings; /* those that are gone among them */
	size_t stacks;	 /* of all, who has ended among them */
	size_t regions;	 /* of --mappings, and, of who runs, the sites that made any */
	size_t region_sites;
};
struct model_size model_size(const struct model *model);
/* Regions that model_limit_regions has had no room for. */
uint64_t model_regions_left_out(const struct model *model);

/* NULL before RECORD_RUN. */
const struct record_run *model_run(const struct model *model);

/* Time of the latest cut; before the first, of the latest record. */
uint64_t model_now_ns(const struct model *model);
/* How long the machine was asleep from the start of the run to then; of older recordings 0. */
uint64_t model_slept_ns(const struct model *model);

/* Did the process become known after the latest cut had begun? It is in none, then. */
bool model_is_later(const struct model *model, const struct model_process *image);

/* In order of their beginning. */
size_t model_n_processes(const struct model *model);
const struct model_process *model_process(const struct model *model, size_t index);
const struct model_process *model_find_process(const struct model *model, image_t image);

/* NULL for an id that was never announced. */
const struct record_function *model_function(const struct model *model, uint16_t id);

/* The stack as seen in that process, or as seen first; NULL when it was lost. */
const struct model_stack *model_stack(const struct model *model, uint64_t id, image_t image);

/* stacks_next() of its stacks. */
const struct model_stack *model_next_stack(const struct model *model, size_t *pos,
					   const struct model_stack *last);

/*
 * What was mapped in the process at that address and time; forked children are looked up in their
 * ancestors. RECORD_NO_IMAGE: in the kernel. False when nothing was.
 */
bool model_resolve(const struct model *model, image_t image, uint64_t addr, uint64_t time_ns,
		   struct model_place *ret_place);

/* Address of a probed function in the process at that time, and its place. False: not mapped. */
bool model_locate(const struct model *model, image_t image, const struct record_function *function,
		  uint64_t time_ns, uint64_t *ret_addr, struct model_place *ret_place);

/*
 * Where the process's executable is or was mapped, the lowest such mapping; valid until the next
 * record. NULL when that is not known.
 */
const struct mapping *model_exe_mapping(const struct model *model, image_t image);

/*
 * What the process, or the ancestor that it was forked from, has executed: the command with its
 * arguments, quoted for a shell, or the path alone; until the next record. NULL: not known.
 */
const char *model_command(const struct model *model, image_t image);

/* What its parts hold: each has a header of its own to read it by. */
const struct object_table *model_objects(const struct model *model);
const struct histograms *model_histograms(const struct model *model);
const struct event_counts *model_events(const struct model *model);
const struct syscalls *model_syscalls(const struct model *model); /* where those were asked for */
const struct coverage *model_coverage(const struct model *model);
const struct depths *model_depths(const struct model *model);
const struct series *model_series(const struct model *model); /* model/series.h */
const struct ended *model_ended(const struct model *model);

#endif
