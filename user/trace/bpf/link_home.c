/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/bpf/link_home.h"

#include "trace/bpf/detached_mount.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

/* Room for a path through /proc: before Linux 6.5 pinning takes no directory's descriptor. */
#define PATH_LEN 64

/* Some grace periods of RCU, each of which takes up to 30 ms on a busy machine. */
#define FILES_GONE_NS 100000000

int link_home_open(void)
{
	return detached_mount("bpf");
}

/* The link's number in the kernel, by which its file is called. 0 or negative errno. */
static int link_number(int link_fd, unsigned int *ret_number)
{
	struct bpf_link_info info = { 0 };
	uint32_t len = sizeof(info);

	if (bpf_obj_get_info_by_fd(link_fd, &info, &len))
		return -errno;
	*ret_number = info.id;
	return 0;
}

void link_home_keep(int home_fd, int link_fd)
{
	unsigned int number = 0;
	char path[PATH_LEN];

	if (home_fd < 0 || link_number(link_fd, &number))
		return;
	snprintf(path, sizeof(path), "/proc/self/fd/%d/%u", home_fd, number);
	(void)bpf_obj_pin(link_fd, path); /* it then goes with its descriptor */
}

static void remove_file(int home_fd, unsigned int number)
{
	char name[16];

	snprintf(name, sizeof(name), "%u", number);
	(void)unlinkat(home_fd, name, 0); /* it need not have been kept */
}

void link_home_close(int home_fd, int link_fd)
{
	unsigned int number = 0;
	bool named = home_fd >= 0 && link_number(link_fd, &number) == 0;

	/* As the last holder a descriptor would do it now; a file leaves it to a kernel thread. */
	close(link_fd);
	if (named)
		remove_file(home_fd, number);
}

void link_home_close_now(int home_fd, const int *link_fds, size_t n)
{
	const struct timespec files_gone = { .tv_nsec = FILES_GONE_NS };

	for (size_t i = 0; i < n; i++) {
		unsigned int number = 0;

		if (home_fd >= 0 && link_number(link_fds[i], &number) == 0)
			remove_file(home_fd, number);
	}
	/* Up to Linux 6.17 a removed file holds its link until after an RCU grace period. */
	if (home_fd >= 0 && n)
		nanosleep(&files_gone, NULL);
	for (size_t i = 0; i < n; i++)
		close(link_fds[i]);
}
