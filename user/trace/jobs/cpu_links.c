/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/jobs/cpu_links.h"

#include "base/clock.h"
#include "base/vec.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ONLINE "/sys/devices/system/cpu/online"
#define ONLINE_LOOK_NS SECOND_NS

struct cpu_links {
	cpu_link_fn link;
	void *userdata;
	VEC(int) fds;
	char online[1024];   /* the CPUs that are on, as the kernel lists them; "": not known */
	int64_t most_asleep; /* ns since the boot, by the latest look at the clocks */
	uint64_t next_look_ns;
	uint64_t gaps;
};

static bool has_slept(struct cpu_links *links)
{
	int64_t before = links->most_asleep, least;

	clock_asleep(&least, &links->most_asleep);
	return least > before;
}

static bool online_has_changed(struct cpu_links *links)
{
	char online[sizeof(links->online)] = "";
	_cleanup_close_ int fd = open(ONLINE, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, online, sizeof(online) - 1);

	if (n <= 0 || strcmp(online, links->online) == 0)
		return false;
	memcpy(links->online, online, sizeof(online));
	return true;
}

static void close_all(struct cpu_links *links)
{
	vec_foreach(&links->fds, fd)
		close(*fd);
	links->fds.len = 0;
}

static int link_all(struct cpu_links *links)
{
	int n = libbpf_num_possible_cpus(), r = n < 0 ? n : 0;

	for (int cpu = 0; cpu < n && r == 0; cpu++) {
		int fd = links->link(cpu, links->userdata);

		if (fd == -ENODEV)
			continue;
		r = fd < 0 ? fd : vec_push(&links->fds, fd);
		if (r < 0 && fd >= 0)
			close(fd);
	}
	return r;
}

int cpu_links_new(cpu_link_fn link, void *userdata, struct cpu_links **ret_links)
{
	_cleanup_(cpu_links_free_p) struct cpu_links *links = calloc(1, sizeof(*links));
	int r;

	if (!links)
		return -ENOMEM;
	links->link = link;
	links->userdata = userdata;
	/* Before they are made: what changes meanwhile is seen later. */
	(void)has_slept(links);
	(void)online_has_changed(links);
	r = link_all(links);
	if (r == 0)
		*ret_links = TAKE_PTR(links);
	return r;
}

void cpu_links_free(struct cpu_links *links)
{
	if (!links)
		return;
	close_all(links);
	vec_done(&links->fds);
	free(links);
}

int cpu_links_check(struct cpu_links *links)
{
	uint64_t now_ns = clock_monotonic_ns();
	bool slept = has_slept(links), changed = false;

	if (slept || now_ns >= links->next_look_ns) {
		changed = online_has_changed(links);
		links->next_look_ns = now_ns + ONLINE_LOOK_NS;
	}
	if (!slept && !changed)
		return 0;
	links->gaps++;
	close_all(links);
	return link_all(links);
}

uint64_t cpu_links_gaps(const struct cpu_links *links)
{
	return links->gaps;
}
