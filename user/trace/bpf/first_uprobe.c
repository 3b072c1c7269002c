/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/bpf/first_uprobe.h"

#include "trace/bpf/bpf_link.h"
#include "trace/bpf/link_home.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define PATH_LEN 64
#define FILE_BYTES 4096

struct first_uprobe {
	pthread_t thread;
	int link_home;
	bool multi;
};

/* Nothing is mapped of the file, so that nothing is written anywhere. */
static int link_to_file(const struct first_uprobe *uprobe, int prog_fd, int file_fd)
{
	const struct uprobe_site site = {};
	char path[PATH_LEN];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", file_fd);
	if (uprobe->multi)
		return link_uprobe_multi(prog_fd, LINK_TYPE_UPROBE_MULTI, path, &site, 1, false, 0);
	return link_perf_uprobe(prog_fd, path, &site, false, 0);
}

static void *wait_for_it(void *arg)
{
	const struct first_uprobe *uprobe = arg;
	_cleanup_close_ int file_fd = memfd_create("memtraced-first", MFD_CLOEXEC);
	_cleanup_close_ int prog_fd =
		link_load_empty(uprobe->multi ? LINK_TYPE_UPROBE_MULTI : 0, 0);
	_cleanup_close_ int link_fd = -1;

	if (file_fd < 0 || prog_fd < 0 || ftruncate(file_fd, FILE_BYTES))
		return NULL; /* then the first real one waits */
	link_fd = link_to_file(uprobe, prog_fd, file_fd);
	if (link_fd >= 0)
		link_home_keep(uprobe->link_home, link_fd);
	return NULL;
}

int first_uprobe_new(int link_home, bool multi, struct first_uprobe **ret_uprobe)
{
	struct first_uprobe *uprobe = calloc(1, sizeof(*uprobe));
	sigset_t all, before;
	int r;

	if (!uprobe)
		return -ENOMEM;
	uprobe->link_home = link_home;
	uprobe->multi = multi;
	sigfillset(&all);
	r = pthread_sigmask(SIG_SETMASK, &all, &before);
	if (r == 0) {
		r = pthread_create(&uprobe->thread, NULL, wait_for_it, uprobe);
		(void)pthread_sigmask(SIG_SETMASK, &before, NULL); /* it was right before */
	}
	if (r) {
		free(uprobe);
		return -r;
	}
	*ret_uprobe = uprobe;
	return 0;
}

void first_uprobe_free(struct first_uprobe *uprobe)
{
	if (!uprobe)
		return;
	(void)pthread_join(uprobe->thread, NULL); /* ours, and joined once */
	free(uprobe);
}
