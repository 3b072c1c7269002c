/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "target/memory.h"

#include "base/glob.h"
#include "base/vec.h"
#include "target/file_helper.h"
#include "target/file_open.h"
#include "target/proc_file.h"
#include "target/proc_maps.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/types.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/uio.h>

/* Linux 6.7, <linux/fs.h>: as the kernel's headers have it, which may be older than the kernel. */
struct page_region {
	__u64 start, end, categories;
};
struct pm_scan_arg {
	__u64 size, flags, start, end, walk_end, vec, vec_len, max_pages;
	__u64 category_inverted, category_mask, category_anyof_mask, return_mask;
};
#define MEMORY_PAGEMAP_SCAN _IOWR('f', 16, struct pm_scan_arg)
#define MEMORY_PAGE_IS_FILE (1 << 2)
#define MEMORY_PAGE_IS_PRESENT (1 << 3)
#define MEMORY_PAGE_IS_SWAPPED (1 << 4)
#define MEMORY_PAGE_IS_PFNZERO (1 << 5)

/* Documentation/admin-guide/mm/pagemap.rst */
#define ENTRY_FRAME ((1ULL << 55) - 1)
#define ENTRY_FILE (1ULL << 61) /* or memory that is shared */
#define ENTRY_SWAPPED (1ULL << 62)
#define ENTRY_PRESENT (1ULL << 63)

/* Regions or pages asked for at a time. */
#define SCAN_REGIONS 512
#define SCAN_ENTRIES 4096

/* A mapping of it is memory like any other. */
#define PATH_DEV_ZERO "/dev/zero"

#define PATH_HUGE_SIZE "/sys/kernel/mm/transparent_hugepage/hpage_pmd_size"
#define HUGE_MOST (32ULL << 20)

struct memory {
	pid_t pid;
	uint64_t page;
	int pagemap; /* below 0: cannot be opened */
	/* Frames of pages of zeros, of the huge one its first, unless the kernel tells these. */
	uint64_t zero_frame, huge_zero_frame; /* 0: not known */
	uint64_t huge_pages;		      /* small ones that it has */
	struct proc_maps all;
	VEC(struct memory_map) writable;
};

typedef VEC(struct memory_range) range_list;

/* Is it something of the kernel's or a driver's that is no memory? */
static bool is_device(const struct proc_map *map)
{
	if (begins_with(map->path, "/dev/"))
		return strcmp(map->path, PATH_DEV_ZERO) != 0 &&
		       !begins_with(map->path, "/dev/shm/");
	return begins_with(map->path, "[vvar") || begins_with(map->path, "[vsyscall") ||
	       begins_with(map->path, "anon_inode:") || begins_with(map->path, "socket:");
}

static enum memory_kind kind_of(const struct proc_map *map)
{
	if (is_device(map))
		return MEMORY_DEVICE;
	if (strcmp(map->path, "[heap]") == 0)
		return MEMORY_HEAP;
	if (strcmp(map->path, "[stack]") == 0)
		return MEMORY_STACK;
	if (map->shared)
		return MEMORY_SHARED;
	return map->ino ? MEMORY_FILE : MEMORY_ANONYMOUS;
}

static int collect_writable(struct memory *memory)
{
	for (size_t i = 0; i < memory->all.n_maps; i++) {
		const struct proc_map *map = &memory->all.maps[i];
		const struct proc_map *before = i > 0 ? map - 1 : NULL;
		bool guarded = before && before->end == map->start && !before->read &&
			       !before->write && !before->exec;
		int r;

		if (!map->read || !map->write)
			continue;
		r = vec_push(&memory->writable, (struct memory_map){ .start = map->start,
								     .end = map->end,
								     .kind = kind_of(map),
								     .behind_guard = guarded,
								     .path = map->path });
		if (r < 0)
			return r;
	}
	return 0;
}

/* The frame of zeros of that size, by reading one of our own; 0: that may not be known. */
static uint64_t zero_frame(const struct memory *memory, uint64_t size)
{
	_cleanup_close_ int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	uint64_t entry = 0, start;
	char *room;

	if (fd < 0)
		return 0;
	room = mmap(NULL, 2 * size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (room == MAP_FAILED)
		return 0;
	start = ((uintptr_t)room + size - 1) & -size;
	/* Without huge pages it is the small one. */
	(void)madvise(room, 2 * size, size > memory->page ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
	(void)*(volatile char *)(uintptr_t)start; /* Reading maps it. */
	if (pread(fd, &entry, sizeof(entry), (off_t)(start / memory->page * sizeof(entry))) !=
	    sizeof(entry))
		entry = 0;
	munmap(room, 2 * size);
	return entry & ENTRY_PRESENT ? entry & ENTRY_FRAME : 0;
}

/* 0: there are none, or they are so large that the one of zeros had better not be made. */
static uint64_t huge_page_size(void)
{
	_cleanup_fclose_ FILE *file = fopen(PATH_HUGE_SIZE, "re");
	uint64_t size;

	if (!file || fscanf(file, "%" SCNu64, &size) != 1 || size > HUGE_MOST)
		return 0;
	return size;
}

/* The huge page of zeros, which all share as they do the small one, has frames in a row. */
static void find_zero_frames(struct memory *memory)
{
	uint64_t size = huge_page_size(), frame;

	memory->zero_frame = zero_frame(memory, memory->page);
	frame = size > memory->page ? zero_frame(memory, size) : 0;
	if (!memory->zero_frame || !frame || frame == memory->zero_frame)
		return;
	memory->huge_zero_frame = frame;
	memory->huge_pages = size / memory->page;
}

static bool is_zero_frame(const struct memory *memory, uint64_t frame)
{
	return memory->zero_frame && (frame == memory->zero_frame ||
				      (frame >= memory->huge_zero_frame &&
				       frame - memory->huge_zero_frame < memory->huge_pages));
}

/* PAGEMAP_SCAN, which tells pages of zeros: Linux 6.7. */
static bool has_scan(const struct memory *memory)
{
	struct pm_scan_arg arg = { .size = sizeof(arg) };

	return ioctl(memory->pagemap, MEMORY_PAGEMAP_SCAN, &arg) >= 0 || errno != ENOTTY;
}

int memory_new(pid_t pid, struct memory **ret_memory)
{
	_cleanup_(memory_free_p) struct memory *memory = calloc(1, sizeof(*memory));
	int r;

	if (!memory)
		return -ENOMEM;
	memory->pid = proc_living_thread(pid);
	memory->page = (uint64_t)sysconf(_SC_PAGESIZE);
	memory->pagemap = file_helper_open_proc(memory->pid, "pagemap", O_RDONLY);
	if (memory->pagemap >= 0 && !has_scan(memory)) {
		/* Frames are told to who has opened it with CAP_SYS_ADMIN, which a helper lacks. */
		close(memory->pagemap);
		memory->pagemap = proc_file_open(memory->pid, "pagemap", O_RDONLY);
		find_zero_frames(memory);
	}
	r = proc_maps_read(memory->pid, &memory->all);
	if (r == 0)
		r = collect_writable(memory);
	if (r < 0)
		return r;
	*ret_memory = TAKE_PTR(memory);
	return 0;
}

void memory_free(struct memory *memory)
{
	if (!memory)
		return;
	if (memory->pagemap >= 0)
		close(memory->pagemap);
	proc_maps_done(&memory->all);
	vec_done(&memory->writable);
	free(memory);
}

const struct memory_map *memory_maps(const struct memory *memory, size_t *ret_n)
{
	*ret_n = memory->writable.len;
	return memory->writable.data;
}

const struct memory_map *memory_find(const struct memory *memory, uint64_t addr)
{
	size_t low = partition_point(memory->writable.len, i, memory->writable.data[i].end <= addr);

	if (low == memory->writable.len || memory->writable.data[low].start > addr)
		return NULL;
	return &memory->writable.data[low];
}

bool memory_next_any(const struct memory *memory, size_t *index, struct memory_code *ret_code)
{
	const struct proc_map *map;

	if (*index >= memory->all.n_maps)
		return false;
	map = &memory->all.maps[(*index)++];
	*ret_code = (struct memory_code){ .start = map->start,
					  .end = map->end,
					  .file_offset = map->offset,
					  .readable = map->read,
					  .writable = map->write,
					  .executable = map->exec,
					  .shared = map->shared,
					  .is_file = map->ino != 0,
					  .path = map->path };
	return true;
}

int memory_open_file(const struct memory *memory, uint64_t addr)
{
	const struct proc_map *map = proc_maps_find(&memory->all, addr);

	return map ? proc_map_open(memory->pid, map) : -ENOENT;
}

/* --- pages that were touched ----------------------------------------------------------------- */

static int add_range(range_list *list, uint64_t start, uint64_t end)
{
	if (list->len && list->data[list->len - 1].end == start) {
		list->data[list->len - 1].end = end;
		return 0;
	}
	return vec_push(list, (struct memory_range){ start, end });
}

/* Which pages are wanted, as PAGEMAP_SCAN and entries of the pagemap have them. */
struct wanted {
	uint64_t any, all, none; /* categories */
	uint64_t entry_any;	 /* bits of an entry */
	uint64_t entry_none;
	bool without_zeros; /* no entry of a page of zeros */
};

/* 0, -ENOMEM, or what PAGEMAP_SCAN said: -ENOTTY before Linux 6.7. */
static int scan_regions(const struct memory *memory, uint64_t start, uint64_t end,
			const struct wanted *wanted, range_list *list)
{
	struct page_region regions[SCAN_REGIONS];

	while (start < end) {
		struct pm_scan_arg arg = {
			.size = sizeof(arg),
			.start = start,
			.end = end,
			.vec = (uintptr_t)regions,
			.vec_len = SCAN_REGIONS,
			.category_inverted = wanted->none,
			.category_mask = wanted->all | wanted->none,
			.category_anyof_mask = wanted->any,
			.return_mask = MEMORY_PAGE_IS_PRESENT,
		};
		long n = ioctl(memory->pagemap, MEMORY_PAGEMAP_SCAN, &arg);

		if (n < 0)
			return -errno;
		for (long i = 0; i < n; i++) {
			int r = add_range(list, regions[i].start, regions[i].end);

			if (r < 0)
				return r;
		}
		if (arg.walk_end <= start)
			return -EIO; /* it got nowhere: the caller takes everything */
		start = arg.walk_end;
	}
	return 0;
}

static bool is_wanted(const struct memory *memory, const struct wanted *wanted, uint64_t entry)
{
	if (!(entry & wanted->entry_any) || (entry & wanted->entry_none))
		return false;
	return !wanted->without_zeros || !is_zero_frame(memory, entry & ENTRY_FRAME);
}

static int read_entries(const struct memory *memory, uint64_t start, uint64_t end,
			const struct wanted *wanted, range_list *list)
{
	uint64_t entries[SCAN_ENTRIES];

	while (start < end) {
		uint64_t left = (end - start + memory->page - 1) / memory->page;
		size_t n = left < SCAN_ENTRIES ? left : SCAN_ENTRIES;
		ssize_t got = pread(memory->pagemap, entries, n * sizeof(entries[0]),
				    (off_t)(start / memory->page * sizeof(entries[0])));

		if (got < (ssize_t)sizeof(entries[0]))
			return got < 0 ? -errno : -EIO;
		n = (size_t)got / sizeof(entries[0]);
		for (size_t i = 0; i < n; i++, start += memory->page) {
			int r = is_wanted(memory, wanted, entries[i]) ?
					add_range(list, start, start + memory->page) :
					0;

			if (r < 0)
				return r;
		}
	}
	return 0;
}

static int find_pages(const struct memory *memory, uint64_t start, uint64_t end,
		      const struct wanted *wanted, range_list *list)
{
	int r = scan_regions(memory, start, end, wanted, list);

	if (r < 0 && r != -ENOMEM) {
		list->len = 0;
		r = read_entries(memory, start, end, wanted, list);
	}
	return r;
}

static int hand_over(range_list *list, int r, struct memory_range **ret_ranges, size_t *ret_n)
{
	if (r < 0) {
		vec_done(list);
		return r;
	}
	*ret_ranges = list->data;
	*ret_n = list->len;
	return 0;
}

/* Everything, where the kernel does not say. */
static int find_or_all(const struct memory *memory, uint64_t start, uint64_t end,
		       const struct wanted *wanted, struct memory_range **ret_ranges, size_t *ret_n)
{
	range_list list = { 0 };
	int r;

	start &= ~(memory->page - 1);
	r = find_pages(memory, start, end, wanted, &list);
	if (r < 0 && r != -ENOMEM) {
		list.len = 0;
		r = add_range(&list, start, end);
	}
	return hand_over(&list, r, ret_ranges, ret_n);
}

int memory_touched(const struct memory *memory, uint64_t start, uint64_t end,
		   struct memory_range **ret_ranges, size_t *ret_n)
{
	const struct wanted touched = { .any = MEMORY_PAGE_IS_PRESENT | MEMORY_PAGE_IS_SWAPPED,
					.entry_any = ENTRY_PRESENT | ENTRY_SWAPPED };

	return find_or_all(memory, start, end, &touched, ret_ranges, ret_n);
}

int memory_written(const struct memory *memory, uint64_t start, uint64_t end,
		   struct memory_range **ret_ranges, size_t *ret_n)
{
	const struct wanted written = { .any = MEMORY_PAGE_IS_PRESENT | MEMORY_PAGE_IS_SWAPPED,
					.none = MEMORY_PAGE_IS_FILE,
					.entry_any = ENTRY_PRESENT | ENTRY_SWAPPED,
					.entry_none = ENTRY_FILE };

	return find_or_all(memory, start, end, &written, ret_ranges, ret_n);
}

int memory_resident(const struct memory *memory, uint64_t start, uint64_t end,
		    struct memory_range **ret_ranges, size_t *ret_n)
{
	const struct wanted resident = { .all = MEMORY_PAGE_IS_PRESENT,
					 .none = MEMORY_PAGE_IS_PFNZERO,
					 .entry_any = ENTRY_PRESENT,
					 .without_zeros = true };
	range_list list = { 0 };

	return hand_over(&list, find_pages(memory, start, end, &resident, &list), ret_ranges,
			 ret_n);
}

/* --- contents -------------------------------------------------------------------------------- */

/*
 * One call takes many pieces of the other process, but stops at the first page that is not there:
 * each page is a piece, so that the next call can begin behind it.
 */
static ssize_t read_pages(const struct memory *memory, uint64_t addr, void *buf, size_t len)
{
	struct iovec local = { .iov_base = buf, .iov_len = len }, remote[IOV_MAX];
	size_t n = 0, planned = 0;

	while (planned < len && n < IOV_MAX) {
		uint64_t at = addr + planned;
		size_t piece = memory->page - at % memory->page;

		if (piece > len - planned)
			piece = len - planned;
		remote[n++] = (struct iovec){ .iov_base = (void *)(uintptr_t)at, .iov_len = piece };
		planned += piece;
	}
	local.iov_len = planned;
	return process_vm_readv(memory->pid, &local, 1, remote, n, 0);
}

int memory_read(const struct memory *memory, uint64_t addr, void *buf, size_t len, size_t *ret_read)
{
	size_t done = 0, read = 0;

	while (done < len) {
		ssize_t n = read_pages(memory, addr + done, (char *)buf + done, len - done);

		if (n < 0 && errno != EFAULT)
			return -errno;
		if (n <= 0) {
			size_t gap = memory->page - (addr + done) % memory->page;

			n = (ssize_t)(gap < len - done ? gap : len - done);
			memset((char *)buf + done, 0, (size_t)n);
		} else {
			read += (size_t)n;
		}
		done += (size_t)n;
	}
	if (ret_read)
		*ret_read = read;
	return 0;
}

ssize_t memory_read_some(const struct memory *memory, uint64_t addr, void *buf, size_t len)
{
	size_t done = 0;

	while (done < len) {
		ssize_t n = read_pages(memory, addr + done, (char *)buf + done, len - done);

		if (n <= 0)
			return done ? (ssize_t)done : n < 0 ? -errno : -EFAULT;
		done += (size_t)n;
	}
	return (ssize_t)done;
}
