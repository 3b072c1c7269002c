/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The books that a target keeps of its own heap calls: the truth that live tests compare with.
 *
 * ledger_open() maps DIR/PID.N shared, DIR being the value of an environment variable and N the
 * number of this process image (exec makes the next). The figures in it are always current, so
 * they are exact even after SIGKILL. A child made by fork opens its own file at its first call;
 * what it inherited counts as live there. Threads and CLONE_VM children share one.
 *
 * Nothing here allocates, and nothing makes a system call after ledger_open(), so that it works
 * inside malloc before the C library is initialised, and under a seccomp filter.
 *
 * Convention: bytes are requested bytes; realloc of a block is one free and one alloc, realloc(p,
 * 0) that returns NULL one free, a failed call one `failed`; free(NULL) nothing. A block freed by
 * the thread that made it, before that thread's next alloc, is temporary.
 */
#ifndef TESTS_TARGETS_LEDGER_H
#define TESTS_TARGETS_LEDGER_H

#include "raw_syscall.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* As lib.py reads it: ten native 64-bit words. */
struct ledger_totals {
	uint64_t pid;
	uint64_t allocs, frees, failed, bytes;
	int64_t live_bytes, live_blocks, peak_bytes;
	uint64_t temporary;
	uint64_t unknown_frees;
};

/* 1024 shards of 4096 blocks, at most three quarters full: about three million live blocks. */
#define LEDGER_SHARDS 1024
#define LEDGER_SHARD_BLOCKS 4096

struct ledger_shard {
	int64_t live_bytes, live_blocks;
	struct {
		uintptr_t addr;
		uint64_t size;
	} block[LEDGER_SHARD_BLOCKS];
};

/* On pages that the kernel empties in a forked child, where no thread holds a lock any more. */
struct ledger_wiped {
	int lock[LEDGER_SHARDS];
	int opened; /* 0: not yet, 1: being opened, 2: done */
	int off;    /* nobody wants the figures */
};

struct ledger {
	struct ledger_shard *shard;
	struct ledger_wiped *wiped;
	struct ledger_totals *totals;
};

static struct ledger ledger;
static __thread uintptr_t ledger_last __attribute__((tls_model("initial-exec")));

static inline void ledger_die(const char *why)
{
	ssize_t ignored = write(2, why, strlen(why));

	(void)ignored;
	_exit(99);
}

static inline size_t ledger_number(char *out, uint64_t n)
{
	char digits[20];
	size_t len = 0, i;

	do
		digits[len++] = (char)('0' + n % 10);
	while (n /= 10);
	for (i = 0; i < len; i++)
		out[i] = digits[len - 1 - i];
	return len;
}

/*
 * The variable's value by /proc: getenv() does not work yet when the loader calls malloc.
 * False when it is not set.
 */
static inline bool ledger_dir(const char *name, char *dir, size_t size)
{
	char buffer[4096];
	size_t len = strlen(name), at = 0, have = 0;
	bool match = true, in_value = false;
	int fd = open("/proc/self/environ", O_RDONLY | O_CLOEXEC);
	ssize_t n, i;

	if (fd < 0)
		return false;
	while ((n = read(fd, buffer, sizeof(buffer))) > 0) {
		for (i = 0; i < n; i++) {
			if (in_value && have < size - 1)
				dir[have++] = buffer[i];
			if (buffer[i] == '\0') {
				if (in_value)
					break;
				at = 0;
				match = true;
				continue;
			}
			if (in_value)
				continue;
			if (at == len && match && buffer[i] == '=')
				in_value = true;
			else if (at >= len || buffer[i] != name[at])
				match = false;
			at++;
		}
		if (in_value && i < n)
			break;
	}
	close(fd);
	dir[have] = '\0';
	return have > 1;
}

static inline int ledger_file(char *path, size_t len, uint64_t pid)
{
	uint64_t image;
	size_t end;
	int fd;

	path[len++] = '/';
	len += ledger_number(path + len, pid);
	path[len++] = '.';
	for (image = 0; image < 100000; image++) {
		end = len + ledger_number(path + len, image);
		path[end] = '\0';
		fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
		if (fd >= 0 || errno != EEXIST)
			return fd;
	}
	return -1;
}

static inline void *ledger_map(size_t size, int flags, int fd)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, flags, fd, 0);

	if (p == MAP_FAILED)
		ledger_die("ledger: mmap failed\n");
	return p;
}

static inline void ledger_open_now(const char *variable)
{
	char path[4096];
	struct ledger_totals *totals;
	int fd, i;

	if (!ledger_dir(variable, path, sizeof(path) - 64)) {
		ledger.wiped->off = 1;
		return;
	}
	fd = ledger_file(path, strlen(path), (uint64_t)getpid());
	if (fd < 0 || ftruncate(fd, sizeof(*totals)))
		ledger_die("ledger: cannot make the file of counts\n");
	totals = (struct ledger_totals *)ledger_map(sizeof(*totals), MAP_SHARED, fd);
	close(fd);
	totals->pid = (uint64_t)getpid();
	if (!ledger.shard)
		ledger.shard = (struct ledger_shard *)ledger_map(
			LEDGER_SHARDS * sizeof(*ledger.shard),
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
	/* In a forked child: what it inherited. */
	for (i = 0; ledger.totals && i < LEDGER_SHARDS; i++) {
		totals->live_bytes += ledger.shard[i].live_bytes;
		totals->live_blocks += ledger.shard[i].live_blocks;
	}
	totals->peak_bytes = totals->live_bytes;
	ledger.totals = totals;
	ledger_last = 0; /* the parent's thread made it */
}

/* True when calls are to be counted. */
static inline bool ledger_open(const char *variable)
{
	struct ledger_wiped *wiped = __atomic_load_n(&ledger.wiped, __ATOMIC_ACQUIRE);
	int expected = 0, saved = errno;

	if (!wiped) {
		struct ledger_wiped *mine, *first = NULL;

		mine = (struct ledger_wiped *)ledger_map(sizeof(*mine), MAP_PRIVATE | MAP_ANONYMOUS,
							 -1);
		if (madvise(mine, sizeof(*mine), MADV_WIPEONFORK))
			ledger_die("ledger: MADV_WIPEONFORK failed\n");
		/* Without a preload the first calls of all may be several threads'. */
		wiped = __atomic_compare_exchange_n(&ledger.wiped, &first, mine, false,
						    __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE) ?
				mine :
				first;
	}
	if (__atomic_load_n(&wiped->opened, __ATOMIC_ACQUIRE) != 2) {
		if (__atomic_compare_exchange_n(&wiped->opened, &expected, 1, false,
						__ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE)) {
			ledger_open_now(variable);
			__atomic_store_n(&wiped->opened, 2, __ATOMIC_RELEASE);
		}
		while (__atomic_load_n(&wiped->opened, __ATOMIC_ACQUIRE) != 2)
			continue;
	}
	errno = saved;
	return !wiped->off;
}

static inline void ledger_add(uint64_t *counter, uint64_t n)
{
	__atomic_fetch_add(counter, n, __ATOMIC_RELAXED);
}

static inline struct ledger_shard *ledger_lock(uintptr_t addr, int **ret_lock, size_t *ret_home)
{
	uint64_t hash = (uint64_t)addr * 0x9e3779b97f4a7c15ULL;
	size_t index = hash >> 54;
	int *lock = &ledger.wiped->lock[index];

	while (__atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE))
		while (__atomic_load_n(lock, __ATOMIC_RELAXED))
			PROCESSOR_PAUSE();
	*ret_lock = lock;
	*ret_home = hash >> 42 & (LEDGER_SHARD_BLOCKS - 1);
	return &ledger.shard[index];
}

static inline void ledger_unlock(int *lock)
{
	__atomic_store_n(lock, 0, __ATOMIC_RELEASE);
}

static inline size_t ledger_home(uintptr_t addr)
{
	return (uint64_t)addr * 0x9e3779b97f4a7c15ULL >> 42 & (LEDGER_SHARD_BLOCKS - 1);
}

static inline void ledger_insert(uintptr_t addr, uint64_t size)
{
	struct ledger_shard *shard;
	size_t at;
	int *lock;

	shard = ledger_lock(addr, &lock, &at);
	if (shard->live_blocks >= LEDGER_SHARD_BLOCKS * 3 / 4)
		ledger_die("ledger: too many live blocks\n");
	while (shard->block[at].addr && shard->block[at].addr != addr)
		at = (at + 1) % LEDGER_SHARD_BLOCKS;
	if (shard->block[at].addr)
		ledger_die("ledger: the allocator handed out a live block\n");
	shard->block[at].addr = addr;
	shard->block[at].size = size;
	shard->live_bytes += (int64_t)size;
	shard->live_blocks++;
	ledger_unlock(lock);
}

/* Closes the hole at `at`, so that no block is behind an empty place that its search ends at. */
static inline void ledger_close_hole(struct ledger_shard *shard, size_t at)
{
	size_t next = at, home;

	for (;;) {
		next = (next + 1) % LEDGER_SHARD_BLOCKS;
		if (!shard->block[next].addr)
			break;
		home = ledger_home(shard->block[next].addr);
		if ((next - home) % LEDGER_SHARD_BLOCKS < (next - at) % LEDGER_SHARD_BLOCKS)
			continue;
		shard->block[at] = shard->block[next];
		at = next;
	}
	shard->block[at].addr = 0;
}

/* Takes a block out; false when it is not there. */
static inline bool ledger_remove(uintptr_t addr, uint64_t *ret_size)
{
	struct ledger_shard *shard;
	bool found;
	size_t at;
	int *lock;

	shard = ledger_lock(addr, &lock, &at);
	while (shard->block[at].addr && shard->block[at].addr != addr)
		at = (at + 1) % LEDGER_SHARD_BLOCKS;
	found = shard->block[at].addr != 0;
	if (found) {
		*ret_size = shard->block[at].size;
		shard->live_bytes -= (int64_t)*ret_size;
		shard->live_blocks--;
		ledger_close_hole(shard, at);
	}
	ledger_unlock(lock);
	return found;
}

static inline void ledger_live(int64_t bytes, int64_t blocks)
{
	struct ledger_totals *t = ledger.totals;
	int64_t live = __atomic_add_fetch(&t->live_bytes, bytes, __ATOMIC_RELAXED);
	int64_t peak = __atomic_load_n(&t->peak_bytes, __ATOMIC_RELAXED);

	__atomic_fetch_add(&t->live_blocks, blocks, __ATOMIC_RELAXED);
	while (live > peak && !__atomic_compare_exchange_n(&t->peak_bytes, &peak, live, false,
							   __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		continue;
}

/* After a call that returns a block, or NULL on failure. */
static inline void *ledger_alloc(void *block, uint64_t size)
{
	if (!block) {
		ledger_add(&ledger.totals->failed, 1);
		return NULL;
	}
	ledger_insert((uintptr_t)block, size);
	ledger_add(&ledger.totals->allocs, 1);
	ledger_add(&ledger.totals->bytes, size);
	ledger_live((int64_t)size, 1);
	ledger_last = (uintptr_t)block;
	return block;
}

static inline void ledger_gone(bool known, uint64_t size, bool temporary)
{
	if (!known) {
		ledger_add(&ledger.totals->unknown_frees, 1);
		return;
	}
	ledger_add(&ledger.totals->frees, 1);
	if (temporary)
		ledger_add(&ledger.totals->temporary, 1);
	ledger_live(-(int64_t)size, -1);
}

/* Before the call that frees it: inside, the address may already be another thread's. */
static inline void ledger_free(void *block)
{
	uint64_t size = 0;
	bool known;

	if (!block)
		return;
	known = ledger_remove((uintptr_t)block, &size);
	ledger_gone(known, size, known && ledger_last == (uintptr_t)block);
	if (ledger_last == (uintptr_t)block)
		ledger_last = 0;
}

/* realloc by `call`, which is the C library's. */
static inline void *ledger_realloc(void *(*call)(void *, size_t), void *block, size_t size)
{
	uint64_t old = 0;
	bool known, last = block && ledger_last == (uintptr_t)block;
	void *moved;

	if (!block)
		return ledger_alloc(call(NULL, size), size);
	known = ledger_remove((uintptr_t)block, &old);
	moved = call(block, size);
	if (!moved && size > 0) {
		if (known)
			ledger_insert((uintptr_t)block, old);
		ledger_add(&ledger.totals->failed, 1);
		return NULL;
	}
	ledger_gone(known, old, last);
	if (last)
		ledger_last = 0;
	return moved ? ledger_alloc(moved, size) : NULL;
}

#endif
