/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A run-time that makes code and says so: in /tmp/perf-PID.map (jit map), or in a jitdump in the
 * current folder (jit dump). The code is written, then made executable; a second function takes the
 * first one's place. Each calls malloc CALLS times, from a function of its own, and then waits.
 */
#include "target.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <time.h>

#define CALLS 50
#define CODE_BYTES 64

typedef void *(*code_fn)(size_t size, void *(*allocate)(size_t));

/* push %rbp; mov %rsp,%rbp; call *%rsi; pop %rbp; ret */
static const unsigned char code[] = { 0x55, 0x48, 0x89, 0xe5, 0xff, 0xd6, 0x5d, 0xc3 };

static unsigned char *page;
static void *volatile kept;

static void write_code(size_t at)
{
	CHECK(mprotect(page, 4096, PROT_READ | PROT_WRITE) == 0);
	memcpy(page + at, code, sizeof(code));
	CHECK(mprotect(page, 4096, PROT_READ | PROT_EXEC) == 0);
}

__attribute__((noinline)) static void phase_one(size_t at)
{
	for (int i = 0; i < CALLS; i++)
		kept = ((code_fn)(uintptr_t)(page + at))(1000, malloc);
}

__attribute__((noinline)) static void phase_two(size_t at)
{
	for (int i = 0; i < CALLS; i++)
		kept = ((code_fn)(uintptr_t)(page + at))(3000, malloc);
}

/* The map has no times: functions have places of their own. It is written late, in two parts. */
static void with_map(void)
{
	char path[64], line[100];
	int fd, len;

	phase_one(0);
	tell("called\n");
	wait_for_line();
	phase_two(CODE_BYTES);
	tell("called\n");
	wait_for_line();
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0644);
	CHECK(fd >= 0);
	len = snprintf(line, sizeof(line), "%lx %x jit one\n", (unsigned long)page, CODE_BYTES);
	CHECK(write(fd, line, (size_t)len) == len);
	tell("written\n");
	wait_for_line();
	len = snprintf(line, sizeof(line), "%lx %x jit two", (unsigned long)page + CODE_BYTES,
		       CODE_BYTES);
	CHECK(write(fd, line, (size_t)len) == len);
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ULL + (uint64_t)ts.tv_nsec;
}

static void put(int fd, const void *data, size_t len)
{
	CHECK(write(fd, data, len) == (ssize_t)len);
}

static void put_load(int fd, uint64_t index, const char *name)
{
	uint64_t addr = (uintptr_t)page;
	struct {
		uint32_t id, size;
		uint64_t time;
		uint32_t pid, tid;
		uint64_t vma, addr, bytes, index;
	} head = { .id = 0,
		   .size = (uint32_t)(sizeof(head) + strlen(name) + 1 + CODE_BYTES),
		   .time = now_ns(),
		   .pid = (uint32_t)getpid(),
		   .tid = (uint32_t)getpid(),
		   .vma = addr,
		   .addr = addr,
		   .bytes = CODE_BYTES,
		   .index = index };

	put(fd, &head, sizeof(head));
	put(fd, name, strlen(name) + 1);
	put(fd, page, CODE_BYTES);
}

/* The call is at byte 4, the return behind it at 6. */
static void put_lines(int fd)
{
	uint64_t addr = (uintptr_t)page;
	struct line {
		uint64_t addr;
		uint32_t line, discriminator;
		char file[8];
	};
	struct {
		uint32_t id, size;
		uint64_t time, addr, n;
		struct line lines[3];
	} info = { .id = 2,
		   .size = sizeof(info),
		   .time = now_ns(),
		   .addr = addr,
		   .n = 3,
		   .lines = { { addr, 10, 0, "made.js" },
			      { addr + 4, 12, 0, "made.js" },
			      { addr + 6, 13, 0, "made.js" } } };

	put(fd, &info, sizeof(info));
}

/* One place for both functions: only their times tell them apart. */
static void with_dump(void)
{
	struct {
		uint32_t magic, version, size, machine, pad, pid;
		uint64_t time, flags;
	} header = { 0x4A695444, 1, sizeof(header), 62, 0, (uint32_t)getpid(), now_ns(), 0 };
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "jit-%d.dump", (int)getpid());
	fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0644);
	CHECK(fd >= 0);
	put(fd, &header, sizeof(header));
	CHECK(mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) != MAP_FAILED);
	put_lines(fd);
	put_load(fd, 1, "jit one");
	phase_one(0);
	tell("called\n");
	wait_for_line();
	put_load(fd, 2, "jit two");
	phase_two(0);
	tell("called\n");
	wait_for_line();
}

int main(int argc, char **argv)
{
	CHECK(argc == 2);
	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(page != MAP_FAILED);
	tell("pid %d\n", (int)getpid());
	wait_for_line();
	write_code(0);
	write_code(CODE_BYTES);
	if (strcmp(argv[1], "map") == 0)
		with_map();
	else
		with_dump();
	return 0;
}
