/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "target/process.h"

#include "base/cleanup.h"
#include "held_run.h"
#include "target/proc_file.h"
#include "target/process_list.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/sendfile.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define STAT_OF_THREADS(n)                                                                         \
	" 1 1 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 " n " 0 987654321 1 2 18446744073709551615 1 1 1\n"
#define STAT_TAIL STAT_OF_THREADS("1")

static void stat_is_parsed_whatever_the_name(void **state)
{
	static const struct {
		const char *text;
		int r;
		struct process_info info;
	} rows[] = {
		{ "7 (cat) S 5" STAT_TAIL, 0, { .comm = "cat", .ppid = 5 } },
		{ "7 (a) R 1 (b) Z 5" STAT_TAIL,
		  0,
		  { .comm = "a) R 1 (b", .ppid = 5, .thread_ended = true, .zombie = true } },
		{ "7 ()) X 5" STAT_TAIL,
		  0,
		  { .comm = ")", .ppid = 5, .thread_ended = true, .zombie = true } },
		{ "7 (cat) Z 5" STAT_OF_THREADS("2"),
		  0,
		  { .comm = "cat", .ppid = 5, .thread_ended = true } },
		{ "7 () S 5" STAT_TAIL, 0, { .comm = "", .ppid = 5 } },
		{ "7 (a\nb) S 5" STAT_TAIL, 0, { .comm = "a\nb", .ppid = 5 } },
		{ "7 (kworker/u4:0-events_unbound) S 5" STAT_TAIL,
		  0,
		  { .comm = "kworker/u4:0-ev", .ppid = 5 } },
		{ "", -EBADMSG, { 0 } },
		{ "7", -EBADMSG, { 0 } },
		{ "7 (cat", -EBADMSG, { 0 } },
		{ "7 )cat(", -EBADMSG, { 0 } },
		{ "7 (cat) S 5 1 1", -EBADMSG, { 0 } },
		{ "7 (cat) S x" STAT_TAIL, -EBADMSG, { 0 } },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct process_info info = { 0 };

		assert_int_equal(process_parse_stat(rows[i].text, &info), rows[i].r);
		if (rows[i].r < 0)
			continue;
		assert_string_equal(info.comm, rows[i].info.comm);
		assert_int_equal(info.ppid, rows[i].info.ppid);
		assert_int_equal(info.zombie, rows[i].info.zombie);
		assert_int_equal(info.thread_ended, rows[i].info.thread_ended);
		assert_false(info.kernel_thread);
		assert_int_equal(info.start_ticks, 987654321);
		assert_int_equal(info.rss_bytes, 2 * sysconf(_SC_PAGESIZE));
		assert_true(info.has_reaped);
	}
}

static void a_process_without_faults_of_children_has_reaped_none(void **state)
{
	struct process_info info = { .has_reaped = true };

	(void)state;
	assert_int_equal(process_parse_stat("7 (cat) S 5 1 1 0 -1 4194560 1 0 3 4 5 6 7 8 20 0 1 0 "
					    "987654321 1 2 18446744073709551615 1 1 1\n",
					    &info),
			 0);
	assert_false(info.has_reaped);
}

static void fields_are_counted_behind_the_name(void **state)
{
	const char *text = "7 (a ) b) S 5 6\n";

	(void)state;
	assert_string_equal(process_stat_field(text, 3), "S 5 6\n");
	assert_string_equal(process_stat_field(text, 5), "6\n");
	assert_null(process_stat_field(text, 6));
	assert_null(process_stat_field("7", 3));
}

static void *wait_for_ever(void *arg)
{
	pause();
	return arg;
}

/* Its first thread ends, another one goes on. */
static pid_t start_without_first_thread(void)
{
	pthread_t thread;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid > 0)
		return pid;
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (pthread_create(&thread, NULL, wait_for_ever, NULL) == 0)
		pthread_exit(NULL);
	_exit(1);
}

static void a_process_goes_on_without_its_first_thread(void **state)
{
	pid_t pid = start_without_first_thread(), thread;
	struct process_info info = { 0 };
	_cleanup_free_ char *exe = NULL, *own_exe = NULL;
	uint64_t bytes = 0;

	(void)state;
	while (process_info_read(pid, &info) == 0 && !info.thread_ended)
		(void)usleep(1000);
	assert_true(info.thread_ended);
	assert_false(info.zombie);
	assert_true(info.is_64bit);
	assert_true(info.rss_bytes > 0);
	thread = proc_living_thread(pid);
	assert_int_not_equal(thread, pid);
	assert_int_equal(process_of_thread(thread), pid);
	assert_int_equal(proc_living_thread(thread), thread);
	assert_int_equal(proc_living_thread(getpid()), getpid());
	assert_int_equal(process_exe(pid, &exe), 0);
	assert_int_equal(process_exe(getpid(), &own_exe), 0);
	assert_string_equal(exe, own_exe);
	assert_int_equal(process_peak_rss(pid, &bytes), 0);
	assert_true(bytes > 0);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitid(P_PID, (id_t)pid, NULL, WEXITED | WNOWAIT), 0);
	assert_int_equal(process_info_read(pid, &info), 0);
	assert_true(info.zombie);
	assert_int_equal(proc_living_thread(pid), pid);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void descendants_are_listed_without_the_one_that_is_excepted(void **state)
{
	pid_vec with = {}, without = {};
	pid_t child = fork();

	(void)state;
	assert_true(child >= 0);
	if (child == 0) {
		pause();
		_exit(0);
	}
	assert_int_equal(process_list_descendants(getpid(), 0, &with), 0);
	assert_int_equal(with.len, 1);
	assert_int_equal(with.data[0], child);
	assert_int_equal(process_list_descendants(getpid(), child, &without), 0);
	assert_int_equal(without.len, 0);
	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(waitpid(child, NULL, 0), child);
	vec_done(&with);
	vec_done(&without);
}

#define BEGIN "Name:\tx\nState:\tZ (zombie)\n"
#define IDS "Uid:\t1\t2\t3\t4\nGid:\t5\t6\t7\t8\n"
#define THREADS "Threads:\t2\n"

static void status_is_parsed_with_and_without_seccomp(void **state)
{
	static const struct {
		const char *text;
		int r, tgid, tracer, uid, gid, seccomp;
	} rows[] = {
		{ BEGIN "Tgid:\t7\nPid:\t8\nPPid:\t5\nTracerPid:\t9\n" IDS THREADS
			"Seccomp:\t2\nSeccomp_filters:\t1\n",
		  0, 7, 9, 2, 6, 2 },
		{ "Name:\tUid:\nState:\tS (sleeping)\nTgid:\t7\nPPid:\t5\nTracerPid:\t0\n"
		  "Uid:\t0\t4294967294\t0\t0\nGid:\t0\t1\t0\t0\n" THREADS,
		  0, 7, 0, -2, 1, 0 },
		{ BEGIN "Tgid:\t7\nPPid:\t5\nTracerPid:\t0\nUid:\t0\t0\t0\t0\n" THREADS, -EBADMSG,
		  0, 0, 0, 0, 0 },
		{ BEGIN "Tgid:\t7\nPPid:\t5\nTracerPid:\t0\n" THREADS, -EBADMSG, 0, 0, 0, 0, 0 },
		{ BEGIN "Tgid:\t7\nPPid:\t5\n" IDS THREADS, -EBADMSG, 0, 0, 0, 0, 0 },
		{ BEGIN "PPid:\t5\nTracerPid:\t9\n" IDS THREADS, -EBADMSG, 0, 0, 0, 0, 0 },
		{ BEGIN "Tgid:\tx\nPPid:\t5\nTracerPid:\t9\n" IDS THREADS, -EBADMSG, 0, 0, 0, 0,
		  0 },
		{ BEGIN "Tgid:\t7\nTracerPid:\t9\n" IDS THREADS, -EBADMSG, 0, 0, 0, 0, 0 },
		{ BEGIN "Tgid:\t7\nPPid:\t5\nTracerPid:\t9\n" IDS, -EBADMSG, 0, 0, 0, 0, 0 },
		{ "Tgid:\t7\nPPid:\t5\nTracerPid:\t9\n" IDS THREADS, -EBADMSG, 0, 0, 0, 0, 0 },
		{ "", -EBADMSG, 0, 0, 0, 0, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct process_info info = { 0 };
		pid_t tgid = 0;

		assert_int_equal(process_parse_status(rows[i].text, &info, &tgid), rows[i].r);
		if (rows[i].r < 0)
			continue;
		assert_int_equal(tgid, rows[i].tgid);
		assert_int_equal(info.tracer, rows[i].tracer);
		assert_int_equal(info.uid, (uid_t)rows[i].uid);
		assert_int_equal(info.gid, (gid_t)rows[i].gid);
		assert_int_equal(info.seccomp, rows[i].seccomp);
		assert_int_equal(info.ppid, 5);
		/* Another thread goes on. */
		assert_int_equal(info.thread_ended, i == 0);
		assert_false(info.zombie);
	}
}

static void a_name_is_read_as_it_was_set(void **state)
{
	static const char *const names[] = { "", "short", "fifteen letters", "a) R 1\nb\n" };
	char before[16], comm[16];

	(void)state;
	prctl(PR_GET_NAME, before);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		assert_int_equal(prctl(PR_SET_NAME, names[i]), 0);
		memset(comm, 'x', sizeof(comm));
		assert_int_equal(process_comm(getpid(), comm), 0);
		assert_string_equal(comm, names[i]);
	}
	assert_int_equal(prctl(PR_SET_NAME, before), 0);
	assert_int_equal(process_comm(0x7fffffff, comm), -ESRCH);
}

static void this_process_is_described(void **state)
{
	struct process_info info, again;
	char name[16];

	(void)state;
	prctl(PR_GET_NAME, name);
	assert_int_equal(process_info_read(getpid(), &info), 0);
	assert_int_equal(info.pid, getpid());
	assert_int_equal(info.ppid, getppid());
	assert_int_equal(info.uid, geteuid());
	assert_string_equal(info.comm, name);
	assert_false(info.zombie || info.kernel_thread);
	assert_int_equal(info.is_64bit, sizeof(void *) == 8);
	assert_true(info.start_ticks > 0);
	assert_int_equal(process_info_read(getpid(), &again), 0);
	assert_int_equal(again.start_ticks, info.start_ticks);
}

/* A child that does `prepare`, says so, and waits to be killed. */
static pid_t start_child(void (*prepare)(void))
{
	int ready[2];
	pid_t pid;
	char c;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (pid == 0) {
		prepare();
		if (write(ready[1], "", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &c, 1), 1);
	close(ready[0]);
	return pid;
}

static void end_child(pid_t pid)
{
	kill(pid, SIGKILL);
	assert_int_equal(wait_bounded(pid), SIGKILL);
}

static void nothing(void)
{
}

static void filter_seccomp(void)
{
	struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog program = { .len = 1, .filter = &allow };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
		_exit(1);
}

static void a_seccomp_filter_shows(void **state)
{
	struct process_info info;
	pid_t plain = start_child(nothing), filtered = start_child(filter_seccomp);

	(void)state;
	assert_int_equal(process_info_read(filtered, &info), 0);
	assert_int_equal(info.seccomp, 2);
	assert_int_equal(process_info_read(plain, &info), 0);
	assert_true(info.seccomp == 0 || info.seccomp == 2); /* as this test's own sandbox */
	end_child(plain);
	end_child(filtered);
}

static void a_tracer_shows(void **state)
{
	pid_t pid = start_child(nothing);
	struct process_info info;

	(void)state;
	assert_int_equal(process_info_read(pid, &info), 0);
	assert_int_equal(info.tracer, 0);
	assert_int_equal(ptrace(PTRACE_SEIZE, pid, NULL, NULL), 0);
	assert_int_equal(process_info_read(pid, &info), 0);
	assert_int_equal(info.tracer, gettid());
	end_child(pid);
}

static void a_zombie_shows_until_it_is_reaped(void **state)
{
	struct process_info info;
	siginfo_t end;
	char *exe;
	pid_t pid = fork();

	(void)state;
	if (pid == 0)
		_exit(0);
	assert_int_equal(waitid(P_PID, (id_t)pid, &end, WEXITED | WNOWAIT), 0);
	assert_int_equal(process_info_read(pid, &info), 0);
	assert_true(info.zombie);
	assert_int_equal(process_exe(pid, &exe), -ENOENT);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(process_info_read(pid, &info), -ESRCH);
}

static void a_process_that_is_gone_is_told(void **state)
{
	pid_t pid = start_child(nothing), *tids;
	size_t n;
	char *exe;

	(void)state;
	end_child(pid);
	assert_int_equal(process_exe(pid, &exe), -ESRCH);
	assert_int_equal(process_threads(pid, &tids, &n), -ESRCH);
	assert_int_equal(process_of_thread(pid), -ESRCH);
}

/* This program, which waits; argument: NULL for none. */
static pid_t run_waiting(const char *path, const char *name, const char *argument)
{
	int ready[2];
	pid_t pid;
	char c;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (pid == 0) {
		dup2(ready[1], STDOUT_FILENO);
		execl(path, name, "wait", argument, NULL);
		_exit(1);
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &c, 1), 1);
	close(ready[0]);
	return pid;
}

/* This program's own binary, copied under another name, run, and perhaps deleted. */
static pid_t run_copy(const char *name)
{
	int in = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	int out = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700);

	assert_true(in >= 0 && out >= 0);
	while (sendfile(out, in, NULL, 1 << 24) > 0)
		;
	close(in);
	close(out);
	return run_waiting(name, name, NULL);
}

static void the_executable_is_named_also_when_deleted(void **state)
{
	static const struct {
		const char *file;
		bool delete;
	} rows[] = {
		{ "a b", false },
		{ "a b", true },
		{ "a (deleted)", false },
		{ "a (deleted)", true },
	};
	char dir[] = "/tmp/test_process.XXXXXX", name[64];

	(void)state;
	assert_non_null(mkdtemp(dir));
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		_cleanup_free_ char *exe = NULL;
		struct process_info info;
		pid_t pid;

		snprintf(name, sizeof(name), "%s/%s", dir, rows[i].file);
		pid = run_copy(name);
		if (rows[i].delete)
			unlink(name);
		assert_int_equal(process_exe(pid, &exe), 0);
		assert_string_equal(exe, name);
		assert_int_equal(process_info_read(pid, &info), 0);
		assert_int_equal(info.is_64bit, sizeof(void *) == 8);
		end_child(pid);
		unlink(name);
	}
	rmdir(dir);
}

static void a_command_line_is_quoted_and_cut(void **state)
{
	/* What is cut has 4,096 bytes in all: "x", "wait" and their ends are seven of them. */
	static char longest[5000], cut[4200];
	const struct {
		const char *name, *argument, *command;
	} rows[] = {
		{ "x", NULL, "x wait" },
		{ "a b", "it's", "'a b' wait 'it'\\''s'" },
		{ "", "x", "'' wait x" },
		{ "x", longest, cut },
	};

	(void)state;
	memset(longest, 'y', sizeof(longest) - 1);
	memcpy(cut, "x wait ", 7);
	memset(cut + 7, 'y', 4096 - 7);
	strcpy(cut + 4096, "...");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		_cleanup_free_ char *command = NULL;
		pid_t pid = run_waiting("/proc/self/exe", rows[i].name, rows[i].argument);

		assert_int_equal(process_command(pid, &command), 0);
		assert_string_equal(command, rows[i].command);
		end_child(pid);
	}
}

static void who_has_no_command_line_is_told(void **state)
{
	char *command;
	pid_t pid = fork();

	(void)state;
	if (pid == 0)
		_exit(0);
	assert_int_equal(waitid(P_PID, (id_t)pid, &(siginfo_t){ 0 }, WEXITED | WNOWAIT), 0);
	assert_int_equal(process_command(pid, &command), -ENOENT);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(process_command(pid, &command), -ESRCH);
}

static void *wait_at(void *arg)
{
	pthread_barrier_t *barriers = arg;

	pthread_barrier_wait(&barriers[0]);
	pthread_barrier_wait(&barriers[1]);
	return NULL;
}

static void all_threads_are_listed(void **state)
{
	_cleanup_free_ pid_t *tids = NULL;
	pthread_barrier_t barriers[2];
	pthread_t threads[7];
	size_t n = 0;

	(void)state;
	pthread_barrier_init(&barriers[0], NULL, 8);
	pthread_barrier_init(&barriers[1], NULL, 8);
	for (int i = 0; i < 7; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, wait_at, barriers), 0);
	pthread_barrier_wait(&barriers[0]);
	assert_int_equal(process_threads(getpid(), &tids, &n), 0);
	assert_int_equal(n, 8);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(process_of_thread(tids[i]), getpid());
	pthread_barrier_wait(&barriers[1]);
	for (int i = 0; i < 7; i++)
		pthread_join(threads[i], NULL);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stat_is_parsed_whatever_the_name),
		cmocka_unit_test(a_process_without_faults_of_children_has_reaped_none),
		cmocka_unit_test(fields_are_counted_behind_the_name),
		cmocka_unit_test(a_process_goes_on_without_its_first_thread),
		cmocka_unit_test(descendants_are_listed_without_the_one_that_is_excepted),
		cmocka_unit_test(status_is_parsed_with_and_without_seccomp),
		cmocka_unit_test(a_name_is_read_as_it_was_set),
		cmocka_unit_test(this_process_is_described),
		cmocka_unit_test(a_seccomp_filter_shows),
		cmocka_unit_test(a_tracer_shows),
		cmocka_unit_test(a_zombie_shows_until_it_is_reaped),
		cmocka_unit_test(a_process_that_is_gone_is_told),
		cmocka_unit_test(the_executable_is_named_also_when_deleted),
		cmocka_unit_test(a_command_line_is_quoted_and_cut),
		cmocka_unit_test(who_has_no_command_line_is_told),
		cmocka_unit_test(all_threads_are_listed),
	};

	if (argc >= 2 && strcmp(argv[1], "wait") == 0) {
		if (write(STDOUT_FILENO, "", 1) != 1)
			return 1;
		for (;;)
			pause();
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
