/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The processes of a run, their mappings, their mmap regions, and the sites of the latest cut.
 * Part of the model, used by model.c alone. A process that ended keeps its last values, for good or
 * until it is folded.
 */
#ifndef MEMTRACED_MODEL_PROCESS_H
#define MEMTRACED_MODEL_PROCESS_H

#include "model/ended.h"
#include "model/image.h"
#include "model/mappings.h"

struct processes;

/* `strings` must outlive the processes. */
int processes_new(struct strings *strings, struct processes **ret_processes);
/* NULL is legal. */
void processes_free(struct processes *processes);
DEFINE_CLEANUP(struct processes, processes_free)

size_t processes_count(const struct processes *processes);
const struct model_process *processes_get(const struct processes *processes, size_t index);
const struct model_process *processes_find(const struct processes *processes, image_t image);
/* Of all of them. */
size_t processes_n_mappings(const struct processes *processes);
/* As regions_limit, of each process that begins to map; 0: all. */
void processes_limit_regions(struct processes *processes, size_t most);

/* Each takes in the record of its name: 0 or -ENOMEM. */
int processes_begin(struct processes *processes, const struct record_process *record);
int processes_end(struct processes *processes, const struct record_process_end *record);
int processes_rename(struct processes *processes, const struct record_name *record);
int processes_map(struct processes *processes, const struct record_mapping *record,
		  const struct model_object *object);
int processes_unmap(struct processes *processes, const struct record_unmapping *record);
int processes_region(struct processes *processes, const struct record_region *record);
int processes_region_gone(struct processes *processes, const struct record_region_gone *record);
int processes_resident(struct processes *processes, const struct record_resident *record);

/*
 * A cut replaces sites and totals of the processes that are in it as a whole at its end; an
 * unfinished one leaves everything as it was.
 */
void processes_cut_begin(struct processes *processes);
/* Did its record come after the latest cut had begun? Not before the first. */
bool processes_is_later(const struct processes *processes, const struct model_process *image);
int processes_cut_totals(struct processes *processes, const struct record_totals *record);
int processes_cut_site(struct processes *processes, const struct record_site *record);
int processes_fault(struct processes *processes, const struct record_fault *record);
int processes_death(struct processes *processes, const struct record_death *record);
int processes_cut_error(struct processes *processes, const struct record_heap_error *record);
int processes_cut_free_pair(struct processes *processes, const struct record_free_pair *record);
void processes_cut_end(struct processes *processes);
/*
 * After it, where nothing but counts of events is kept of processes: of who has been ended for so
 * many cuts nothing more comes (trace/live/jobs/live_jobs.c).
 */
#define PROCESSES_LAST_CUTS 2
void processes_cut_ended(struct processes *processes);

/*
 * Folding: of processes that have ended and handed over their last values, and that no other one
 * inherits from, the newest `keep` stay as they are, the sums of the others go to
 * processes_ended(). *ret_folded: numbers of the images that are gone, sorted, *ret_n of them,
 * malloc'ed. 0 or -ENOMEM.
 */
int processes_fold(struct processes *processes, size_t keep, image_t **ret_folded, size_t *ret_n);
const struct ended *processes_ended(const struct processes *processes);

/* The mapping that held, looked up in ancestors for forked children, or NULL. */
const struct mapping *processes_find_mapping(const struct processes *processes, image_t image,
					     uint64_t addr, uint64_t time_ns);
/* The same by file offset of an object; `path` is interned. */
const struct mapping *processes_find_file(const struct processes *processes, image_t image,
					  const char *path, uint64_t file_offset, uint64_t time_ns);
/* Where the process's executable is or was mapped, by itself or by an ancestor; or NULL. */
const struct mapping *processes_find_exe(const struct processes *processes, image_t image);
/* What was executed, by itself or by an ancestor: the command, else the path; or NULL. */
const char *processes_command(const struct processes *processes, image_t image);

#endif
