/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/bpf/run_stats.h"

#include "trace/bpf/programs.h"

#include <bpf/bpf.h>
#include <errno.h>

int run_stats_open(void)
{
	int fd = bpf_enable_stats(BPF_STATS_RUN_TIME);

	return fd < 0 ? -errno : fd;
}

int run_stats_read(const struct programs *programs, struct run_stats *ret_stats)
{
	const int fds[] = { programs->session_fd, programs->entry_fd, programs->return_fd,
			    programs->sample_fd };
	struct run_stats sum = { 0 };

	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++) {
		struct bpf_prog_info info = { 0 };
		__u32 len = sizeof(info);

		if (fds[i] < 0)
			continue;
		if (bpf_obj_get_info_by_fd(fds[i], &info, &len))
			return -errno;
		sum.runs += info.run_cnt;
		sum.ns += info.run_time_ns;
	}
	*ret_stats = sum;
	return 0;
}
