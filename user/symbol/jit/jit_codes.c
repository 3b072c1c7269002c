/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/jit/jit_codes.h"

#include "base/hashmap.h"
#include "base/vec.h"
#include "symbol/names.h"

#include <errno.h>
#include <string.h>

/*
 * Of codes that begin before an address, so many are looked at: code comes where other code was,
 * and a process may say that one reaches over all others.
 */
#define MAX_OVERLAPS 4096

struct code {
	uint64_t start, end, since_ns;
	uint32_t number;	   /* in the order of coming */
	const char *name, *source; /* the pool's */
	const char *function;	   /* the pool's; NULL: to be demangled */
	size_t n_lines;
	struct record_jit_line *lines; /* NULL: none; files are the pool's */
};

/* What a process made. */
struct process_codes {
	image_t image;
	bool sorted;
	VEC(struct code) codes;	 /* ascending by start when sorted */
	VEC(uint64_t) ends_upto; /* the highest end of a code and all before it */
};

struct jit_codes {
	struct hashmap processes;
	struct names names;
	uint32_t n_codes;
};

static void process_free(void *item)
{
	struct process_codes *process = item;

	vec_foreach(&process->codes, code)
		free(code->lines);
	vec_done(&process->codes);
	vec_done(&process->ends_upto);
	free(process);
}

DEFINE_HASHMAP_OPS(process_ops, struct process_codes, process_free, image.n);

int jit_codes_new(struct jit_codes **ret_codes)
{
	struct jit_codes *codes = calloc(1, sizeof(*codes));

	if (!codes)
		return -ENOMEM;
	codes->processes.ops = &process_ops;
	names_init(&codes->names);
	*ret_codes = codes;
	return 0;
}

void jit_codes_free(struct jit_codes *codes)
{
	if (!codes)
		return;
	hashmap_done(&codes->processes);
	names_done(&codes->names);
	free(codes);
}

static struct process_codes *find_process(const struct jit_codes *codes, image_t image)
{
	const struct process_codes key = { .image = image };

	return hashmap_find(&codes->processes, &key);
}

static int need_process(struct jit_codes *codes, image_t image, struct process_codes **ret_process)
{
	const struct process_codes added = { .image = image };

	*ret_process = hashmap_intern(&codes->processes, &added, sizeof(added), NULL);
	return *ret_process ? 0 : -ENOMEM;
}

static int copy_string(struct jit_codes *codes, const char *s, const char **ret_copy)
{
	return s && *s ? names_add(&codes->names, s, strlen(s), ret_copy) : 0;
}

static int copy_lines(struct jit_codes *codes, const struct record_jit_code *record,
		      struct code *code)
{
	int r = 0;

	if (record->n_lines == 0)
		return 0;
	code->lines = calloc(record->n_lines, sizeof(code->lines[0]));
	if (!code->lines)
		return -ENOMEM;
	for (; r == 0 && code->n_lines < record->n_lines; code->n_lines++) {
		struct record_jit_line *line = &code->lines[code->n_lines];

		*line = record->lines[code->n_lines];
		line->file = NULL;
		r = copy_string(codes, record->lines[code->n_lines].file, &line->file);
	}
	return r;
}

int jit_codes_add(struct jit_codes *codes, const struct record_jit_code *record)
{
	struct code code = {
		.start = record->start,
		.end = record->start + record->size_bytes,
		.since_ns = record->since_ns,
		.number = codes->n_codes + 1,
	};
	struct process_codes *process;
	int r;

	if (code.end <= code.start || !record->name || !*record->name)
		return 0;
	r = need_process(codes, record->image, &process);
	if (r == 0)
		r = copy_string(codes, record->name, &code.name);
	if (r == 0)
		r = copy_string(codes, record->function, &code.function);
	if (r == 0)
		r = copy_string(codes, record->source, &code.source);
	if (r == 0)
		r = copy_lines(codes, record, &code);
	if (r == 0)
		r = vec_push(&process->codes, code);
	if (r < 0) {
		free(code.lines);
		return r;
	}
	codes->n_codes++;
	process->sorted = false;
	return 0;
}

static int code_compare(const void *item_a, const void *item_b)
{
	const struct code *a = item_a, *b = item_b;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return a->number < b->number ? -1 : a->number > b->number;
}

static int sort_codes(struct process_codes *process)
{
	size_t n = process->codes.len;
	uint64_t end = 0;
	int r = vec_reserve(&process->ends_upto, n);

	if (r < 0 || process->sorted)
		return r;
	if (n > 1)
		qsort(process->codes.data, n, sizeof(process->codes.data[0]), code_compare);
	for (size_t i = 0; i < n; i++) {
		if (process->codes.data[i].end > end)
			end = process->codes.data[i].end;
		process->ends_upto.data[i] = end;
	}
	process->ends_upto.len = n;
	process->sorted = true;
	return 0;
}

static bool is_newer(const struct code *a, const struct code *b)
{
	return a->since_ns != b->since_ns ? a->since_ns > b->since_ns : a->number > b->number;
}

static const struct code *find_code(const struct process_codes *process, uint64_t addr,
				    uint64_t time_ns)
{
	size_t lo = partition_point(process->codes.len, i, process->codes.data[i].start <= addr);
	const struct code *found = NULL;

	for (int i = 0; i < MAX_OVERLAPS && lo > 0 && process->ends_upto.data[lo - 1] > addr; i++) {
		const struct code *code = &process->codes.data[--lo];

		if (addr < code->end && code->since_ns <= time_ns &&
		    (!found || is_newer(code, found)))
			found = code;
	}
	return found;
}

/* The last line that begins by `offset`. */
static const struct record_jit_line *find_line(const struct code *code, uint64_t offset)
{
	size_t n = 0;

	while (n < code->n_lines && code->lines[n].offset <= offset)
		n++;
	return n > 0 ? &code->lines[n - 1] : NULL;
}

static int name_code(struct jit_codes *codes, const struct code *code, struct symbol_frame *frame)
{
	if (!code->function)
		return names_demangle(&codes->names, code->name, strlen(code->name),
				      &frame->linkage, &frame->function);
	frame->linkage = code->name;
	frame->function = code->function;
	return 0;
}

int jit_codes_find(struct jit_codes *codes, image_t image, uint64_t addr, bool is_call,
		   uint64_t time_ns, struct jit_place *ret_place)
{
	struct process_codes *process = find_process(codes, image);
	uint64_t at = addr - (is_call && addr > 0);
	const struct record_jit_line *line;
	const struct code *code = NULL;
	struct jit_place place = {};
	int r = process ? sort_codes(process) : 0;

	if (r < 0)
		return r;
	if (process)
		code = find_code(process, at, time_ns);
	if (!code)
		return -ENOENT;
	place.code = code->number;
	place.source = code->source;
	place.frame.offset = addr - code->start;
	r = name_code(codes, code, &place.frame);
	if (r < 0)
		return r;
	line = find_line(code, at - code->start);
	if (line) {
		place.frame.file = line->file;
		place.frame.line = line->line;
	}
	*ret_place = place;
	return 0;
}
