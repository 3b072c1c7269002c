/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "skip_because.h"
#include "target/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define PAGE 4096UL
#define SPARSE_PAGES (1UL << 18)
#define MANY_PAGES 3000UL
#define HUGE (2UL << 20)

/* What the child has mapped where: the same addresses as here, as it is a fork. */
struct layout {
	char *sparse, *guarded, *shared, *zero, *many, *read_only, *file;
	pid_t pid;
};

/* The kernel has no PAGEMAP_SCAN, as before Linux 6.7. */
static bool no_scan;

int __real_ioctl(int fd, unsigned long request, void *arg);
int __wrap_ioctl(int fd, unsigned long request, void *arg);
int __wrap_ioctl(int fd, unsigned long request, void *arg)
{
	if (!no_scan)
		return __real_ioctl(fd, request, arg);
	errno = ENOTTY;
	return -1;
}

static char private_data[2 * PAGE] = "data";
static const char *own_path = "/proc/self/exe";

static char *map(char *at, size_t size, int prot, int flags, int fd)
{
	char *p = mmap(at, size, prot, flags, fd, 0);

	assert_ptr_not_equal(p, MAP_FAILED);
	return p;
}

static void fill(struct layout *l)
{
	const int rw = PROT_READ | PROT_WRITE;
	int zero = open("/dev/zero", O_RDWR | O_CLOEXEC), own = open(own_path, O_RDONLY);

	assert_true(zero >= 0 && own >= 0);
	l->sparse =
		map(NULL, SPARSE_PAGES * PAGE, rw, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
	/* Neighbours with equal rights would be one mapping. */
	l->guarded = map(NULL, 4 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	assert_int_equal(mprotect(l->guarded + PAGE, 2 * PAGE, rw), 0);
	l->shared = map(NULL, 2 * PAGE, rw, MAP_SHARED | MAP_ANONYMOUS, -1);
	l->zero = map(NULL, PAGE, rw, MAP_SHARED, zero);
	l->read_only = map(NULL, 8 * PAGE, rw, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	/* Not part of a huge page. */
	(void)madvise(l->read_only, 8 * PAGE, MADV_NOHUGEPAGE);
	l->many = map(NULL, MANY_PAGES * PAGE, rw, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	l->file = map(NULL, 4 * PAGE, rw, MAP_PRIVATE, own);
	close(own);
	close(zero);
}

/* In the child only: touched here, pages would be touched there as well. */
static void touch(const struct layout *l)
{
	volatile char *page = l->read_only;

	(void)page[2 * PAGE]; /* the page of zeros */
	page[3 * PAGE] = 3;
	page[4 * PAGE] = 4;
	page[7 * PAGE] = 7;
	l->sparse[7 * PAGE] = 7;
	l->sparse[8 * PAGE] = 8;
	l->sparse[200000 * PAGE + 5] = 9;
	strcpy(l->guarded + PAGE, "guarded");
	strcpy(l->shared, "shared");
	private_data[0] = 'D';
	(void)((volatile char *)l->file)[0];
	l->file[2 * PAGE] = 'F';
	(void)mprotect(l->file, 4 * PAGE, PROT_READ);
	for (size_t i = 0; i < MANY_PAGES; i++)
		l->many[i * PAGE] = (char)(i % 100);
	/* A hole of one page, and one that may not be read. */
	(void)munmap(l->many + 1500 * PAGE, PAGE);
	(void)mprotect(l->many + 2000 * PAGE, PAGE, PROT_NONE);
}

static int setup(void **state)
{
	static struct layout layout;
	int ready[2];
	char byte;

	fill(&layout);
	assert_int_equal(pipe(ready), 0);
	layout.pid = fork();
	if (layout.pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		touch(&layout);
		if (write(ready[1], "x", 1) == 1)
			for (;;)
				pause();
		_exit(1);
	}
	assert_true(layout.pid > 0);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	close(ready[1]);
	*state = &layout;
	return 0;
}

static int teardown(void **state)
{
	const struct layout *l = *state;

	(void)kill(l->pid, SIGKILL);
	(void)waitpid(l->pid, NULL, 0);
	return 0;
}

static uint64_t at(const void *p)
{
	return (uint64_t)(uintptr_t)p;
}

static void mappings_are_of_the_kind_that_they_are(void **state)
{
	const struct layout *l = *state;
	_cleanup_(memory_free_p) struct memory *memory = NULL;
	const struct {
		uint64_t addr;
		enum memory_kind kind;
		bool guarded;
	} rows[] = {
		{ at(l->sparse), MEMORY_ANONYMOUS, false },
		{ at(l->guarded + PAGE), MEMORY_ANONYMOUS, true },
		{ at(l->guarded + 3 * PAGE - 1), MEMORY_ANONYMOUS, true },
		{ at(l->shared), MEMORY_SHARED, false },
		{ at(l->zero), MEMORY_SHARED, false },
		{ at(private_data), MEMORY_FILE, false },
		{ at(&memory), MEMORY_STACK, false },
	};

	assert_int_equal(memory_new(l->pid, &memory), 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct memory_map *found = memory_find(memory, rows[i].addr);

		print_message("# row %zu\n", i);
		assert_non_null(found);
		assert_int_equal(found->kind, rows[i].kind);
		if (rows[i].kind == MEMORY_ANONYMOUS && rows[i].guarded)
			assert_true(found->behind_guard);
	}
	assert_null(memory_find(memory, at(l->guarded)));
	assert_null(memory_find(memory, at(l->guarded + 3 * PAGE)));
	assert_null(memory_find(memory, at(mappings_are_of_the_kind_that_they_are)));
}

static bool find_mapping(const struct memory *memory, uint64_t addr, struct memory_code *ret_code)
{
	size_t index = 0;

	while (memory_next_any(memory, &index, ret_code))
		if (ret_code->start <= addr && addr < ret_code->end)
			return true;
	return false;
}

static void code_is_found_although_nobody_writes_it(void **state)
{
	const struct layout *l = *state;
	_cleanup_(memory_free_p) struct memory *memory = NULL;
	uint64_t here = at(code_is_found_although_nobody_writes_it);
	struct memory_code code;
	size_t index = 0, n = 0;
	char magic[4];
	int fd;

	assert_int_equal(memory_new(l->pid, &memory), 0);
	assert_true(find_mapping(memory, here, &code));
	assert_true(code.executable && code.is_file);
	assert_false(find_mapping(memory, 4096, &code));
	while (memory_next_any(memory, &index, &code))
		n += code.start <= here && here < code.end;
	assert_int_equal(n, 1);
	fd = memory_open_file(memory, here);
	assert_true(fd >= 0);
	assert_int_equal(read(fd, magic, sizeof(magic)), sizeof(magic));
	assert_memory_equal(magic, "\177ELF", sizeof(magic));
	close(fd);
	assert_true(memory_open_file(memory, at(l->sparse)) < 0);
}

static bool covers(const struct memory_range *ranges, size_t n, uint64_t addr)
{
	for (size_t i = 0; i < n; i++)
		if (ranges[i].start <= addr && addr < ranges[i].end)
			return true;
	return false;
}

static void of_a_sparse_mapping_only_touched_pages_are_listed(void **state)
{
	const struct layout *l = *state;
	_cleanup_(memory_free_p) struct memory *memory = NULL;
	_cleanup_free_ struct memory_range *ranges = NULL;
	uint64_t start = at(l->sparse), total = 0;
	size_t n;

	assert_int_equal(memory_new(l->pid, &memory), 0);
	assert_int_equal(memory_touched(memory, start, start + SPARSE_PAGES * PAGE, &ranges, &n),
			 0);
	for (size_t i = 0; i < n; i++)
		total += ranges[i].end - ranges[i].start;
	assert_true(covers(ranges, n, start + 7 * PAGE));
	assert_true(covers(ranges, n, start + 8 * PAGE));
	assert_true(covers(ranges, n, start + 200000 * PAGE + 5));
	assert_false(covers(ranges, n, start + 100000 * PAGE));
	/* Three pages, or three huge ones where the kernel makes such. */
	assert_true(total <= 3 * 512 * PAGE);
}

static void of_a_file_pages_are_listed_that_were_written_before_they_were_protected(void **state)
{
	const struct layout *l = *state;
	_cleanup_(memory_free_p) struct memory *memory = NULL;
	_cleanup_free_ struct memory_range *ranges = NULL;
	uint64_t start = at(l->file);
	struct memory_code map;
	size_t n;

	assert_int_equal(memory_new(l->pid, &memory), 0);
	assert_true(find_mapping(memory, start, &map));
	assert_true(map.readable && map.is_file && !map.writable && !map.executable && !map.shared);
	assert_int_equal(memory_written(memory, start, start + 4 * PAGE, &ranges, &n), 0);
	assert_int_equal(n, 1);
	assert_int_equal(ranges[0].start, start + 2 * PAGE);
	assert_int_equal(ranges[0].end, start + 3 * PAGE);
}

/*
 * Do pages that were only read share a frame? Not so on all kernels (mm_forbids_zeropage(), and
 * patched ones): then each has one of its own, and is resident.
 */
static bool zeros_share_a_frame(void)
{
	volatile char *pages = map(NULL, 2 * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	const off_t at_entry = (off_t)(at((const void *)pages) / PAGE * sizeof(uint64_t));
	int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	uint64_t entries[2];

	(void)madvise((void *)pages, 2 * PAGE, MADV_NOHUGEPAGE);
	(void)pages[0];
	(void)pages[PAGE];
	assert_int_equal(pread(fd, entries, sizeof(entries), at_entry), sizeof(entries));
	close(fd);
	(void)munmap((void *)pages, 2 * PAGE);
	return entries[0] == entries[1];
}

static void pages_that_were_only_read_are_not_resident(void **state)
{
	const struct layout *l = *state;
	_cleanup_(memory_free_p) struct memory *memory = NULL;
	_cleanup_free_ struct memory_range *ranges = NULL;
	uint64_t start = at(l->read_only), first;
	size_t n;

	if (geteuid() != 0)
		skip_because("before Linux 6.7 only root can tell the page of zeros");
	assert_int_equal(memory_new(l->pid, &memory), 0);
	assert_int_equal(memory_resident(memory, start, start + 8 * PAGE, &ranges, &n), 0);
	first = zeros_share_a_frame() ? start + 3 * PAGE : start + 2 * PAGE;
	assert_int_equal(n, 2);
	assert_int_equal(ranges[0].start, first);
	assert_int_equal(ranges[0].end, start + 5 * PAGE);
	assert_int_equal(ranges[1].start, start + 7 * PAGE);
	assert_int_equal(ranges[1].end, start + 8 * PAGE);
}

/* Of a page, and of the one behind it. */
static void frames_of(const char *page, uint64_t ret_entries[2])
{
	int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);

	assert_int_equal(pread(fd, ret_entries, 2 * sizeof(ret_entries[0]),
			       (off_t)(at(page) / PAGE * sizeof(ret_entries[0]))),
			 2 * sizeof(ret_entries[0]));
	close(fd);
}

/*
 * Does the kernel have a huge page of zeros, and is it there? Its frames follow each other, and all
 * huge pages that were only read are this one; a kernel may give each a page of its own as well.
 */
static bool is_huge_zero(const char *pages)
{
	char *room = map(NULL, 2 * HUGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	const char *other = (const char *)((at(room) + HUGE - 1) & ~(HUGE - 1));
	uint64_t entries[2], of_other[2];

	(void)madvise(room, 2 * HUGE, MADV_HUGEPAGE);
	(void)*(const volatile char *)other;
	frames_of(pages, entries);
	frames_of(other, of_other);
	(void)munmap(room, 2 * HUGE);
	return entries[1] == entries[0] + 1 && of_other[0] == entries[0] &&
	       of_other[1] == entries[1];
}

static void a_huge_page_that_was_only_read_is_not_resident_on_any_kernel(void **state)
{
	char *room = map(NULL, 3 * HUGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	char *huge = (char *)((at(room) + HUGE - 1) & ~(HUGE - 1));

	(void)state;
	(void)madvise(huge, HUGE, MADV_HUGEPAGE);
	(void)madvise(huge + HUGE, HUGE, MADV_NOHUGEPAGE);
	(void)*(volatile char *)huge;
	huge[HUGE + 5 * PAGE] = 1;
	if (geteuid() != 0 || !is_huge_zero(huge)) {
		(void)munmap(room, 3 * HUGE);
		skip_because("no huge page of zeros, or only root can tell it");
	}
	for (size_t i = 0; i < 2; i++) {
		_cleanup_(memory_free_p) struct memory *memory = NULL;
		_cleanup_free_ struct memory_range *ranges = NULL;
		size_t n;

		no_scan = i == 1;
		assert_int_equal(memory_new(getpid(), &memory), 0);
		assert_int_equal(
			memory_resident(memory, at(huge), at(huge + 2 * HUGE), &ranges, &n), 0);
		no_scan = false;
		assert_int_equal(n, 1);
		assert_int_equal(ranges[0].start, at(huge + HUGE + 5 * PAGE));
		assert_int_equal(ranges[0].end, at(huge + HUGE + 6 * PAGE));
	}
	(void)munmap(room, 3 * HUGE);
}

static void what_cannot_be_read_is_zero_and_the_rest_is_there(void **state)
{
	const struct layout *l = *state;
	_cleanup_(memory_free_p) struct memory *memory = NULL;
	size_t len = MANY_PAGES * PAGE - 100, got;
	_cleanup_free_ char *copy = malloc(len);

	assert_non_null(copy);
	memset(copy, 'x', len);
	assert_int_equal(memory_new(l->pid, &memory), 0);
	/* From within a page on, over more pages than one call takes. */
	assert_int_equal(memory_read(memory, at(l->many) + 100, copy, len, &got), 0);
	assert_int_equal(got, len - 2 * PAGE);
	for (size_t i = 1; i < MANY_PAGES; i++) {
		bool gap = i == 1500 || i == 2000;

		assert_int_equal(copy[i * PAGE - 100], gap ? 0 : (char)(i % 100));
		assert_int_equal(copy[i * PAGE - 100 + 4000 % (PAGE - 1)], 0);
	}
	assert_int_equal(memory_read_some(memory, at(l->many) + 100, copy, len), 1500 * PAGE - 100);
	assert_int_equal(memory_read_some(memory, at(l->many) + 1500 * PAGE, copy, PAGE), -EFAULT);
	assert_int_equal(memory_read(memory, at(l->guarded + PAGE), copy, 8, &got), 0);
	assert_string_equal(copy, "guarded");
	assert_int_equal(memory_read(memory, at(private_data), copy, 5, NULL), 0);
	assert_string_equal(copy, "Data");
	assert_string_equal(private_data, "data");
}

static void a_process_that_is_gone_is_an_error(void **state)
{
	_cleanup_(memory_free_p) struct memory *memory = NULL, *none = NULL;
	pid_t pid = fork();
	char byte;

	(void)state;
	if (pid == 0)
		for (;;)
			pause();
	assert_int_equal(memory_new(pid, &memory), 0);
	(void)kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(memory_read(memory, at(private_data), &byte, 1, NULL), -ESRCH);
	assert_int_equal(memory_new(pid, &none), -ESRCH);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mappings_are_of_the_kind_that_they_are),
		cmocka_unit_test(code_is_found_although_nobody_writes_it),
		cmocka_unit_test(of_a_sparse_mapping_only_touched_pages_are_listed),
		cmocka_unit_test(
			of_a_file_pages_are_listed_that_were_written_before_they_were_protected),
		cmocka_unit_test(pages_that_were_only_read_are_not_resident),
		cmocka_unit_test(a_huge_page_that_was_only_read_is_not_resident_on_any_kernel),
		cmocka_unit_test(what_cannot_be_read_is_zero_and_the_rest_is_there),
		cmocka_unit_test(a_process_that_is_gone_is_an_error),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
