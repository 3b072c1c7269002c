/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/session/jit_watch.h"

#include "base/clock.h"
#include "base/file_system.h"
#include "base/log.h"
#include "base/vec.h"
#include "bpf/abi.h"
#include "symbol/jit/jit_reader.h"
#include "target/jit_home.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* Files of one process; a descriptor each. */
#define MAX_PROCESSES 1024
#define MAX_DUMPS 16
/* What one process may say: Java and node come to some ten thousand functions of 100 bytes. */
#define MAX_CODES (1U << 20)
/* What is read of a process's files, as often as they are written anew: a file may have holes. */
#define MAX_BYTES (1ULL << 30)
/* What is taken in of them, lines of moved code again: a short name may stand for a long one. */
#define MAX_TAKEN_BYTES (256ULL << 20)

struct dump {
	int fd;
	uint64_t ino;
	char *path;
	struct jitdump_state state;
	struct jit_loads *loads; /* NULL: no jitdump after all, damaged, or unread for good */
};

struct watched {
	image_t image;
	struct jit_home home;
	uint64_t map_ino; /* 0: no map so far */
	uint64_t map_used;
	bool map_deadly; /* the worker has died of it */
	uint64_t read_bytes, taken_bytes;
	uint32_t n_codes;
	uint64_t malformed;
	bool full;   /* more code than is taken in */
	bool unread; /* and counted */
	VEC(struct dump) dumps;
};

struct jit_watch {
	const struct model *model;
	struct worker *worker;
	struct abi_access access;
	record_fn fn;
	void *userdata;
	VEC(struct watched *) processes;
	uint64_t read_ns;
	uint64_t unwatched; /* processes beyond MAX_PROCESSES */
	uint64_t unread;    /* processes of which a file could not be read */
};

int jit_watch_new(const struct model *model, struct worker *worker, const struct abi_access *access,
		  record_fn fn, void *userdata, struct jit_watch **ret_watch)
{
	struct jit_watch *watch = calloc(1, sizeof(*watch));

	if (!watch)
		return -ENOMEM;
	watch->model = model;
	watch->worker = worker;
	watch->access = *access;
	watch->fn = fn;
	watch->userdata = userdata;
	*ret_watch = watch;
	return 0;
}

static void dump_done(struct dump *dump)
{
	if (dump->fd >= 0)
		close(dump->fd);
	jit_loads_free(dump->loads);
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
		log_warning("too many processes make code at run time: its functions have no names "
			    "in %llu of them",
			    (unsigned long long)watch->unwatched);
	vec_foreach(&watch->processes, watched)
		watched_free(*watched);
	vec_done(&watch->processes);
	free(watch);
}

static struct watched *find_watched(const struct jit_watch *watch, image_t image)
{
	vec_foreach(&watch->processes, watched)
		if (image_is((*watched)->image, image))
			return *watched;
	return NULL;
}

/* NULL in *ret_watched: the process is gone, or there are too many. */
static int find_or_add_watched(struct jit_watch *watch, image_t image, struct watched **ret_watched)
{
	const struct model_process *process = model_find_process(watch->model, image);
	struct watched *watched = find_watched(watch, image);
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
	watched->image = image;
	watched->home.tmp_fd = -1;
	/* One that is gone already may have left a jitdump all the same. */
	(void)jit_home_open((pid_t)process->pid, &watched->home);
	/* Its pid may be another user's process's by now. */
	if (watch->access.limited && watched->home.uid != watch->access.uid)
		jit_home_done(&watched->home);
	r = vec_push(&watch->processes, watched);
	if (r < 0) {
		watched_free(watched);
		return r;
	}
	*ret_watched = watched;
	return 0;
}

/* --- taking in ------------------------------------------------------------------------------- */

/* A file that is read. */
struct sink {
	struct jit_watch *watch;
	struct watched *watched;
	const char *source;
	struct jit_loads *loads; /* NULL: a map */
};

static void log_full(struct watched *watched, const char *source)
{
	if (!watched->full)
		log_warning("%s: more than %u functions, %llu MiB, or %llu MiB of names: the "
			    "rest have no names",
			    source, MAX_CODES, MAX_BYTES >> 20, MAX_TAKEN_BYTES >> 20);
	watched->full = true;
}

static int hand_over(const struct jit_item *item, void *userdata)
{
	struct sink *sink = userdata;
	const struct record record = {
		.type = RECORD_JIT_CODE,
		.jit_code = { .image = sink->watched->image,
			      .start = item->start,
			      .size_bytes = item->size_bytes,
			      .since_ns = item->since_ns,
			      .name = item->name,
			      .function = item->function ? item->function : item->name,
			      .source = sink->source,
			      .n_lines = item->n_lines,
			      .lines = item->lines },
	};

	sink->watched->taken_bytes += strlen(item->name) + item->n_lines * sizeof(*item->lines);
	sink->watched->taken_bytes += item->function ? strlen(item->function) : 0;
	if (sink->watched->n_codes >= MAX_CODES || sink->watched->taken_bytes > MAX_TAKEN_BYTES) {
		log_full(sink->watched, sink->source);
		return 0;
	}
	sink->watched->n_codes++;
	return sink->watch->fn(&record, sink->watch->userdata);
}

static int emit_item(const struct jit_item *item, void *userdata)
{
	struct sink *sink = userdata;

	if (sink->loads)
		return jit_loads_pass(sink->loads, item, hand_over, sink);
	/* Moves are of dumps alone: in a map they make no sense. */
	return item->name ? hand_over(item, sink) : 0;
}

/* Reads on from asked->state, which is where it then is. 0, or as of jit_read(). */
static int read_on(struct sink *sink, enum jit_request what, int fd, struct jit_asked *asked,
		   struct jit_head *ret_head)
{
	struct watched *watched = sink->watched;
	int r = 0;

	*ret_head = (struct jit_head){ .more = true };
	while (r == 0 && ret_head->more && !watched->full) {
		r = jit_read(sink->watch->worker, what, fd, asked, emit_item, sink, ret_head);
		if (r < 0)
			break;
		watched->read_bytes += ret_head->state.offset - asked->state.offset;
		watched->malformed += ret_head->malformed;
		asked->state = ret_head->state;
		if (watched->read_bytes >= MAX_BYTES)
			log_full(watched, sink->source);
	}
	return r;
}

/* Names of this process's are missing for want of a worker. */
static void count_unread(struct sink *sink)
{
	if (!sink->watched->unread)
		sink->watch->unread++;
	sink->watched->unread = true;
}

static int read_map(struct jit_watch *watch, struct watched *watched, bool ended)
{
	_cleanup_close_ int fd = watched->map_deadly ? -ENOENT : jit_home_open_map(&watched->home);
	struct jit_asked asked = { .to_the_end = ended };
	struct sink sink = { watch, watched, NULL, NULL };
	struct jit_head head;
	char source[32];
	struct stat st;
	int r = 0;

	if (fd == -EBUSY && ended)
		count_unread(&sink);
	if (fd < 0 || fstat(fd, &st) < 0)
		return 0;
	/* Another file, or written anew: from its beginning. */
	if (st.st_ino != watched->map_ino || (uint64_t)st.st_size < watched->map_used)
		watched->map_used = 0;
	watched->map_ino = st.st_ino;
	snprintf(source, sizeof(source), "/tmp/perf-%d.map", (int)watched->home.ns_pid);
	sink.source = source;
	asked.state.offset = watched->map_used;
	if ((uint64_t)st.st_size > watched->map_used)
		r = read_on(&sink, JIT_READ_MAP, fd, &asked, &head);
	watched->map_used = asked.state.offset;
	if (r == -EPIPE || r == -EAGAIN) {
		watched->map_deadly = r == -EPIPE;
		count_unread(&sink);
		r = 0;
	}
	if (ended && watched->malformed > 0)
		log_warning("%s: %llu lines left out: expected \"START SIZE NAME\"", source,
			    (unsigned long long)watched->malformed);
	return r;
}

static void give_up(struct dump *dump)
{
	jit_loads_free(dump->loads);
	dump->loads = NULL;
}

static int read_dump(struct jit_watch *watch, struct watched *watched, struct dump *dump)
{
	struct sink sink = { watch, watched, dump->path, dump->loads };
	struct jit_asked asked = { .state = dump->state };
	struct jit_head head = {};
	struct stat st;
	int r = 0;

	if (!dump->loads || dump->state.closed || fstat(dump->fd, &st) < 0)
		return 0;
	if ((uint64_t)st.st_size > dump->state.offset)
		r = read_on(&sink, JIT_READ_DUMP, dump->fd, &asked, &head);
	dump->state = asked.state;
	if (r == -EPIPE || r == -EAGAIN)
		count_unread(&sink);
	if (r == -E2BIG || (r == 0 && head.is_damaged))
		log_warning("%s: %s: what follows has no names", dump->path,
			    r == -E2BIG ? "more functions than any sane program's" :
					  "no sound jitdump");
	if (r == -EPIPE || r == -E2BIG || (r == 0 && head.is_damaged))
		give_up(dump);
	return r == -EPIPE || r == -EAGAIN || r == -E2BIG ? 0 : r;
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

uint64_t jit_watch_unread(const struct jit_watch *watch)
{
	return watch->unread;
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
	int r = find_or_add_watched(watch, mapping->image, &watched);

	if (r < 0 || !watched || watched->dumps.len >= MAX_DUMPS)
		return r;
	vec_foreach(&watched->dumps, known)
		if (known->ino == mapping->ino)
			return 0;
	dump.fd = reopen_own(mapping->local_path);
	if (dump.fd < 0)
		return 0;
	dump.path = strdup(mapping->path);
	r = dump.path ? jit_loads_new(&dump.loads) : -ENOMEM;
	if (r == 0)
		r = vec_push(&watched->dumps, dump);
	if (r < 0)
		dump_done(&dump);
	return r;
}

static int on_mapping(struct jit_watch *watch, const struct record_mapping *mapping)
{
	struct watched *watched;

	if (image_is_none(mapping->image) || !mapping->path)
		return 0;
	if (is_dump(mapping))
		return add_dump(watch, mapping);
	return object_path_is_anonymous(mapping->path) ?
		       find_or_add_watched(watch, mapping->image, &watched) :
		       0;
}

static int on_end(struct jit_watch *watch, image_t image)
{
	for (size_t i = 0; i < watch->processes.len; i++) {
		struct watched *watched = watch->processes.data[i];
		int r;

		if (!image_is(watched->image, image))
			continue;
		r = read_all(watch, watched, true);
		watch->processes.data[i] = watch->processes.data[--watch->processes.len];
		watched_free(watched);
		return r;
	}
	return 0;
}

int jit_watch_add(struct jit_watch *watch, const struct record *record)
{
	struct watched *watched;

	switch (record->type) {
	case RECORD_PROCESS:
		/* What it inherits is not mapped anew. */
		if (record->process.inherits && find_watched(watch, record->process.parent_image))
			return find_or_add_watched(watch, record->process.image, &watched);
		return 0;
	case RECORD_MAPPING:
		return on_mapping(watch, &record->mapping);
	case RECORD_PROCESS_END:
		return on_end(watch, record->process_end.image);
	default:
		return 0;
	}
}
