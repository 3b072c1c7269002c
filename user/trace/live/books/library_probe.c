/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The library's probe, by which processes tell of their books. The first probe of a while waits 10
 * to 20 ms for RCU: where no process can pass it yet, that is done beside the rest of the start.
 */
#include "base/threads.h"
#include "trace/books/book.h"
#include "trace/bpf/bpf_link.h"
#include "trace/bpf/link_home.h"
#include "trace/live/books/live_books.h"
#include "trace/live/probes/live_probes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

int live_books_find(struct live *live)
{
	live->library.fd = live->library.link_fd = -1;
	if (!live->opts.book_library)
		return 0;
	live->library.fd = open(live->opts.book_library, O_RDONLY | O_CLOEXEC);
	if (live->library.fd < 0)
		return -errno;
	return book_probe_find(live->library.fd, &live->library.probe);
}

static void *attach(void *arg)
{
	struct live_library *library = arg;
	const struct programs *programs = library->programs;
	const struct uprobe_site site = { .offset = library->probe.offset,
					  .semaphore_offset = library->probe.semaphore_offset };
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", library->fd);
	library->link_fd = programs->entry_type ?
				   link_uprobe_multi(programs->book_fd, programs->entry_type, path,
						     &site, 1, false, 0) :
				   link_perf_uprobe(programs->book_fd, path, &site, false, 0);
	if (library->link_fd >= 0)
		link_home_keep(programs->link_home, library->link_fd);
	return NULL;
}

int live_books_attach(struct live *live)
{
	struct live_library *library = &live->library;

	if (library->fd < 0)
		return 0;
	library->programs = live->programs;
	library->attaches =
		live->opts.held && thread_start(&library->attacher, attach, library) == 0;
	if (library->attaches)
		return 0;
	(void)attach(library); /* it is in library->link_fd */
	return library->link_fd < 0 ? library->link_fd : 0;
}

static int await_attacher(struct live_library *library)
{
	if (!library->attaches)
		return 0;
	library->attaches = false;
	(void)pthread_join(library->attacher, NULL); /* ours, and joined once */
	return library->link_fd < 0 ? library->link_fd : 0;
}

static int await_walk(struct live *live)
{
	int r;

	if (!programs_walk_waits(live->programs))
		return 0;
	r = programs_await_walk(live->programs);
	return r ? r : live_attach_walk(live);
}

int live_await_probes(struct live *live)
{
	int r = await_attacher(&live->library);

	return r ? r : await_walk(live);
}

void live_books_done(struct live *live)
{
	(void)await_attacher(&live->library); /* what it could not attach is not there */
	if (live->library.link_fd >= 0)
		link_home_close(live->programs->link_home, live->library.link_fd);
	if (live->library.fd >= 0)
		close(live->library.fd);
}
