/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/jit_watch.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "symbol/jitdump.h"
#include "symbol/perf_map.h"
#include "target/jit_home.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* Files of one process; a descriptor each. */
#define MAX_PROCESSES 1024
#define MAX_DUMPS 16
/* What one process may say: Java and node come to some ten thousand functions of 100 bytes. */
#define MAX_CODES (1U << 20)
#define MAX_NAME_BYTES 4096
#define CHUNK_BYTES (1U << 20)
/* The longest record of a jitdump must fit. */
#define MAX_CHUNK_BYTES (64U << 20)

struct dump {
	int fd;
	uint64_t ino;
	off_t used; /* bytes taken in */
	char *path;
	struct jitdump *dump; /* NULL: no jitdump after all, or damaged */
};

struct watched {
	uint32_t slot;
	struct jit_home home;
	uint64_t map_ino; /* 0: no map so far */
	off_t map_used;
	uint32_t n_codes;
	uint64_t malformed;
	bool full; /* more code than is taken in */
	VEC(struct dump) dumps;
};

struct jit_watch {
	const struct model *model;
	record_fn fn;
	void *userdata;
	VEC(struct watched *) processes;
	uint64_t read_ns;
	uint64_t unwatched; /* processes beyond MAX_PROCESSES */
};

int jit_watch_new(const struct model *model, record_fn fn, void *userdata,
		  struct jit_watch **ret_watch)
{
	struct jit_watch *watch = calloc(1, sizeof(*watch));

	if (!watch)
		return -ENOMEM;
	watch->model = model;
	watch->fn = fn;
	watch->userdata = userdata;
	*ret_watch = watch;
	return 0;
}

static void dump_done(struct dump *dump)
{
	if (dump->fd >= 0)
		close(dump->fd);
	jitdump_free(dump->dump);
	free(dump->path);
}

static void watched_free(struct watched *watched)
{
	jit_home_done(&watched->home);
	vec_foreach(&watched->dumps, dump)
		dump_done(dump);
	vec_done(&watched->dumps);
	free(watched);
}

void jit_watch_free(struct jit_watch *watch)
{
	if (!watch)
		return;
	if (watch->unwatched > 0)
		log_warning("%llu more processes make code at run time than are followed: its "
			    "functions have no names",
			    (unsigned long long)watch->unwatched);
	vec_foreach(&watch->processes, watched)
		watched_free(*watched);
	vec_done(&watch->processes);
	free(watch);
}

static struct watched *find(const struct jit_watch *watch, uint32_t slot)
{
	vec_foreach(&watch->processes, watched)
		if ((*watched)->slot == slot)
			return *watched;
	return NULL;
}

/* NULL in *ret_watched: the process is gone, or there are too many. */
static int need(struct jit_watch *watch, uint32_t slot, struct watched **ret_watched)
{
	const struct model_process *process = model_find_process(watch->model, slot);
	struct watched *watched = find(watch, slot);
	int r;

	*ret_watched = watched;
	if (watched || !process || !process->known)
		return 0;
	if (watch->processes.len >= MAX_PROCESSES) {
		watch->unwatched++;
		return 0;
	}
	watched = calloc(1, sizeof(*watched));
	if (!watched)
		return -ENOMEM;
	watched->slot = slot;
	watched->home.tmp_fd = -1;
	/* One that is gone already may have left a jitdump all the same. */
	(void)jit_home_open((pid_t)process->pid, &watched->home);
	r = vec_push(&watch->processes, watched);
	if (r < 0) {
		watched_free(watched);
		return r;
	}
	*ret_watched = watched;
	return 0;
}

/* --- taking in ------------------------------------------------------------------------------- */

struct sink {
	struct jit_watch *watch;
	struct watched *watched;
};

static int hand_over(const struct record *record, void *userdata)
{
	struct sink *sink = userdata;
	struct watched *watched = sink->watched;

	if (watched->n_codes >= MAX_CODES) {
		if (!watched->full)
			log_warning("%s: more than %u functions: the rest have no names",
				    record->jit_code.source, MAX_CODES);
		watched->full = true;
		return 0;
	}
	watched->n_codes++;
	return sink->watch->fn(record, sink->watch->userdata);
}

static int take_map_lines(struct sink *sink, const char *source, const char *text, size_t len)
{
	_cleanup_(perf_map_free_p) struct perf_map *map = NULL;
	int r = perf_map_new(text, len, &map);

	for (size_t i = 0; r == 0 && i < perf_map_count(map); i++) {
		const struct perf_map_entry *entry = perf_map_at(map, i);
		char name[MAX_NAME_BYTES];
		const struct record record = {
			.type = RECORD_JIT_CODE,
			.jit_code = { .slot = sink->watched->slot,
				      .start = entry->start,
				      .size_bytes = entry->size_bytes,
				      .name = name,
				      .source = source },
		};

		snprintf(name, sizeof(name), "%s", entry->name);
		r = hand_over(&record, sink);
	}
	if (r == 0)
		sink->watched->malformed += perf_map_malformed(map);
	return r;
}

/* How much of a piece of the file is whole lines. The last may still be written, at its end not. */
static size_t whole_lines(const char *text, size_t len, bool to_the_end)
{
	const char *end = len > 0 ? memrchr(text, '\n', len) : NULL;

	if (to_the_end)
		return len;
	return end ? (size_t)(end - text) + 1 : 0;
}

static int read_map(struct jit_watch *watch, struct watched *watched, bool ended)
{
	_cleanup_close_ int fd = jit_home_open_map(&watched->home);
	_cleanup_free_ char *text = fd >= 0 ? malloc(CHUNK_BYTES) : NULL;
	struct sink sink = { watch, watched };
	char source[32];
	struct stat st;
	ssize_t n;
	int r = 0;

	if (fd < 0 || fstat(fd, &st) < 0)
		return 0;
	if (!text)
		return -ENOMEM;
	/* Another file, or written anew: from its beginning. */
	if (st.st_ino != watched->map_ino || st.st_size < watched->map_used)
		watched->map_used = 0;
	watched->map_ino = st.st_ino;
	snprintf(source, sizeof(source), "/tmp/perf-%d.map", (int)watched->home.ns_pid);
	while (r == 0 && !watched->full &&
	       (n = pread(fd, text, CHUNK_BYTES, watched->map_used)) > 0) {
		size_t use = whole_lines(text, (size_t)n, ended && n < (ssize_t)CHUNK_BYTES);

		/* A line that is as long is none. */
		if (use == 0 && n == (ssize_t)CHUNK_BYTES)
			use = (size_t)n;
		if (use == 0)
			break;
		r = take_map_lines(&sink, source, text, use);
		watched->map_used += (off_t)use;
	}
	if (ended && watched->malformed > 0)
		log_warning("%s: %llu lines are no \"START SIZE NAME\" and were left out", source,
			    (unsigned long long)watched->malformed);
	return r;
}

/* The next piece of a dump. *ret_more: there may be another. */
static int read_dump_piece(struct sink *sink, struct dump *dump, size_t want, size_t *ret_used,
			   bool *ret_more)
{
	_cleanup_free_ char *data = malloc(want);
	ssize_t n;
	int r;

	*ret_used = 0;
	*ret_more = false;
	if (!data)
		return -ENOMEM;
	n = pread(dump->fd, data, want, dump->used);
	if (n <= 0)
		return 0;
	r = jitdump_feed(dump->dump, data, (size_t)n, sink->watched->slot, dump->path, hand_over,
			 sink, ret_used);
	dump->used += (off_t)*ret_used;
	*ret_more = n == (ssize_t)want;
	return r;
}

static int read_dump(struct jit_watch *watch, struct watched *watched, struct dump *dump)
{
	struct sink sink = { watch, watched };
	size_t want = CHUNK_BYTES, used;
	bool more = dump->dump != NULL;
	int r = 0;

	while (r == 0 && more && want <= MAX_CHUNK_BYTES && !watched->full) {
		r = read_dump_piece(&sink, dump, want, &used, &more);
		/* A record that is longer than the piece. */
		want = used > 0 ? CHUNK_BYTES : want * 4;
	}
	if (r != -EBADMSG && r != -E2BIG)
		return r;
	log_warning("%s: %s: what follows has no names", dump->path,
		    r == -E2BIG ? "more functions than any sane program's" : "no sound jitdump");
	jitdump_free(dump->dump);
	dump->dump = NULL;
	return 0;
}

static int read_all(struct jit_watch *watch, struct watched *watched, bool ended)
{
	int r = watched->home.tmp_fd >= 0 ? read_map(watch, watched, ended) : 0;

	vec_foreach(&watched->dumps, dump)
		if (r == 0)
			r = read_dump(watch, watched, dump);
	return r;
}

int jit_watch_read(struct jit_watch *watch)
{
	int r = 0;

	vec_foreach(&watch->processes, watched)
		if (r == 0)
			r = read_all(watch, *watched, false);
	watch->read_ns = clock_monotonic_ns();
	return r;
}

int jit_watch_read_sometimes(struct jit_watch *watch)
{
	if (watch->processes.len == 0 || clock_monotonic_ns() - watch->read_ns < SECOND_NS)
		return 0;
	return jit_watch_read(watch);
}

/* --- what happens ---------------------------------------------------------------------------- */

/* A dump is announced by an executable mapping of its first page: "jit-4242.dump". */
static bool is_dump(const struct record_mapping *mapping)
{
	const char *name = mapping->path ? strrchr(mapping->path, '/') : NULL;
	int end = 0;

	if (!name || !mapping->local_path || mapping->file_offset != 0)
		return false;
	return sscanf(name, "/jit-%*u.dump%n", &end) == 0 && end > 0 && name[end] == '\0';
}

static int add_dump(struct jit_watch *watch, const struct record_mapping *mapping)
{
	struct dump dump = { .fd = -1, .ino = mapping->ino };
	struct watched *watched;
	int r = need(watch, mapping->slot, &watched);

	if (r < 0 || !watched || watched->dumps.len >= MAX_DUMPS)
		return r;
	vec_foreach(&watched->dumps, known)
		if (known->ino == mapping->ino)
			return 0;
	dump.fd = open(mapping->local_path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (dump.fd < 0)
		return 0;
	dump.path = strdup(mapping->path);
	r = dump.path ? jitdump_new(&dump.dump) : -ENOMEM;
	if (r == 0)
		r = vec_push(&watched->dumps, dump);
	if (r < 0)
		dump_done(&dump);
	return r;
}

static int on_mapping(struct jit_watch *watch, const struct record_mapping *mapping)
{
	struct watched *watched;

	if (mapping->slot == RECORD_NO_SLOT || !mapping->path)
		return 0;
	if (is_dump(mapping))
		return add_dump(watch, mapping);
	return object_path_is_anonymous(mapping->path) ? need(watch, mapping->slot, &watched) : 0;
}

static int on_end(struct jit_watch *watch, uint32_t slot)
{
	for (size_t i = 0; i < watch->processes.len; i++) {
		struct watched *watched = watch->processes.data[i];
		int r;

		if (watched->slot != slot)
			continue;
		r = read_all(watch, watched, true);
		watch->processes.data[i] = watch->processes.data[--watch->processes.len];
		watched_free(watched);
		return r;
	}
	return 0;
}

int jit_watch_take(struct jit_watch *watch, const struct record *record)
{
	struct watched *watched;

	switch (record->type) {
	case RECORD_PROCESS:
		/* What it inherits is not mapped anew. */
		if (record->process.inherits && find(watch, record->process.parent_slot))
			return need(watch, record->process.slot, &watched);
		return 0;
	case RECORD_MAPPING:
		return on_mapping(watch, &record->mapping);
	case RECORD_PROCESS_END:
		return on_end(watch, record->process_end.slot);
	default:
		return 0;
	}
}
