/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/kernel/features.h"

#include "trace/bpf/bpf_link.h"
#include "trace/bpf/grace.h"
#include "trace/bpf/link_home.h"
#include "trace/bpf/programs.h"
#include "trace/kernel/boot_facts.h"
#include "trace/kernel/kernel_btf.h"
#include "trace/kernel/old_kernel.h"
#include "trace/kernel/probe_page.h"
#include "trace/kernel/sampling.h"
#include "trace/kernel/tracefs.h"
#include "version.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#define FACTS "features"
#define KERNEL_ENOTSUPP 524 /* include/linux/errno.h */

__attribute__((format(printf, 4, 5))) static void result(struct features *f, enum feature id,
							 bool present, const char *fmt, ...)
{
	struct feature_row *row = &f->rows[id];
	va_list ap;

	row->probed = true;
	row->present = present && !feature_left_out(id);
	if (feature_left_out(id))
		fmt = "left out, as MEMTRACED_WITHOUT says";
	va_start(ap, fmt);
	(void)vsnprintf(row->reason, sizeof(row->reason), fmt, ap); /* cut is fine */
	va_end(ap);
}

/* What a kernel answers that does not know a thing; other errors may pass. */
static bool is_not_known(int error)
{
	return error == -EINVAL || error == -EOPNOTSUPP || error == -KERNEL_ENOTSUPP;
}

/* `error` 0: present. The row's reason has the words for it. */
static void mark_unsure(struct features *f, enum feature id, int error)
{
	f->rows[id].unsure = error && !is_not_known(error);
}

/* libbpf knows other places, and finds there what the programs need: it is asked last. */
static int find_in_btf(const char *name)
{
	int r = btf_file_has(KERNEL_BTF, name);
	struct btf *btf = r < 0 ? btf__load_vmlinux_btf() : NULL;

	if (r < 0)
		r = btf ? btf__find_by_name_kind(btf, name, BTF_KIND_FUNC) > 0 : -errno;
	btf__free(btf);
	return r;
}

static void probe_btf(struct features *f)
{
	int r = find_in_btf("bpf_preempt_disable");

	result(f, FEATURE_BTF, r >= 0, "%s (CONFIG_DEBUG_INFO_BTF)", strerror(-r));
	mark_unsure(f, FEATURE_BTF, r < 0 ? r : 0);
	result(f, FEATURE_HOLD_CPU, r > 0,
	       r < 0 ? "no BTF to look in" : "not in the kernel's BTF (Linux 6.10)");
}

static void probe_tracefs(struct features *f)
{
	_cleanup_close_ int fd = tracefs_open();
	uint32_t id;
	int r = fd < 0 ? fd : tracefs_event_id(fd, "syscalls", "sys_enter_mmap", &id);

	result(f, FEATURE_TRACEFS, r == 0, "%s (CONFIG_FTRACE_SYSCALLS)", strerror(-r));
	mark_unsure(f, FEATURE_TRACEFS, r);
}

static void probe_old(struct features *f)
{
	int r = old_kernel_try_cookies();

	result(f, FEATURE_COOKIES, r == 0, "%s (Linux 5.15); each hit costs more", strerror(-r));
	mark_unsure(f, FEATURE_COOKIES, r);
	r = old_kernel_try_atomics();
	mark_unsure(f, FEATURE_ATOMICS, r);
	result(f, FEATURE_ATOMICS, r == 0, "%s (Linux 5.12); each hit costs more", strerror(-r));
}

/*
 * By a program that calls it with what it refuses: a kernel that has it says so, one that has not,
 * that it knows no such function.
 */
static void probe_find_vma(struct features *f)
{
	int r;

	if (old_kernel()) {
		result(f, FEATURE_FIND_VMA, false, "not used without cookies and atomics");
		return;
	}
	r = libbpf_probe_bpf_helper(BPF_PROG_TYPE_RAW_TRACEPOINT, BPF_FUNC_find_vma, NULL);
	result(f, FEATURE_FIND_VMA, r > 0, "%s",
	       r < 0 ? strerror(-r) :
		       "no bpf_find_vma (Linux 5.17): stacks are truncated until an exec is seen");
	mark_unsure(f, FEATURE_FIND_VMA, r < 0 ? r : 0);
}

static void probe_grace(struct features *f)
{
	result(f, FEATURE_GRACE_PERIOD, grace_is_offered(),
	       "no MEMBARRIER_CMD_GLOBAL, as with nohz_full: such reports are not exact");
}

static void probe_sampling(struct features *f)
{
	int r = sampling_try();

	result(f, FEATURE_SAMPLING, r == 0, "%s (Linux 6.1)", strerror(-r));
	mark_unsure(f, FEATURE_SAMPLING, r);
}

static void add_link(struct features *f, int fd)
{
	link_home_keep(f->link_home, fd);
	f->link_fds[f->n_links++] = fd;
}

/* Tries one way of attaching to the page; keeps the link. 0 or negative errno. */
static int try_attach(struct features *f, const struct probe_page *page, enum feature id)
{
	int type = id == FEATURE_UPROBE_SESSION ? LINK_TYPE_UPROBE_SESSION :
		   id == FEATURE_UPROBE_MULTI	? LINK_TYPE_UPROBE_MULTI :
						  0;
	_cleanup_close_ int prog_fd = link_load_empty(type, 1);
	struct uprobe_site sites[PROBE_PAGE_KINDS];
	size_t n = probe_page_sites(page, sites);
	int fd;

	if (prog_fd < 0)
		return prog_fd;
	if (type) {
		fd = link_uprobe_multi(prog_fd, type, probe_page_path(page), sites, n, false, 0);
	} else {
		fd = link_perf_uprobe(prog_fd, probe_page_path(page), &sites[0], false, 0);
	}
	if (fd < 0)
		return fd;
	add_link(f, fd);
	return 0;
}

static void probe_attach(struct features *f, const struct probe_page *page, bool all)
{
	static const enum feature order[] = { FEATURE_UPROBE_SESSION, FEATURE_UPROBE_MULTI,
					      FEATURE_PERF_UPROBE };

	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		/* The build for old kernels knows perf's uprobes alone. */
		bool known = order[i] == FEATURE_PERF_UPROBE || !old_kernel();
		int r = known && !feature_left_out(order[i]) ? try_attach(f, page, order[i]) :
							       -EOPNOTSUPP;

		if (known)
			result(f, order[i], r == 0, "link refused: %s", strerror(-r));
		else
			result(f, order[i], false, "not used without cookies and atomics");
		mark_unsure(f, order[i], r);
		/* All sites of the page are probed by the first that works. */
		if (r == 0 && !f->emulation_measured && order[i] != FEATURE_PERF_UPROBE)
			f->emulation_measured = probe_page_measure(page, &f->emulation,
								   &f->emulated_ns, &f->stepped_ns);
		if (r == 0 && !all)
			return;
	}
}

/*
 * From Linux 6.11 on, return probes go through a system call of their own, which seccomp filters
 * did not know at first: the filtered target was killed. Tried on a child of ours.
 */
static void probe_seccomp(struct features *f, const struct probe_page *page)
{
	bool multi =
		f->rows[FEATURE_UPROBE_MULTI].present || f->rows[FEATURE_UPROBE_SESSION].present;
	_cleanup_close_ int prog_fd = link_load_empty(multi ? LINK_TYPE_UPROBE_MULTI : 0, 0);
	struct uprobe_site site = probe_page_call_site(page);
	int fd, r;

	if (prog_fd < 0) {
		result(f, FEATURE_URETPROBE_SECCOMP, false, "program: %s", strerror(-prog_fd));
		mark_unsure(f, FEATURE_URETPROBE_SECCOMP, prog_fd);
		return;
	}
	fd = multi ? link_uprobe_multi(prog_fd, LINK_TYPE_UPROBE_MULTI, probe_page_path(page),
				       &site, 1, true, 0) :
		     link_perf_uprobe(prog_fd, probe_page_path(page), &site, true, 0);
	if (fd < 0) {
		result(f, FEATURE_URETPROBE_SECCOMP, false, "return probe: %s", strerror(-fd));
		mark_unsure(f, FEATURE_URETPROBE_SECCOMP, fd);
		return;
	}
	add_link(f, fd);
	r = probe_page_filtered_child(page);
	result(f, FEATURE_URETPROBE_SECCOMP, r == 0,
	       r > 0 ? "a filtered child was killed by signal %d: exit sites are used" :
		       "test failed: error %d",
	       r > 0 ? r : -r);
	f->rows[FEATURE_URETPROBE_SECCOMP].unsure = r != 0 && r != SIGSYS;
}

static void assume_emulation(struct plan_emulation *emulation)
{
	size_t n;
	const struct probe_kind *kinds = probe_kinds(&n);

	for (size_t i = PROBE_KIND_EMULATED; i < n; i++)
		*probe_kind_member(&kinds[i], emulation) = kinds[i].everywhere;
}

/* What is sure, without what only the one that has found it holds. */
static void store_facts(const struct features *f)
{
	struct features kept = *f;

	for (size_t i = 0; i < FEATURES; i++)
		if (kept.rows[i].unsure)
			return;
	if (!kept.emulation_measured) /* it may be another time */
		return;
	kept.link_home = -1;
	kept.n_links = 0;
	(void)boot_facts_put(NULL, FACTS, &kept, sizeof(kept)); /* else probed again */
}

int features_new(bool all, struct features **ret_features)
{
	_cleanup_(features_free_p) struct features *f = calloc(1, sizeof(*f));
	_cleanup_(probe_page_free_p) struct probe_page *page = NULL;
	int r;

	if (!f)
		return -ENOMEM;
	/* A mount may hide it, as in a container. */
	if (!all && access(KERNEL_BTF, R_OK) == 0 &&
	    boot_facts_get(NULL, FACTS, f, sizeof(*f)) == 0) {
		*ret_features = TAKE_PTR(f);
		return 0;
	}
	assume_emulation(&f->emulation);
	f->link_home = link_home_open();
	r = probe_page_new(&page);
	if (r)
		return r;
	probe_btf(f);
	probe_tracefs(f);
	probe_old(f);
	probe_find_vma(f);
	probe_grace(f);
	if (all)
		probe_sampling(f);
	probe_attach(f, page, all);
	probe_seccomp(f, page);
	store_facts(f);
	*ret_features = TAKE_PTR(f);
	return 0;
}

/* Loads as a run would. 0 or negative errno. */
static int try_programs(const struct features *f, bool unwind, struct programs **ret_programs)
{
	const bool session = f->rows[FEATURE_UPROBE_SESSION].present;
	const struct programs_opts opts = {
		.run = {
			.path = session				      ? ATTACH_PATH_SESSION :
				f->rows[FEATURE_UPROBE_MULTI].present ? ATTACH_PATH_MULTI :
									ATTACH_PATH_PERF,
			.follow = true,
			.room = { .blocks = 1, .sites = 1, .tombs = 1 },
			.max_stack = ABI_MAX_FRAMES,
			.allocations = true,
			.unwind = unwind,
		},
		.hold_cpu = f->rows[FEATURE_HOLD_CPU].present,
		.find_vma = f->rows[FEATURE_FIND_VMA].present,
		.max_procs = 1,
	};
	_cleanup_(programs_free_p) struct programs *programs = NULL;
	int r = programs_new(&opts, &programs);

	if (r == 0 && session) /* loaded when it is needed */
		r = programs_entry_fd(programs);
	if (r < 0)
		return r;
	*ret_programs = TAKE_PTR(programs);
	return 0;
}

/* As a run would attach; what it keeps goes with the programs. */
static void try_deaths(struct features *f, struct programs *programs)
{
	int fds[PROGRAMS_MAX_TRACEPOINTS], r;
	size_t n;

	r = programs_attach_tracepoints(programs, fds, &n);
	for (size_t i = 0; i < n; i++)
		close(fds[i]);
	result(f, FEATURE_DEATHS, r == 0 && !programs->deaths_unseen, "tracepoints refused: %s",
	       r ? strerror(-r) : "signal:signal_generate or oom:mark_victim");
	result(f, FEATURE_OOM_LIMIT, r == 0 && !programs->oom_limit_unseen,
	       "no kprobe on out_of_memory() (CONFIG_KPROBES)");
}

void features_try_programs(struct features *f)
{
	_cleanup_(programs_free_p) struct programs *programs = NULL;
	int r = try_programs(f, true, &programs);

	result(f, FEATURE_UNWIND_CFI, r == 0, "%s (x86-64): frame pointers are followed",
	       strerror(-r));
	if (r)
		r = try_programs(f, false, &programs);
	if (r)
		result(f, FEATURE_WHOLE_TRACEPOINTS, false, "programs: %s", strerror(-r));
	else
		result(f, FEATURE_WHOLE_TRACEPOINTS,
		       !programs->raw_preempted && !programs->syscalls_preempted,
		       "they are: those of perf events stand for them");
	if (r == 0)
		try_deaths(f, programs);
}

void features_free(struct features *features)
{
	if (!features)
		return;
	for (size_t i = 0; i < features->n_links; i++)
		close(features->link_fds[i]);
	if (features->link_home >= 0)
		close(features->link_home);
	free(features);
}

void features_print(const struct features *f, struct strbuf *out)
{
	struct plan_emulation emulation = f->emulation;
	size_t n_kinds;
	const struct probe_kind *kinds = probe_kinds(&n_kinds);
	struct utsname uts;

	strbuf_addf(out, "memtraced          %s\n", MEMTRACED_VERSION);
	if (uname(&uts) == 0)
		strbuf_addf(out, "kernel             %s %s\n", uts.release, uts.machine);
	for (size_t i = 0; i < FEATURES; i++) {
		const struct feature_row *row = &f->rows[i];

		strbuf_addf(out, "%-18s %-4s %s", feature_name(i),
			    !row->probed ? "?" :
			    row->present ? "yes" :
					   "no",
			    feature_what(i));
		if (row->probed && !row->present)
			strbuf_addf(out, "\n%-23s (%s)", "", row->reason);
		strbuf_addch(out, '\n');
	}
	strbuf_addf(out, "emulated           ");
	for (size_t i = PROBE_KIND_EMULATED; i < n_kinds; i++)
		if (*probe_kind_member(&kinds[i], &emulation))
			strbuf_addf(out, " %s", kinds[i].name);
	strbuf_adds(out, f->emulation_measured ? "" : " (assumed: not measured)");
	if (f->emulation_measured)
		strbuf_addf(out, "\nper hit             %u ns emulated, %u ns single-stepped",
			    f->emulated_ns, f->stepped_ns);
	strbuf_addch(out, '\n');
}
