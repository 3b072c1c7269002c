/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the parts of report/view/symbols.h share: symbols_lookup.c, which alone makes entries, and
 * symbols_records.c.
 */
#ifndef MEMTRACED_REPORT_VIEW_SYMBOLS_STATE_H
#define MEMTRACED_REPORT_VIEW_SYMBOLS_STATE_H

#include "base/hashmap.h"
#include "base/vec.h"
#include "report/view/symbols.h"

/* Something looked up: a file offset of an object, or an address in a process's JIT code. */
struct entry {
	const struct model_object *object; /* NULL: JIT */
	image_t image;
	uint32_t code; /* JIT: jit_place.code, 0 for unknown code; else 0 */
	uint64_t offset;
	bool is_call;
	const void *kept;	      /* by symbols_keep: the latest */
	bool handed_over;	      /* by symbols_each_new */
	bool is_unmapped;	      /* where nothing known was mapped: of the key */
	bool is_pending;	      /* its symbol is still to be looked up */
	bool is_missed;		      /* its object was closed when it was to be looked up */
	struct symbol_object *opened; /* NULL: JIT */
	struct resolved resolved;
	struct symbol symbol; /* what `resolved` points to: unknown until symbols_settle */
	struct symbol_frame frame;
};

/* What one process has taken: all its images, as any may be executed again and again. */
struct place_share {
	uint64_t process;
	uint64_t bytes; /* but for those since it became the latest */
};

struct symbols {
	const struct model *model;
	struct symbolizer *symbolizer;
	bool open_files;
	size_t n_closed;		     /* objects, by symbols_close_file */
	size_t n_missed;		     /* entries of such that could not be looked up */
	bool has_kernel;		     /* /proc/kallsyms was read */
	VEC(struct symbol_object *) objects; /* by the index of the model's */
	struct jit_codes *jit;
	struct hashmap entries;
	VEC(struct entry *) pending;	   /* not looked up so far */
	VEC(void *) kept;		   /* as long as the entries */
	uint64_t kept_bytes, symbol_bytes; /* of the entries: by symbols_keep, in the symbolizer */
	uint64_t max_bytes;		   /* symbols_limit */
	struct hashmap shares;		   /* of the room, by process */
	struct place_share *share;	   /* of the latest place's, or NULL */
	image_t image;			   /* of that place */
	uint64_t before_share;		   /* used_bytes(), when it became the latest */
	uint64_t others;
	uint64_t unread_codes;
	uint64_t recorded_unread; /* what a recording says of it; of what was handed over */
	size_t last_object;	  /* where the last RECORD_SYMBOL belonged: they come grouped */
};

/* Keeps a result; *ret_entry is the one that is there already, if there is one. 0 or -ENOMEM. */
int symbols_remember(struct symbols *symbols, const struct entry *found, struct entry **ret_entry);

/* Orders pointers to entries by object and place. */
int symbols_compare(const void *item_a, const void *item_b);

#endif
