/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a worker says of a traced file is what reading it says; and what a hostile one might say. */
#include "base/cleanup.h"
#include "config/allocator_spec.h"
#include "config/near_name.h"
#include "elf/cfi/cfi_file.h"
#include "elf/elf_file.h"
#include "probe/allocators.h"
#include "probe/custom_allocators.h"
#include "probe/object_reader.h"
#include "probe/object_wire.h"
#include "sandbox/worker.h"
#include "skip_because.h"
#include "symbol/symbol_server.h"
#include "target/proc_maps.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static const struct plan_emulation everyday = {
	.push = true, .nop1 = true, .jmp = true, .jcc = true, .call = true
};
static char *checkpoint_names[] = { (char *)"malloc", (char *)"nowhere", NULL };

/* For --allocator; it is named, so that the table has it in this object. */
int wire_test_allocator(int size);
int __attribute__((noinline)) wire_test_allocator(int size)
{
	return size + 1;
}

struct fixture {
	struct worker *worker;
	struct custom_allocators *custom;
	struct allocator_spec spec;
	struct allocator_spec_function function;
	struct object_wants wants;
	int fd;
	uint64_t file_bytes;
};

static void open_file(struct fixture *f, const char *path)
{
	struct stat st;

	f->fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(f->fd >= 0);
	assert_int_equal(fstat(f->fd, &st), 0);
	f->file_bytes = (uint64_t)st.st_size;
	f->wants.path = path;
}

/* The C library that this process runs on. */
static char *libc_path(void)
{
	_cleanup_(proc_maps_done) struct proc_maps maps = {};
	char *path = NULL;

	assert_int_equal(proc_maps_read(getpid(), &maps), 0);
	for (size_t i = 0; !path && i < maps.n_maps; i++)
		if (strstr(maps.maps[i].path, "/libc.so") || strstr(maps.maps[i].path, "/libc-"))
			path = strdup(maps.maps[i].path);
	return path;
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	f->fd = -1;
	f->function = (struct allocator_spec_function){ .name = (char *)"wire_test_allocator",
							.role = ALLOCATOR_MALLOC };
	f->spec = (struct allocator_spec){ .functions = &f->function, .n_functions = 1 };
	assert_int_equal(custom_allocators_new(&f->spec, 1, &f->custom), 0);
	f->wants = (struct object_wants){ .allocators = true,
					  .samples = true,
					  .emulation = &everyday,
					  .custom = f->custom,
					  .loader = true,
					  .checkpoints = true,
					  .checkpoint_names = checkpoint_names,
					  .unwinding = true,
					  .books = true };
	assert_int_equal(worker_new(&file_server, 0, &f->worker), 0);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	worker_free(f->worker);
	custom_allocators_free(f->custom);
	if (f->fd >= 0)
		close(f->fd);
	free(f);
	return 0;
}

/* --- the same as reading it ------------------------------------------------------------------ */

static void assert_same_probe(const struct plan_probe *a, const struct plan_probe *b)
{
	struct plan_probe x = *a, y = *b;

	assert_ptr_equal(a->function, b->function); /* the table's */
	assert_ptr_equal(a->why_no_sites, b->why_no_sites);
	assert_memory_equal(a->exit_sites, b->exit_sites, a->n_exit_sites * sizeof(uint64_t));
	x.exit_sites = y.exit_sites = NULL;
	assert_int_equal(x.n_results, y.n_results);
	for (size_t i = 0; i < x.n_results; i++) {
		assert_int_equal(x.results[i].addr, y.results[i].addr);
		assert_memory_equal(&x.results[i].see, &y.results[i].see, sizeof(x.results[i].see));
		assert_int_equal(x.results[i].args, y.results[i].args);
		assert_int_equal(x.results[i].is_rare, y.results[i].is_rare);
	}
	assert_ptr_equal(x.why_no_results, y.why_no_results);
	assert_int_equal(x.may_have_results, y.may_have_results);
	assert_memory_equal(&x.sample, &y.sample, sizeof(x.sample));
	assert_int_equal(x.kind, y.kind);
	assert_int_equal(x.args, y.args);
	assert_int_equal(x.semaphore_offset, y.semaphore_offset);
	assert_int_equal(x.family, y.family);
	assert_int_equal(x.forms, y.forms);
	assert_int_equal(x.entry_emulated, y.entry_emulated);
	assert_int_equal(x.only_jumps, y.only_jumps);
	assert_int_equal(x.exits, y.exits);
	assert_int_equal(x.function_offset, y.function_offset);
	assert_int_equal(x.entry_site, y.entry_site);
	assert_int_equal(x.n_exit_sites, y.n_exit_sites);
	assert_int_equal(x.n_inner_frees, y.n_inner_frees);
	assert_memory_equal(x.inner_frees, y.inner_frees, x.n_inner_frees * sizeof(uint64_t));
}

static void assert_same_plan(const struct plan *a, const struct plan *b)
{
	assert_int_equal(a->n_probes, b->n_probes);
	for (size_t i = 0; i < a->n_probes; i++)
		assert_same_probe(&a->probes[i], &b->probes[i]);
	assert_int_equal(a->n_skipped, b->n_skipped);
	for (size_t i = 0; i < a->n_skipped; i++) {
		assert_ptr_equal(a->skipped[i].function, b->skipped[i].function);
		assert_int_equal(a->skipped[i].forwards, b->skipped[i].forwards);
		assert_ptr_equal(a->skipped[i].why, b->skipped[i].why);
	}
	assert_int_equal(a->n_marks, b->n_marks);
	for (size_t i = 0; i < a->n_marks; i++) {
		assert_int_equal(a->marks[i].entry_site, b->marks[i].entry_site);
		assert_int_equal(a->marks[i].form, b->marks[i].form);
		assert_int_equal(a->marks[i].deletes, b->marks[i].deletes);
	}
	assert_int_equal(a->loads_others, b->loads_others);
}

static void assert_same_facts(const struct object_facts *a, const struct object_facts *b)
{
	assert_true(a->is_elf && b->is_elf);
	assert_same_plan(a->plan, b->plan);
	assert_same_plan(a->samples, b->samples);
	assert_memory_equal(&a->start, &b->start, sizeof(a->start));
	assert_int_equal(a->checkpoints.list.len, b->checkpoints.list.len);
	for (size_t i = 0; i < a->checkpoints.list.len; i++) {
		assert_int_equal(a->checkpoints.list.data[i].offset,
				 b->checkpoints.list.data[i].offset);
		assert_int_equal(a->checkpoints.list.data[i].function,
				 b->checkpoints.list.data[i].function);
	}
	assert_int_equal(a->loader_stop, b->loader_stop);
	assert_int_equal(a->uses_own_names, b->uses_own_names);
	assert_int_equal(a->preloads, b->preloads);
	assert_int_equal(a->has_sanitizer, b->has_sanitizer);
	assert_int_equal(a->build_id_len, b->build_id_len);
	assert_memory_equal(a->build_id, b->build_id, a->build_id_len);
	assert_memory_equal(&a->unwind.key, &b->unwind.key, sizeof(a->unwind.key));
	assert_int_equal(a->unwind.n_segments, b->unwind.n_segments);
	for (uint32_t i = 0; i < a->unwind.n_segments; i++)
		assert_memory_equal(&a->unwind.segments[i], &b->unwind.segments[i],
				    sizeof(a->unwind.segments[i]));
	assert_int_equal(a->needs.names.len, b->needs.names.len);
	for (size_t i = 0; i < a->needs.names.len; i++)
		assert_string_equal(a->needs.names.data[i], b->needs.names.data[i]);
	assert_int_equal(!a->needs.search, !b->needs.search);
	if (a->needs.search)
		assert_string_equal(a->needs.search, b->needs.search);
}

/* Of threads there are some on arm64 alone: here they are made up. */
static void where_stacks_begin_goes_over(void **state)
{
	const struct object_facts facts = {
		.is_elf = true,
		.start = { .entry = 1,
			   .main_call = 2,
			   .main_call_end = 3,
			   .threads = { { 0x1000, 0x1100 }, { 0x2000, 0x2200 } } },
	};
	const struct object_wants wants = { .path = "/lib" };
	_cleanup_(object_facts_done) struct object_facts got = {};
	_cleanup_strbuf_ struct strbuf answer = {};
	struct decoder decoder;

	(void)state;
	object_put_facts(&answer, &facts, &wants);
	decoder = decoder_of(&answer);
	assert_int_equal(object_get_facts(&decoder, 1 << 20, &wants, &got), 0);
	assert_memory_equal(&got.start, &facts.start, sizeof(facts.start));
}

static void compare(struct fixture *f)
{
	_cleanup_(object_facts_done) struct object_facts here = {}, there = {};

	assert_int_equal(object_facts_read(f->fd, &f->wants, &here), 0);
	assert_int_equal(object_read_facts(f->worker, f->fd, &f->wants, &there), 0);
	assert_same_facts(&here, &there);
}

static void the_c_library_is_planned_alike(void **state)
{
	struct fixture *f = *state;
	_cleanup_free_ char *path = libc_path();
	_cleanup_(object_facts_done) struct object_facts facts = {};
	size_t n;

	if (!path)
		skip_because("the library is not there");
	open_file(f, path);
	compare(f);
	assert_false(custom_allocators_all(f->custom, &n)->found);
	assert_int_equal(object_read_facts(f->worker, f->fd, &f->wants, &facts), 0);
	assert_true(facts.plan->n_probes > 5 && facts.checkpoints.list.len > 2);
}

/* What the C library itself has loaded this program with: its stop is where dlsym finds it. */
static void the_dynamic_linker_s_stop_is_found_there(void **state)
{
	const uint64_t at = (uintptr_t)dlsym(RTLD_DEFAULT, "_dl_debug_state");
	_cleanup_(object_facts_done) struct object_facts facts = {}, without = {}, other = {};
	_cleanup_(proc_maps_done) struct proc_maps maps = {};
	const struct proc_map *map;
	struct fixture *f = *state;

	if (!at)
		skip_because("the library is not there");
	assert_int_equal(proc_maps_read(getpid(), &maps), 0);
	map = proc_maps_find(&maps, at);
	assert_non_null(map);
	open_file(f, map->path);
	compare(f);
	assert_int_equal(object_read_facts(f->worker, f->fd, &f->wants, &facts), 0);
	assert_int_equal(facts.loader_stop, at - map->start + map->offset);
	f->wants.loader = false;
	assert_int_equal(object_read_facts(f->worker, f->fd, &f->wants, &without), 0);
	assert_int_equal(without.loader_stop, 0);
	f->wants.loader = true;
	close(f->fd);
	open_file(f, "/proc/self/exe");
	assert_int_equal(object_read_facts(f->worker, f->fd, &f->wants, &other), 0);
	assert_int_equal(other.loader_stop, 0);
}

static void the_user_s_own_allocators_are_found_there(void **state)
{
	struct fixture *f = *state;
	_cleanup_(object_facts_done) struct object_facts there = {};
	const struct custom_function *custom;
	bool probed = false;
	size_t n;

	assert_int_equal(wire_test_allocator(1), 2);
	open_file(f, "/proc/self/exe");
	assert_int_equal(object_read_facts(f->worker, f->fd, &f->wants, &there), 0);
	custom = custom_allocators_all(f->custom, &n);
	assert_true(custom->found);
	for (size_t i = 0; i < there.plan->n_probes; i++)
		probed |= there.plan->probes[i].function == custom->row.name;
	assert_true(probed);
	compare(f);
}

/* A worker that is asked ahead knows its answer by the request. */
static void what_has_been_found_changes_no_request(void **state)
{
	_cleanup_strbuf_ struct strbuf before = {}, after = {};
	struct fixture *f = *state;
	size_t n;

	object_put_wants(&before, &f->wants);
	custom_allocators_all(f->custom, &n)->found = true;
	object_put_wants(&after, &f->wants);
	assert_int_equal(strbuf_error(&before), 0);
	assert_int_equal(before.len, after.len);
	assert_memory_equal(before.data, after.data, before.len);
}

static void of_a_longer_path_than_most_the_end_is_told(void **state)
{
	_cleanup_(object_asked_done) struct object_asked asked = {};
	_cleanup_strbuf_ struct strbuf request = {};
	char path[2 * PATH_MAX + 1];
	struct fixture *f = *state;
	struct decoder decoder;

	memset(path, 'a', sizeof(path));
	strcpy(path + sizeof(path) - sizeof("/lib.so"), "/lib.so");
	f->wants.path = path;
	object_put_wants(&request, &f->wants);
	assert_int_equal(strbuf_error(&request), 0);
	decoder = decoder_of(&request);
	assert_int_equal(object_get_wants(&decoder, &asked), 0);
	assert_string_equal(asked.wants.path, path + PATH_MAX);
}

static void names_with_control_characters_are_not_offered(void **state)
{
	struct near_names sent, near;
	_cleanup_strbuf_ struct strbuf answer = {};
	struct decoder decoder;

	(void)state;
	near_names_init(&sent, "pool_gt");
	near_names_offer(&sent, "pool_get", "pool_get\nmemtraced: all is well");
	near_names_offer(&sent, "pool_got", "pool_got");
	assert_int_equal(sent.n, 2);
	object_put_near(&answer, &sent);
	decoder = decoder_of(&answer);
	near_names_init(&near, "pool_gt");
	assert_int_equal(object_get_near(&decoder, &near), 0);
	assert_int_equal(near.n, 1);
	assert_string_equal(near.best[0].shown, "pool_got");
}

static void what_is_no_elf_file_is_said_to_be_none(void **state)
{
	struct fixture *f = *state;
	struct object_facts facts;

	open_file(f, "/proc/self/status");
	assert_int_equal(object_read_facts(f->worker, f->fd, &f->wants, &facts), 0);
	assert_false(facts.is_elf || facts.kind || facts.plan);
}

static void assert_same_rows(const struct cfi_rows *a, const struct cfi_rows *b)
{
	assert_int_equal(a->n_rows, b->n_rows);
	assert_memory_equal(a->rows, b->rows, a->n_rows * sizeof(*a->rows));
	assert_int_equal(a->n_rules, b->n_rules);
	assert_memory_equal(a->rules, b->rules, a->n_rules * sizeof(*a->rules));
	assert_int_equal(a->pruned, b->pruned);
}

static void rows_are_those_of_the_file(void **state)
{
	struct fixture *f = *state;
	_cleanup_(object_facts_done) struct object_facts facts = {};
	_cleanup_(elf_file_free_p) struct elf_file *elf = NULL;

	open_file(f, "/proc/self/exe");
	assert_int_equal(object_read_facts(f->worker, f->fd, &f->wants, &facts), 0);
	assert_int_equal(elf_file_new(f->fd, &elf), 0);
	for (uint32_t pruned = 0; pruned < 2; pruned++) {
		_cleanup_(cfi_rows_free_p) struct cfi_rows *here = NULL, *there = NULL;
		int r = cfi_file_rows(elf, pruned, &here);

		if (r == -EOPNOTSUPP) /* another architecture's */
			skip_because("it is another architecture's");
		assert_int_equal(r, 0);
		facts.unwind.key.pruned = pruned;
		assert_int_equal(object_read_rows(f->worker, f->fd, &facts.unwind.key, &there), 0);
		assert_same_rows(here, there);
	}
	/* A key of another file, or of the same one before it was changed. */
	facts.unwind.key.content ^= 1;
	for (int i = 0; i < 2; i++) {
		struct cfi_rows *none;

		assert_int_equal(object_read_rows(f->worker, f->fd, &facts.unwind.key, &none),
				 -ENOENT);
	}
}

static void names_that_come_near_are_found_there(void **state)
{
	struct fixture *f = *state;
	struct near_names near;

	open_file(f, "/proc/self/exe");
	near_names_init(&near, "wire_test_alocator");
	assert_int_equal(object_read_near(f->worker, f->fd, &near), 0);
	assert_true(near.n > 0);
	assert_string_equal(near.best[0].shown, "wire_test_allocator");
}

static void functions_of_a_name_are_found_where_they_are(void **state)
{
	struct fixture *f = *state;
	struct object_ranges ranges;
	char code[16];

	open_file(f, "/proc/self/exe");
	assert_int_equal(object_read_function(f->worker, f->fd, "wire_test_allocator", &ranges), 0);
	/* .symtab has it, and .dynsym may. */
	assert_in_range(ranges.n, 1, 2);
	for (size_t i = 0; i < ranges.n; i++) {
		assert_true(ranges.list[i].size > 0);
		assert_int_equal(pread(f->fd, code, sizeof(code), (off_t)ranges.list[i].offset),
				 sizeof(code));
		assert_memory_equal(code, (const void *)(uintptr_t)wire_test_allocator,
				    sizeof(code));
	}
	assert_int_equal(object_read_function(f->worker, f->fd, "no_such_function", &ranges), 0);
	assert_int_equal(ranges.n, 0);
}

static void functions_beyond_their_file_are_refused(void **state)
{
	static const struct {
		struct object_ranges ranges;
		bool good;
	} rows[] = {
		{ { 0, { { 0, 0 } } }, true },
		{ { 2, { { 0, 0x1000 }, { 0xfff, 1 } } }, true },
		{ { 1, { { 0xfff, 2 } } }, false },
		{ { 1, { { 0x1001, 0 } } }, false },
		{ { 1, { { 1, UINT64_MAX } } }, false },
	};
	struct object_ranges got;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		_cleanup_strbuf_ struct strbuf answer = {};
		struct decoder decoder;

		codec_write(&answer, &object_ranges_layout, &rows[i].ranges, NULL);
		decoder = decoder_of(&answer);
		assert_int_equal(object_get_ranges(&decoder, 0x1000, &got),
				 rows[i].good ? 0 : -EBADMSG);
		for (size_t len = 0; len < answer.len; len++) {
			decoder = (struct decoder){ .at = answer.data, .end = answer.data + len };
			assert_int_equal(object_get_ranges(&decoder, 0x1000, &got), -EBADMSG);
		}
		strbuf_addch(&answer, 0);
		decoder = decoder_of(&answer);
		assert_int_equal(object_get_ranges(&decoder, 0x1000, &got), -EBADMSG);
	}
}

static void more_functions_than_any_file_has_are_refused(void **state)
{
	_cleanup_strbuf_ struct strbuf answer = {};
	struct decoder decoder;
	struct object_ranges got;

	(void)state;
	strbuf_add(&answer, &(uint32_t){ OBJECT_MAX_RANGES + 1 }, sizeof(uint32_t));
	for (size_t i = 0; i < 2 * (OBJECT_MAX_RANGES + 1); i++)
		strbuf_add(&answer, &(uint64_t){ 1 }, sizeof(uint64_t));
	decoder = decoder_of(&answer);
	assert_int_equal(object_get_ranges(&decoder, 0x1000, &got), -EBADMSG);
}

/* Of all sockets that this process shares with its parent: has it asked what is not read yet? */
static bool has_asked(void)
{
	for (int fd = STDERR_FILENO + 1; fd < 1024; fd++) {
		int unread = 0;

		if (ioctl(fd, SIOCOUTQ, &unread) == 0 && unread > 0)
			return true;
	}
	return false;
}

/* Stopped, it has not answered yet when it dies, which it does when it has a request. */
static void kill_at_request(pid_t worker)
{
	pid_t parent = getpid(), killer;

	assert_int_equal(kill(worker, SIGSTOP), 0);
	killer = fork();
	assert_true(killer >= 0);
	if (killer == 0) {
		while (getppid() == parent && !has_asked())
			(void)usleep(1000); /* a signal may cut it short */
		_exit(kill(worker, SIGKILL));
	}
}

static void a_death_costs_the_file_alone(void **state)
{
	struct fixture *f = *state;
	_cleanup_(object_facts_done) struct object_facts facts = {};
	_cleanup_free_ char *other = libc_path();
	int status;

	if (!other)
		skip_because("the library is not there");
	open_file(f, "/proc/self/exe");
	assert_int_equal(worker_start(f->worker), 0);
	kill_at_request(worker_pid(f->worker));
	assert_int_equal(object_read_facts(f->worker, f->fd, &f->wants, &facts), -EPIPE);
	assert_true(wait(&status) > 0 && status == 0);
	/* It is not tried again. */
	assert_int_equal(object_read_facts(f->worker, f->fd, &f->wants, &facts), -EPIPE);
	close(f->fd);
	open_file(f, other);
	assert_int_equal(object_read_facts(f->worker, f->fd, &f->wants, &facts), 0);
	assert_true(facts.is_elf);
}

/* --- a hostile answer ------------------------------------------------------------------------ */

static void put_good(struct fixture *f, struct strbuf *answer)
{
	_cleanup_(object_facts_done) struct object_facts facts = {};

	open_file(f, "/proc/self/exe");
	assert_int_equal(object_facts_read(f->fd, &f->wants, &facts), 0);
	object_put_facts(answer, &facts, &f->wants);
	assert_int_equal(strbuf_error(answer), 0);
}

static bool is_of_the_table(const char *name, struct custom_allocators *custom)
{
	const struct allocator_function *row = allocator_function_find(name);
	size_t n;

	return (row && row->name == name) || custom_allocators_all(custom, &n)->row.name == name;
}

/* False: it was refused. What was taken keeps its promises. */
static bool read_answer(struct fixture *f, const struct strbuf *answer)
{
	struct decoder decoder = decoder_of(answer);
	_cleanup_(object_facts_done) struct object_facts facts = {};
	int r = object_get_facts(&decoder, f->file_bytes, &f->wants, &facts);

	assert_true(r == 0 || r == -EBADMSG);
	for (size_t i = 0; r == 0 && facts.plan && i < facts.plan->n_probes; i++) {
		const struct plan_probe *probe = &facts.plan->probes[i];

		assert_true(is_of_the_table(probe->function, f->custom));
		assert_true(probe->entry_site < f->file_bytes);
		assert_true(probe->exits <= PLAN_EXIT_SITES);
		assert_true(probe->n_inner_frees <= INNER_FREES_MAX);
		for (size_t k = 0; k < probe->n_exit_sites; k++)
			assert_true(probe->exit_sites[k] < f->file_bytes);
		for (size_t k = 0; k < probe->n_results; k++)
			assert_true(probe->results[k].addr < f->file_bytes);
	}
	return r == 0;
}

static void an_answer_that_ends_early_is_refused(void **state)
{
	struct fixture *f = *state;
	_cleanup_strbuf_ struct strbuf good = {};

	put_good(f, &good);
	assert_true(read_answer(f, &good));
	for (size_t len = 0; len < good.len; len++) {
		struct strbuf cut = { .data = malloc(len + 1), .len = len };

		assert_non_null(cut.data);
		memcpy(cut.data, good.data, len);
		assert_false(read_answer(f, &cut));
		free(cut.data);
	}
	strbuf_addch(&good, 0);
	assert_false(read_answer(f, &good));
}

static void a_changed_answer_is_refused_or_keeps_what_is_promised(void **state)
{
	static const unsigned char values[] = { 0, 1, 0x7f, 0x80, 0xff };
	struct fixture *f = *state;
	_cleanup_strbuf_ struct strbuf answer = {};
	size_t refused = 0;

	put_good(f, &answer);
	for (size_t i = 0; i < answer.len; i++)
		for (size_t k = 0; k < sizeof(values); k++) {
			char was = answer.data[i];

			answer.data[i] = (char)values[k];
			refused += !read_answer(f, &answer);
			answer.data[i] = was;
		}
	assert_true(refused > 0);
}

static void a_request_that_ends_early_is_refused(void **state)
{
	struct fixture *f = *state;
	_cleanup_strbuf_ struct strbuf request = {};

	f->wants.path = "/some/file";
	object_put_wants(&request, &f->wants);
	assert_int_equal(strbuf_error(&request), 0);
	for (size_t len = 0; len <= request.len; len++) {
		struct decoder decoder = { .at = request.data, .end = request.data + len };
		struct object_asked asked = {};
		int r = object_get_wants(&decoder, &asked);

		assert_int_equal(r, len == request.len ? 0 : -EBADMSG);
		object_asked_done(&asked);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(where_stacks_begin_goes_over),
		cmocka_unit_test_setup_teardown(the_c_library_is_planned_alike, set_up, tear_down),
		cmocka_unit_test_setup_teardown(the_dynamic_linker_s_stop_is_found_there, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(the_user_s_own_allocators_are_found_there, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(what_has_been_found_changes_no_request, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(of_a_longer_path_than_most_the_end_is_told, set_up,
						tear_down),
		cmocka_unit_test(names_with_control_characters_are_not_offered),
		cmocka_unit_test_setup_teardown(what_is_no_elf_file_is_said_to_be_none, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(rows_are_those_of_the_file, set_up, tear_down),
		cmocka_unit_test_setup_teardown(names_that_come_near_are_found_there, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(functions_of_a_name_are_found_where_they_are,
						set_up, tear_down),
		cmocka_unit_test(functions_beyond_their_file_are_refused),
		cmocka_unit_test(more_functions_than_any_file_has_are_refused),
		cmocka_unit_test_setup_teardown(a_death_costs_the_file_alone, set_up, tear_down),
		cmocka_unit_test_setup_teardown(an_answer_that_ends_early_is_refused, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(
			a_changed_answer_is_refused_or_keeps_what_is_promised, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_request_that_ends_early_is_refused, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
