/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A stack as reports show it: its addresses resolved to places, and the frames that writers print
 * for them. Stacks with the same places are the same, wherever and whenever the code was loaded.
 */
#ifndef MEMTRACED_REPORT_VIEW_VIEW_STACK_H
#define MEMTRACED_REPORT_VIEW_VIEW_STACK_H

#include "base/pieces.h"
#include "base/strbuf.h"
#include "model/object_table.h"
#include "symbol/symbolizer.h"

/* One return address, or the allocator function itself. */
struct view_place {
	bool has_addr, is_call; /* is_call: addr is where a call returns to */
	uint64_t addr;
	const char *object; /* path; NULL: nothing known was mapped there */
	uint64_t offset;    /* in the file of the object */
	uint64_t vaddr;	    /* the place as the object's own ELF address; addr without an object */
	const char *alloc;  /* the first place of a site: its allocator function; else NULL */
	const struct symbol *symbol; /* never NULL */
	const struct model_object *mapped;
	const struct mapping *mapping; /* model/mappings.h; NULL: nothing known was mapped there */
};

/* A frame of a stack: the place that it is of, and which of its inlined functions. */
struct view_frame_at {
	size_t place, frame;
};

struct view_stack {
	struct view_frame_at name; /* view_stack_name */
	size_t n_places;
	/* Innermost first, but for those in pieces (of pointers); equal places are often one. */
	const struct view_place **places;
	struct words_piece **pieces; /* behind `places`, or NULL: view_stack_share */
	bool only_wrappers;	     /* no frame is outside allocators and wrappers */
	bool truncated;		     /* it goes on beyond the last place */
	bool lost;	  /* of the process's frames none is known, but for an allocator */
	bool kernel_lost; /* the kernel's frames, which would come first, are not known */
};

/* One line of a stack as writers print it: inlined functions are frames of their own. */
struct view_frame {
	const struct view_place *place;
	size_t index;	      /* of the place in its stack: a recursion's are one place */
	const char *function; /* NULL: unknown */
	const char *linkage;  /* as in the symbol table; NULL: unknown, or that of an allocator */
	bool has_offset;
	uint64_t offset;  /* from the function's start, or without one in the object's file */
	const char *file; /* NULL: unknown */
	uint32_t line;	  /* 0: unknown */
	bool is_inline;
	bool is_called; /* function is what the program called, which has jumped to this one */
	const char *valgrind; /* as of struct symbol_frame */
	enum symbol_seen seen;
};

/* One of its places; 0 is the innermost. */
const struct view_place *view_stack_place(const struct view_stack *stack, size_t index);

struct view_frames {
	const struct view_stack *stack;
	size_t place, frame;
};

/* Frames of a stack, innermost first: `struct view_frames it = { .stack = stack };`, then next. */
bool view_frames_next(struct view_frames *frames, struct view_frame *ret_frame);

/*
 * The frame that a view's site, or a stack of its events, is named by (view_names.h). False: it has
 * no frames.
 */
bool view_stack_name(const struct view_stack *stack, struct view_frame *ret_frame);
/* The frames before it. */
size_t view_stack_name_index(const struct view_stack *stack);

/* The function's name, or where there is none "[libc.so.6]", as collapsers name such frames. */
void view_frame_name(const struct view_frame *frame, struct strbuf *out);

/* The same for people, unless they want it full: function_name_short(). */
void view_frame_short_name(const struct view_frame *frame, bool full, struct strbuf *out);

/* The same with file and line, where they are known: "leaks (deaths.c:23)". */
void view_frame_line_name(const struct view_frame *frame, bool full, struct strbuf *out);

/* The frame in a sentence. Appends "leaks (deaths.c:23)", or what is known of that. */
void view_frame_words(const struct view_frame *frame, struct strbuf *out);

#endif
