/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The symbol side of reports: pairs the model's objects with the symbolizer's and remembers what
 * was looked up, so that a recording can carry it. Objects are opened when symbols_update first
 * sees them: call it soon after mappings came in, while the target still lives. One thread.
 */
#ifndef MEMTRACED_REPORT_VIEW_SYMBOLS_H
#define MEMTRACED_REPORT_VIEW_SYMBOLS_H

#include "base/cleanup.h"
#include "model/model.h"
#include "symbol/symbolizer.h"

struct symbols;

/*
 * A place. Owned by the symbols, valid until they are freed, or forget it: symbols_age,
 * symbols_fetch_from. What `symbol` points to says that nothing is known before symbols_settle.
 */
struct resolved {
	const struct symbol *symbol;
	const char *object; /* path for people: the JIT map's where that knew the function */
	uint64_t vaddr;	    /* the place as the object's own ELF address */
	bool is_other;	    /* symbols_other: it stands for places beyond the room */
};

/*
 * Model and symbolizer must outlive the symbols. `open_files`: false when the files of this host
 * are not those of the run (a recording is read).
 */
int symbols_new(const struct model *model, struct symbolizer *symbolizer, bool open_files,
		struct symbols **ret_symbols);
/* NULL is legal. */
void symbols_free(struct symbols *symbols);
DEFINE_CLEANUP(struct symbols, symbols_free)

/*
 * So much may be used for places, of which one process leaves a part to others; without this call
 * half of what a report from a recording may use (service/report_confine.c).
 */
void symbols_limit(struct symbols *symbols, uint64_t max_bytes);

/* Opens what the model has learnt of since the last call. 0 or -ENOMEM. */
int symbols_update(struct symbols *symbols);

/*
 * Makes a RECORD_SYMBOL, RECORD_JIT_CODE or RECORD_SYMBOLS_UNREAD known; `userdata` is the symbols,
 * other records are ignored (a record_fn). The record of a symbol's mapping must be in the model. 0
 * or -ENOMEM.
 */
int symbols_apply(const struct record *record, void *userdata);

/* Where and when a place was: for code that belongs to no file. */
struct symbols_at {
	image_t image;
	uint64_t addr, time_ns;
	bool is_call; /* it is a return address */
};

/*
 * Looks a place up, but for its symbol; without an object it is an address where nothing known was
 * mapped. 0; -ENOSPC: it is new, and there is no room; or -ENOMEM.
 */
int symbols_resolve(struct symbols *symbols, const struct model_place *place,
		    const struct symbols_at *at, const struct resolved **ret_resolved);

/* What stands for an object's places that find no room; NULL: for addresses. 0 or -ENOMEM. */
#define SYMBOLS_OTHER_NAME "[other code]"
int symbols_other(struct symbols *symbols, const struct model_object *object,
		  const struct resolved **ret_resolved);

/* Places for which there was no room so far: each time that symbols_other was asked. */
uint64_t symbols_others(const struct symbols *symbols);

/*
 * A copy of what is made of a place, valid as long as what symbols_resolve gave. Equal bytes for
 * the same place, one after the other, are one copy, so all of one `resolved` have one length;
 * NULL: of no place, for which there is room. 0; -ENOSPC: it is new, and there is no room; or
 * -ENOMEM.
 */
int symbols_keep(struct symbols *symbols, const struct resolved *resolved, const void *data,
		 size_t len, const void **ret_kept);

/* Looks up the symbols of all places since the last call, object by object. 0 or -ENOMEM. */
int symbols_settle(struct symbols *symbols);

/*
 * To be called where nothing holds what symbols_resolve gave: when there is much of it, what was
 * not used for long is forgotten, and all that was given is void. 0 or -ENOMEM.
 */
int symbols_age(struct symbols *symbols);
/* There is so much that it will be forgotten. */
bool symbols_has_many(const struct symbols *symbols);

/*
 * Of a run that goes on for good: files that nothing maps any more are closed, when all that the
 * model has of them was looked up; and a mapping for which one is opened again. 0 or -ENOMEM.
 */
struct symbols_file {
	uint64_t dev, ino;
};
int symbols_close_files(struct symbols *symbols, const struct symbols_file *files, size_t n);
int symbols_open_again(struct symbols *symbols, const struct record_mapping *mapping);

/* symbolizer_fetch_from; what symbols_resolve gave is void. 0 or -ENOMEM. */
int symbols_fetch_from(struct symbols *symbols, struct debuginfod *debuginfod);

/* Of so many processes what run-times say of their code could not be read, so far. */
void symbols_miss_codes(struct symbols *symbols, uint64_t n);

/*
 * Places, debug files and processes' codes that no worker could say anything of, here or, so a
 * recording, there.
 */
uint64_t symbols_unread(const struct symbols *symbols);

/*
 * Hands what was looked up to fn as RECORD_SYMBOLs, without what an earlier call has handed over,
 * unless it was forgotten since; and how much is unread. 0, or what fn returned.
 */
int symbols_each_new(struct symbols *symbols, record_fn fn, void *userdata);

#endif
