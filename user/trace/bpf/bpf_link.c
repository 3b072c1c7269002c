/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/bpf/bpf_link.h"

#include "base/cleanup.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#define UPROBE_MULTI_RETURN 1 /* BPF_F_UPROBE_MULTI_RETURN */

/* The link_create member of union bpf_attr for uprobe-multi links, as of Linux 6.6. */
struct link_create_uprobe_multi {
	uint32_t prog_fd;
	uint32_t target_fd;
	uint32_t attach_type;
	uint32_t flags;
	uint64_t path;
	uint64_t offsets;
	uint64_t ref_ctr_offsets;
	uint64_t cookies;
	uint32_t cnt;
	uint32_t multi_flags;
	uint32_t pid;
	uint32_t pad;
};

struct link_create_perf_event {
	uint32_t prog_fd;
	uint32_t target_fd;
	uint32_t attach_type;
	uint32_t flags;
	uint64_t bpf_cookie;
};

static int bpf_link_create_raw(void *attr, size_t size)
{
	int fd = syscall(SYS_bpf, BPF_LINK_CREATE, attr, size);

	return fd < 0 ? -errno : fd;
}

int link_uprobe_multi(int prog_fd, int type, const char *path, const struct uprobe_site *sites,
		      size_t n_sites, bool at_return, pid_t pid)
{
	_cleanup_free_ uint64_t *offsets = calloc(n_sites, sizeof(*offsets));
	_cleanup_free_ uint64_t *cookies = calloc(n_sites, sizeof(*cookies));
	_cleanup_free_ uint64_t *semaphores = calloc(n_sites, sizeof(*semaphores));
	struct link_create_uprobe_multi attr = {
		.prog_fd = prog_fd,
		.attach_type = type,
		.path = (uintptr_t)path,
		.offsets = (uintptr_t)offsets,
		.ref_ctr_offsets = (uintptr_t)semaphores,
		.cookies = (uintptr_t)cookies,
		.cnt = n_sites,
		.multi_flags = at_return ? UPROBE_MULTI_RETURN : 0,
		.pid = pid,
	};

	if (!offsets || !cookies || !semaphores)
		return -ENOMEM;
	for (size_t i = 0; i < n_sites; i++) {
		offsets[i] = sites[i].offset;
		cookies[i] = sites[i].cookie;
		semaphores[i] = sites[i].semaphore_offset;
	}
	return bpf_link_create_raw(&attr, sizeof(attr));
}

static int perf_event_open(struct perf_event_attr *attr, pid_t pid, int cpu)
{
	int fd = syscall(SYS_perf_event_open, attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/*
 * A link holds a reference to its perf event, so the event's own descriptor can go: closing the
 * link then releases both. Before Linux 5.15 there are no such links: the event keeps the program,
 * and its descriptor is what is returned.
 */
static int perf_event_link(int prog_fd, int *perf_fd, uint64_t cookie)
{
	struct link_create_perf_event attr = {
		.prog_fd = prog_fd,
		.target_fd = *perf_fd,
		.attach_type = BPF_PERF_EVENT,
		.bpf_cookie = cookie,
	};
	int fd;

	if (ioctl(*perf_fd, PERF_EVENT_IOC_ENABLE, 0))
		return -errno;
	fd = bpf_link_create_raw(&attr, sizeof(attr));
	if (fd != -EINVAL || cookie)
		return fd;
	if (ioctl(*perf_fd, PERF_EVENT_IOC_SET_BPF, prog_fd))
		return -errno;
	fd = *perf_fd;
	*perf_fd = -1;
	return fd;
}

/* Number in a small sysfs file such as .../uprobe/type or .../format/retprobe ("config:0"). */
static int sysfs_number(const char *path, const char *fmt)
{
	_cleanup_fclose_ FILE *f = fopen(path, "re");
	int value;

	if (!f)
		return -errno;
	return fscanf(f, fmt, &value) == 1 ? value : -EBADMSG;
}

/* PERF_UPROBE_REF_CTR_OFFSET_SHIFT (include/linux/trace_events.h), since Linux 4.20. */
#define SEMAPHORE_SHIFT 32

int link_perf_uprobe(int prog_fd, const char *path, const struct uprobe_site *site, bool at_return,
		     pid_t pid)
{
	int type = sysfs_number("/sys/bus/event_source/devices/uprobe/type", "%d");
	int bit = sysfs_number("/sys/bus/event_source/devices/uprobe/format/retprobe", "config:%d");
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.config1 = (uintptr_t)path,
		.config2 = site->offset,
	};
	_cleanup_close_ int perf_fd = -1;

	if (type < 0)
		return type;
	if (bit < 0)
		return bit;
	if (site->semaphore_offset > UINT32_MAX)
		return -EFBIG;
	attr.type = type;
	attr.config = (at_return ? 1ULL << bit : 0) | site->semaphore_offset << SEMAPHORE_SHIFT;
	perf_fd = perf_event_open(&attr, pid > 0 ? pid : -1, pid > 0 ? -1 : 0);
	if (perf_fd < 0)
		return perf_fd;
	return perf_event_link(prog_fd, &perf_fd, site->cookie);
}

int link_load_empty(int type, int value)
{
	const struct bpf_insn insns[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = value },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = type);
	int fd = bpf_prog_load(BPF_PROG_TYPE_KPROBE, "memtraced_empty", "GPL", insns,
			       sizeof(insns) / sizeof(insns[0]), &opts);

	return fd < 0 ? -errno : fd;
}

int link_kprobe(int prog_fd, const char *function)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.config1 = (uintptr_t)function,
	};
	int type = sysfs_number("/sys/bus/event_source/devices/kprobe/type", "%d");
	_cleanup_close_ int perf_fd = -1;

	if (type < 0)
		return type;
	attr.type = type;
	perf_fd = perf_event_open(&attr, -1, 0);
	if (perf_fd < 0)
		return perf_fd;
	return perf_event_link(prog_fd, &perf_fd, 0);
}

int link_tracepoint(int prog_fd, uint32_t id, uint64_t cookie)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT,
		.size = sizeof(attr),
		.config = id,
		.sample_period = 1,
	};
	/* A tracepoint's programs run on every CPU, whichever one the event is bound to. */
	_cleanup_close_ int perf_fd = perf_event_open(&attr, -1, 0);

	if (perf_fd < 0)
		return perf_fd;
	return perf_event_link(prog_fd, &perf_fd, cookie);
}

/* One in `period` of a count of perf's own; -1 in *ret_perf_fd: the link's descriptor is perf's. */
static int link_software_event(int prog_fd, int cpu, uint64_t config, uint64_t period,
			       int *ret_perf_fd)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = config,
		.sample_period = period,
		.exclude_idle = 1,
	};
	_cleanup_close_ int perf_fd = perf_event_open(&attr, -1, cpu);
	int fd;

	if (perf_fd < 0)
		return perf_fd;
	fd = perf_event_link(prog_fd, &perf_fd, 0);
	if (fd >= 0 && ret_perf_fd)
		*ret_perf_fd = TAKE_FD(perf_fd);
	return fd;
}

int link_cpu_clock(int prog_fd, int cpu, uint32_t hz)
{
	/* its events are nanoseconds */
	return link_software_event(prog_fd, cpu, PERF_COUNT_SW_CPU_CLOCK, 1000000000 / hz, NULL);
}

int link_page_faults(int prog_fd, int cpu, uint32_t period, int *ret_perf_fd)
{
	return link_software_event(prog_fd, cpu, PERF_COUNT_SW_PAGE_FAULTS, period, ret_perf_fd);
}

int link_set_period(int perf_fd, uint64_t period)
{
	return ioctl(perf_fd, PERF_EVENT_IOC_PERIOD, &period) ? -errno : 0;
}

int link_raw_tracepoint(int prog_fd, const char *name)
{
	int fd = bpf_raw_tracepoint_open(name, prog_fd);

	return fd < 0 ? -errno : fd;
}
