/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "target/process.h"

#include "base/cleanup.h"
#include "base/file_system.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "config/words.h"
#include "target/file_helper.h"
#include "target/file_open.h"
#include "target/proc_file.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* PF_KTHREAD of include/linux/sched.h: not in the uapi headers, but unchanged and shown in stat. */
#define PF_KTHREAD 0x00200000u

/* stat and status are about 1.5 KiB, but status lists up to 65,536 supplementary groups. */
#define PROC_TEXT_MAX (1u << 20)

/* The kernel's AT_VECTOR_SIZE / 2 is some 30. */
#define MOST_AUX 64

/* Bytes of a command line that are kept; it may be as long as ARG_MAX, 2 MiB and more. */
#define ENVIRONMENT_MAX ((size_t)1 << 20)
#define COMMAND_MAX 4096

static const char DELETED[] = " (deleted)";

static int gone_or(int error)
{
	return error == ENOENT ? -ESRCH : -error;
}

const char *process_stat_field(const char *text, int number)
{
	/* The name, which is field 2, may hold spaces and parentheses itself. */
	const char *at = strrchr(text, ')');

	for (int field = 2; at && field < number; field++) {
		at = strchr(at, ' ');
		at = at ? at + 1 : NULL;
	}
	return at;
}

static void set_ended(struct process_info *info, char state, unsigned int n_threads)
{
	info->thread_ended = state == 'Z' || state == 'X';
	info->zombie = info->thread_ended && n_threads <= 1;
}

int process_parse_stat(const char *text, struct process_info *info)
{
	/* The name may hold spaces and parentheses itself, nothing behind it does. */
	const char *open = strchr(text, '('), *close = strrchr(text, ')');
	unsigned int flags;
	uint64_t pages, child_faults;
	unsigned int threads;
	size_t len;
	char state;

	if (!open || !close || close < open)
		return -EBADMSG;
	len = (size_t)(close - open - 1);
	if (len >= sizeof(info->comm))
		len = sizeof(info->comm) - 1;
	memcpy(info->comm, open + 1, len);
	info->comm[len] = '\0';
	/* Fields 3 state, 4 ppid, 9 flags, 11 cminflt, 20 num_threads, 22 starttime, 24 rss. */
	if (sscanf(close + 1,
		   " %c %d %*d %*d %*d %*d %u %*s %" SCNu64
		   " %*s %*s %*s %*s %*s %*s %*s %*s %u %*s %" SCNu64 " %*s %" SCNu64,
		   &state, &info->ppid, &flags, &child_faults, &threads, &info->start_ticks,
		   &pages) != 7)
		return -EBADMSG;
	/* Each child that was waited for had page faults. */
	info->has_reaped = child_faults > 0;
	info->rss_bytes = pages * (uint64_t)sysconf(_SC_PAGESIZE);
	set_ended(info, state, threads);
	info->kernel_thread = flags & PF_KTHREAD;
	return 0;
}

/* The value behind "KEY:" at the start of a line, or NULL. */
static const char *status_value(const char *text, const char *key)
{
	size_t len = strlen(key);

	for (const char *line = text; line; line = strchr(line, '\n')) {
		if (*line == '\n')
			line++;
		if (strncmp(line, key, len) == 0 && line[len] == ':')
			return line + len + 1;
	}
	return NULL;
}

int process_parse_status(const char *text, struct process_info *info, pid_t *ret_tgid)
{
	const char *tgid = status_value(text, "Tgid"), *tracer = status_value(text, "TracerPid");
	const char *uid = status_value(text, "Uid"), *seccomp = status_value(text, "Seccomp");
	const char *gid = status_value(text, "Gid"), *ppid = status_value(text, "PPid");
	const char *state = status_value(text, "State"), *threads = status_value(text, "Threads");
	unsigned int n_threads;
	char letter;

	if (!state || sscanf(state, " %c", &letter) != 1 || !threads ||
	    sscanf(threads, "%u", &n_threads) != 1 || !ppid || sscanf(ppid, "%d", &info->ppid) != 1)
		return -EBADMSG;
	set_ended(info, letter, n_threads);
	if (!tgid || sscanf(tgid, "%d", ret_tgid) != 1 || !tracer ||
	    sscanf(tracer, "%d", &info->tracer) != 1 || !uid ||
	    sscanf(uid, "%u %u", &info->real_uid, &info->uid) != 2 || !gid ||
	    sscanf(gid, "%*u %u", &info->gid) != 1)
		return -EBADMSG;
	info->seccomp = 0;
	if (seccomp && sscanf(seccomp, "%d", &info->seccomp) != 1)
		return -EBADMSG;
	return 0;
}

int process_auxval(pid_t pid, uint64_t type, uint64_t *ret_value)
{
	_cleanup_strbuf_ struct strbuf text = { 0 };
	Elf64_auxv_t all[MOST_AUX];
	int r = file_helper_read_thread(proc_living_thread(pid), "auxv", sizeof(all), &text);

	if (r < 0)
		return r;
	if (text.len == 0)
		return -ENOENT;
	memcpy(all, text.data, text.len);
	for (size_t i = 0; i < text.len / sizeof(all[0]) && all[i].a_type != AT_NULL; i++) {
		if (all[i].a_type == type) {
			*ret_value = all[i].a_un.a_val;
			return 0;
		}
	}
	return -ENODATA;
}

/*
 * By what the kernel told it of its program headers: the file itself may be one whose opening waits
 * for others.
 */
static int executable_class(pid_t pid, bool *ret_is_64bit)
{
	uint64_t size = 0;
	int r = process_auxval(pid, AT_PHENT, &size);

	*ret_is_64bit = size == sizeof(Elf64_Phdr);
	return r == -ENODATA ? 0 : r;
}

int process_stat_read(pid_t pid, struct process_info *ret_info)
{
	_cleanup_strbuf_ struct strbuf stat = { 0 };
	struct process_info info = { .pid = pid };
	int r = file_helper_read_thread(pid, "stat", PROC_TEXT_MAX, &stat);

	if (r == 0)
		r = process_parse_stat(strbuf_str(&stat), &info);
	if (r == 0 && info.thread_ended && !info.zombie)
		(void)statm_rss(pid, &info.rss_bytes); /* all have ended meanwhile: 0 */
	if (r == 0)
		*ret_info = info;
	return r;
}

int process_comm(pid_t pid, char ret_comm[16])
{
	_cleanup_strbuf_ struct strbuf text = { 0 };
	int r = proc_file_read(pid, "comm", PROC_TEXT_MAX, &text);

	if (r < 0)
		return r;
	if (text.len == 0)
		return -EBADMSG;
	/* The newline is the file's, others may be the name's. Kernel threads have longer names. */
	memset(ret_comm, 0, 16);
	memcpy(ret_comm, text.data, text.len > 16 ? 15 : text.len - 1);
	return 0;
}

int process_peak_rss(pid_t pid, uint64_t *ret_bytes)
{
	_cleanup_strbuf_ struct strbuf status = { 0 };
	int r = proc_file_read(proc_living_thread(pid), "status", PROC_TEXT_MAX, &status);
	const char *peak = r < 0 ? NULL : status_value(strbuf_str(&status), "VmHWM");
	uint64_t kib;

	if (r < 0)
		return r;
	/* a zombie has no such line */
	if (!peak)
		return -ESRCH;
	if (sscanf(peak, "%" SCNu64, &kib) != 1)
		return -EBADMSG;
	*ret_bytes = kib * 1024;
	return 0;
}

static int read_status(pid_t pid, struct process_info *info, pid_t *ret_tgid)
{
	_cleanup_strbuf_ struct strbuf status = { 0 };
	int r = proc_file_read(pid, "status", PROC_TEXT_MAX, &status);

	return r < 0 ? r : process_parse_status(strbuf_str(&status), info, ret_tgid);
}

int process_status_read(pid_t pid, struct process_info *ret_info)
{
	struct process_info info = { .pid = pid };
	pid_t tgid;
	int r = read_status(pid, &info, &tgid);

	if (r == 0)
		*ret_info = info;
	return r;
}

int process_info_read(pid_t pid, struct process_info *ret_info)
{
	struct process_info info;
	pid_t tgid;
	int r = process_stat_read(pid, &info);

	if (r == 0)
		r = read_status(pid, &info, &tgid);
	if (r < 0)
		return r;
	info.exe_error = executable_class(pid, &info.is_64bit);
	*ret_info = info;
	return 0;
}

bool process_has_thread(pid_t pid, pid_t tid)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/task/%d", (int)pid, (int)tid); /* fits */
	return access(path, F_OK) == 0;
}

pid_t process_of_thread(pid_t tid)
{
	struct process_info info;
	pid_t tgid;
	int r = read_status(tid, &info, &tgid);

	return r < 0 ? r : tgid;
}

/* 0 or negative errno; a link that cannot be read whole is refused, not cut. */
static int read_link(pid_t pid, const char *name, char *buf, size_t size)
{
	_cleanup_strbuf_ struct strbuf text = { 0 };
	int r = file_helper_read_link(pid, name, size - 1, &text);

	if (r < 0)
		return r == -EFBIG ? -ENAMETOOLONG : r;
	memcpy(buf, strbuf_str(&text), text.len + 1);
	return 0;
}

/* Whether the executable still has this name, so that a " (deleted)" at its end is its own. */
static bool is_name_of_exe(pid_t pid, const char *path)
{
	_cleanup_close_ int root_fd = file_helper_open_proc(pid, "root", O_PATH | O_DIRECTORY);
	_cleanup_close_ int exe_fd = file_helper_open_proc(pid, "exe", O_PATH);
	_cleanup_close_ int fd =
		root_fd < 0 ? root_fd : root_find(root_fd, pid, path, FILE_SYSTEM_LOCAL);

	return exe_fd >= 0 && fd >= 0 && file_is_same(exe_fd, fd);
}

int process_exe(pid_t pid, char **ret_exe)
{
	char exe[PATH_MAX + 1], root[PATH_MAX + 1], dir[32];
	size_t suffix = sizeof(DELETED) - 1, root_len, len;
	const char *path = exe;
	int r;

	pid = proc_living_thread(pid);
	r = read_link(pid, "exe", exe, sizeof(exe));
	if (r == -ENOENT) {
		snprintf(dir, sizeof(dir), "/proc/%d", pid);
		return access(dir, F_OK) == 0 ? -ENOENT : -ESRCH;
	}
	if (r == 0)
		r = read_link(pid, "root", root, sizeof(root));
	if (r < 0)
		return gone_or(-r);
	/* The kernel prints both as seen from our root, so that a chroot shows in front. */
	root_len = strlen(root);
	if (root_len > 1 && strncmp(exe, root, root_len) == 0 && exe[root_len] == '/')
		path = exe + root_len;
	len = strlen(path);
	if (len > suffix && strcmp(path + len - suffix, DELETED) == 0 && !is_name_of_exe(pid, path))
		len -= suffix;
	*ret_exe = strndup(path, len);
	return *ret_exe ? 0 : -ENOMEM;
}

int process_command(pid_t pid, char **ret_command)
{
	_cleanup_strbuf_ struct strbuf command = { 0 }, text = { 0 };
	int r = file_helper_read(pid, "cmdline", COMMAND_MAX, &text);
	char words[COMMAND_MAX + 1];
	size_t len = text.len < COMMAND_MAX ? text.len : COMMAND_MAX;

	if (r < 0 && r != -EFBIG)
		return r;
	memcpy(words, strbuf_str(&text), len);
	/* What sets its title by writing over it leaves NULs behind. */
	while (len > 0 && len < COMMAND_MAX && words[len - 1] == '\0')
		len--;
	if (len == 0)
		return -ENOENT;
	words[len] = '\0';
	for (const char *word = words; word <= words + len; word += strlen(word) + 1) {
		if (word > words)
			strbuf_addch(&command, ' ');
		words_quote(&command, word);
	}
	if (len == COMMAND_MAX)
		strbuf_adds(&command, "...");
	r = strbuf_error(&command);
	if (r == 0)
		*ret_command = TAKE_PTR(command.data);
	return r;
}

bool process_was_given(pid_t pid, const char *variable)
{
	_cleanup_strbuf_ struct strbuf text = { 0 };
	int r = file_helper_read(pid, "environ", ENVIRONMENT_MAX, &text);
	const char *word = strbuf_str(&text), *end = word + text.len;

	if (r < 0 && r != -EFBIG)
		return false;
	for (; word < end; word += strnlen(word, (size_t)(end - word)) + 1)
		if (strncmp(word, variable, (size_t)(end - word)) == 0 &&
		    strlen(variable) <= (size_t)(end - word))
			return true;
	return false;
}

int process_threads(pid_t pid, pid_t **ret_tids, size_t *ret_n)
{
	_cleanup_closedir_ DIR *dir = NULL;
	_cleanup_free_ pid_t *owned = NULL;
	VEC(pid_t) tids = { 0 };
	struct dirent *entry;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	if (!dir)
		return gone_or(errno);
	while (errno = 0, entry = readdir(dir)) {
		char *end;
		long tid = strtol(entry->d_name, &end, 10);
		int r;

		if (*end || tid <= 0)
			continue;
		r = vec_push(&tids, (pid_t)tid);
		owned = tids.data;
		if (r < 0)
			return r;
	}
	if (errno)
		return gone_or(errno);
	if (tids.len == 0)
		return -ESRCH;
	*ret_n = tids.len;
	*ret_tids = TAKE_PTR(owned);
	return 0;
}

int statm_rss(pid_t pid, uint64_t *ret_bytes)
{
	_cleanup_strbuf_ struct strbuf text = { 0 };
	uint64_t size, resident;
	int r = proc_file_read(pid, "statm", 4096, &text);

	if (r)
		return r;
	/* of a thread that has ended all are 0 */
	if (sscanf(strbuf_str(&text), "%" SCNu64 " %" SCNu64, &size, &resident) != 2)
		return -EBADMSG;
	if (size == 0) {
		pid_t living = proc_living_thread(pid);

		return living == pid ? -ESRCH : statm_rss(living, ret_bytes);
	}
	*ret_bytes = resident * (uint64_t)sysconf(_SC_PAGESIZE);
	return 0;
}
