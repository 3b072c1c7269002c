/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/bpf/link_home.h"

#include "trace/bpf/detached_mount.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

/* Room for a path through /proc: before Linux 6.5 pinning takes no directory's descriptor. */
#define PATH_LEN 64

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

void link_home_close(int home_fd, int link_fd)
{
	unsigned int number = 0;
	bool named = home_fd >= 0 && link_number(link_fd, &number) == 0;
	char name[16];

	/* As the last holder a descriptor would do it now; a file leaves it to a kernel thread. */
	close(link_fd);
	if (!named)
		return;
	snprintf(name, sizeof(name), "%u", number);
	(void)unlinkat(home_fd, name, 0); /* it need not have been kept */
}
