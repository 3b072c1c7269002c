/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/aside.h"

#include "base/thread_start.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct aside {
	const struct loop *loop;
	struct aside_work *work;
	int fd; /* an eventfd: it is done */
	struct loop_source *source;
};

static void aside_free(struct aside *aside)
{
	loop_source_free(aside->source);
	if (aside->fd >= 0)
		close(aside->fd);
	free(aside);
}

static void *run(void *userdata)
{
	const struct aside *aside = userdata;

	loop_lower_priority(aside->loop);
	aside->work->run(aside->work);
	/* The last access: then the other side frees it. Fails only when the counter is full. */
	(void)eventfd_write(aside->fd, 1);
	return NULL;
}

static int on_done(int fd, uint32_t events, void *userdata)
{
	struct aside *aside = userdata;
	struct aside_work *work = aside->work;

	(void)fd;
	(void)events;
	aside_free(aside);
	work->done(work);
	return 0;
}

int aside_start(struct loop *loop, struct aside_work *work)
{
	struct aside *aside = calloc(1, sizeof(*aside));
	int r;

	if (!aside)
		return -ENOMEM;
	aside->loop = loop;
	aside->work = work;
	aside->fd = eventfd(0, EFD_CLOEXEC);
	r = aside->fd < 0 ? -errno :
			    loop_add_fd(loop, aside->fd, EPOLLIN, on_done, aside, &aside->source);
	if (r == 0)
		r = thread_start_detached(run, aside);
	if (r < 0)
		aside_free(aside);
	return r;
}
