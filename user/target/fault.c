/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "target/fault.h"

#include "base/cleanup.h"
#include "target/proc_maps.h"

#include <elfutils/libdwfl.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- will it be killed? ---------------------------------------------------------------------- */

static bool is_of_faults(int signal)
{
	return signal == SIGSEGV || signal == SIGBUS || signal == SIGABRT || signal == SIGILL ||
	       signal == SIGFPE;
}

bool fault_is_fatal(pid_t pid, int signal)
{
	_cleanup_fclose_ FILE *file = NULL;
	uint64_t caught = 0, ignored = 0;
	char path[32], line[256];

	if (!is_of_faults(signal))
		return false;
	(void)snprintf(path, sizeof(path), "/proc/%d/status", (int)pid); /* fits */
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file)) {
		(void)sscanf(line, "SigIgn: %" SCNx64, &ignored); /* other lines */
		(void)sscanf(line, "SigCgt: %" SCNx64, &caught);
	}
	/* A fault while the signal is blocked or ignored has reset it to its default by now. */
	return file && !((caught | ignored) & (1ULL << (signal - 1)));
}

/* --- where it is ----------------------------------------------------------------------------- */

/* The file as the process sees it, which may have another root. */
static int find_elf(Dwfl_Module *module, void **userdata, const char *name, Dwarf_Addr base,
		    char **ret_path, Elf **ret_elf)
{
	_cleanup_free_ char *path = NULL;
	struct stat st;
	int fd;

	/* What has no file is read from memory by libdwfl: the vDSO. */
	if (name[0] != '/')
		return dwfl_linux_proc_find_elf(module, userdata, name, base, ret_path, ret_elf);
	if (asprintf(&path, "/proc/%d/root%s", (int)(intptr_t)*userdata, name) < 0)
		return -1;
	/* Opening a FIFO or a device may wait, or do something. */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd >= 0 && (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))) {
		close(fd);
		fd = -1;
	}
	if (fd >= 0)
		*ret_path = TAKE_PTR(path);
	return fd;
}

static int no_debuginfo(Dwfl_Module *module, void **userdata, const char *name, Dwarf_Addr base,
			const char *file, const char *link, GElf_Word checksum, char **ret_path)
{
	(void)module;
	(void)userdata;
	(void)name;
	(void)base;
	(void)file;
	(void)link;
	(void)checksum;
	(void)ret_path;
	return -1;
}

static const Dwfl_Callbacks callbacks = { .find_elf = find_elf, .find_debuginfo = no_debuginfo };

/* What a return probe has put in the place of a return address, which the kernel alone knows. */
static bool is_probed_return(const struct proc_maps *maps, uint64_t addr)
{
	const struct proc_map *map = proc_maps_find(maps, addr);

	return map && strcmp(map->path, "[uprobes]") == 0;
}

struct walk {
	struct proc_maps maps;
	struct fault *fault;
};

static int on_frame(Dwfl_Frame *frame, void *userdata)
{
	const struct walk *walk = userdata;
	struct fault *fault = walk->fault;
	Dwarf_Addr pc;
	bool is_exact;

	if (fault->n_frames == FAULT_FRAMES || !dwfl_frame_pc(frame, &pc, &is_exact))
		return DWARF_CB_ABORT;
	if (pc == 0 || is_probed_return(&walk->maps, pc))
		return DWARF_CB_ABORT;
	if (is_exact)
		fault->exact[fault->n_frames / 64] |= 1ULL << (fault->n_frames % 64);
	fault->frames[fault->n_frames++] = pc;
	return DWARF_CB_OK;
}

/* For find_elf. */
static int keep_pid(Dwfl_Module *module, void **userdata, const char *name, Dwarf_Addr base,
		    void *pid)
{
	(void)module;
	(void)name;
	(void)base;
	*userdata = pid;
	return DWARF_CB_OK;
}

static void walk_stack(pid_t pid, pid_t tid, struct fault *fault)
{
	struct walk walk = { .fault = fault };
	Dwfl *dwfl = dwfl_begin(&callbacks);

	if (!dwfl)
		return;
	if (proc_maps_read(pid, &walk.maps) == 0 && dwfl_linux_proc_report(dwfl, pid) == 0 &&
	    dwfl_report_end(dwfl, NULL, NULL) == 0 &&
	    dwfl_getmodules(dwfl, keep_pid, (void *)(intptr_t)pid, 0) == 0 &&
	    dwfl_linux_proc_attach(dwfl, pid, true) == 0)
		fault->whole = dwfl_getthread_frames(dwfl, tid, on_frame, &walk) == 0;
	dwfl_end(dwfl);
	proc_maps_done(&walk.maps);
}

int fault_read(pid_t pid, pid_t tid, struct fault *ret_fault)
{
	struct fault fault = { 0 };
	siginfo_t info;

	if (ptrace(PTRACE_GETSIGINFO, tid, NULL, &info) < 0)
		return -errno;
	fault.signal = info.si_signo;
	fault.code = info.si_code;
	/* SI_KERNEL, as of a non-canonical address, has none, nor has what others sent. */
	fault.has_addr = info.si_code > 0 && info.si_code != SI_KERNEL && info.si_signo != SIGABRT;
	fault.addr = fault.has_addr ? (uint64_t)(uintptr_t)info.si_addr : 0;
	walk_stack(pid, tid, &fault);
	*ret_fault = fault;
	return 0;
}
