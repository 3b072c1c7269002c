/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "target/launch/launch.h"

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "held_run.h"
#include "target/proc_file.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define EXITED(status) ((status) << 8)

/* What the child writes about itself into the file argv[2]. */
static int write_report(const char *path)
{
	_cleanup_fclose_ FILE *out = fopen(path, "we");
	_cleanup_strbuf_ struct strbuf status = { 0 };
	char cwd[PATH_MAX] = "";
	gid_t groups[64];
	mode_t mask = umask(0);
	struct rlimit limit;
	int n_groups = getgroups(64, groups);

	if (!out || !getcwd(cwd, sizeof(cwd)) || getrlimit(RLIMIT_CORE, &limit) < 0)
		return 1;
	fprintf(out, "ids %d %d %d %d\n", getuid(), geteuid(), getgid(), getegid());
	fprintf(out, "groups");
	for (int i = 0; i < n_groups; i++)
		fprintf(out, " %d", groups[i]);
	fprintf(out, "\nplace %d %d %s %o\n", getpgrp(), getsid(0), cwd, mask);
	fprintf(out, "core limit %ld\n", (long)limit.rlim_cur);
	fprintf(out, "descriptors");
	for (int fd = 0; fd < 1024; fd++) {
		if (fd != fileno(out) && fcntl(fd, F_GETFD) >= 0)
			fprintf(out, " %d", fd);
	}
	fprintf(out, "\nsignals ignored");
	for (int sig = 1; sig < NSIG; sig++) {
		struct sigaction action;

		if (sigaction(sig, NULL, &action) == 0 && action.sa_handler == SIG_IGN)
			fprintf(out, " %d", sig);
	}
	if (proc_file_read(getpid(), "status", 1 << 20, &status) < 0)
		return 1;
	fprintf(out, "\n%.24s\n", strstr(strbuf_str(&status), "SigBlk"));
	for (char **it = environ; *it; it++)
		fprintf(out, "env %s\n", *it);
	return 0;
}

struct report {
	char path[32];
	char text[16384];
};

static void report_begin(struct report *report)
{
	int fd;

	strcpy(report->path, "/tmp/test_launch.XXXXXX");
	fd = mkstemp(report->path);
	assert_true(fd >= 0);
	assert_int_equal(fchmod(fd, 0666), 0);
	close(fd);
}

static void report_end(struct report *report)
{
	int fd = open(report->path, O_RDONLY | O_CLOEXEC);
	ssize_t n = read(fd, report->text, sizeof(report->text) - 1);

	assert_true(n >= 0);
	report->text[n] = '\0';
	close(fd);
	unlink(report->path);
}

static void assert_line(const struct report *report, const char *line)
{
	size_t len = strlen(line);

	for (const char *at = report->text; at; at = strchr(at, '\n')) {
		at += *at == '\n';
		if (strncmp(at, line, len) == 0 && at[len] == '\n')
			return;
	}
	fail_msg("no line '%s' in:\n%s", line, report->text);
}

/* The lines that begin with `prefix`, as one string. */
static void select_lines(const struct report *report, const char *prefix, struct strbuf *ret)
{
	for (const char *at = report->text; at && *at; at = strchr(at, '\n')) {
		at += *at == '\n';
		if (strncmp(at, prefix, strlen(prefix)) == 0)
			strbuf_add(ret, at, (size_t)(strchrnul(at, '\n') - at) + 1);
	}
}

/* Runs this program as the reporting child. */
static void run_report(struct report *report, struct launch_opts *opts)
{
	_cleanup_(launch_free_p) struct launch *launch = NULL;
	char *argv[] = { "/proc/self/exe", "report", report->path, NULL };

	opts->argv = argv;
	report_begin(report);
	assert_int_equal(launch_new(opts, &launch), 0);
	assert_int_equal(launch_exec_result(launch), -EINPROGRESS);
	assert_int_equal(launch_release(launch), 0);
	assert_int_equal(wait_bounded(launch_pid(launch)), EXITED(0));
	assert_int_equal(launch_exec_result(launch), 0);
	report_end(report);
}

/* What the shell would have given the program, without memtraced between. */
static void run_bare(struct report *report)
{
	pid_t pid;

	report_begin(report);
	pid = fork();
	if (pid == 0) {
		execl("/proc/self/exe", "/proc/self/exe", "report", report->path, NULL);
		_exit(1);
	}
	assert_int_equal(wait_bounded(pid), EXITED(0));
	report_end(report);
}

static void on_signal(int sig)
{
	(void)sig;
}

static void a_child_gets_everything_as_memtraced_was_given_it(void **state)
{
	struct launch_inherited inherited;
	struct report bare, launched;
	struct rlimit limit;
	sigset_t set, before;
	int leak;

	(void)state;
	/* A shell has its background jobs ignore these. */
	signal(SIGINT, SIG_DFL);
	signal(SIGQUIT, SIG_DFL);
	signal(SIGHUP, SIG_IGN);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	sigprocmask(SIG_BLOCK, &set, &before);
	assert_int_equal(launch_inherited_save(&inherited), 0);
	run_bare(&bare);
	/* What memtraced then does for itself. */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGHUP, SIG_DFL);
	signal(SIGUSR1, on_signal);
	sigfillset(&set);
	sigprocmask(SIG_BLOCK, &set, NULL);
	getrlimit(RLIMIT_CORE, &limit);
	limit.rlim_cur = limit.rlim_cur == 4096 ? 0 : 4096;
	if (limit.rlim_max != 0)
		assert_int_equal(setrlimit(RLIMIT_CORE, &limit), 0);
	leak = open("/dev/null", O_RDONLY | O_CLOEXEC);
	unsetenv("SUDO_UID");
	run_report(&launched, &(struct launch_opts){ .inherited = &inherited });
	assert_string_equal(launched.text, bare.text);
	assert_line(&launched, "signals ignored 1");
	assert_line(&launched, "SigBlk:\t0000000000000800");
	close(leak);
	signal(SIGPIPE, SIG_DFL);
	signal(SIGUSR1, SIG_DFL);
	sigprocmask(SIG_SETMASK, &before, NULL);
	setrlimit(RLIMIT_CORE, &inherited.limits[RLIMIT_CORE]);
}

static void the_environment_is_changed_only_as_asked(void **state)
{
	static const char *const set[] = { "LAUNCH_A=1=2", "LAUNCH_B=", "LAUNCH_A=3", NULL };
	_cleanup_strbuf_ struct strbuf bare_env = { 0 }, env = { 0 };
	struct report bare, launched;

	(void)state;
	setenv("LAUNCH_B", "old", 1);
	run_bare(&bare);
	run_report(&launched, &(struct launch_opts){ .env_set = set });
	assert_line(&launched, "env LAUNCH_A=3");
	assert_line(&launched, "env LAUNCH_B=");
	assert_null(strstr(launched.text, "env LAUNCH_B=old"));
	unsetenv("LAUNCH_B");
	run_bare(&bare);
	run_report(&launched, &(struct launch_opts){ .env_set = set + 3 });
	select_lines(&bare, "env ", &bare_env);
	select_lines(&launched, "env ", &env);
	assert_string_equal(strbuf_str(&env), strbuf_str(&bare_env));
}

static void assert_runs_as(const struct report *report, const struct passwd *user)
{
	char line[4096];
	gid_t groups[64];
	int n_groups = 64, len;

	snprintf(line, sizeof(line), "ids %d %d %d %d", user->pw_uid, user->pw_uid, user->pw_gid,
		 user->pw_gid);
	assert_line(report, line);
	assert_true(getgrouplist(user->pw_name, user->pw_gid, groups, &n_groups) >= 0);
	len = snprintf(line, sizeof(line), "groups");
	for (int i = 0; i < n_groups; i++)
		len += snprintf(line + len, sizeof(line) - (size_t)len, " %d", groups[i]);
	assert_line(report, line);
	snprintf(line, sizeof(line), "env HOME=%s", user->pw_dir);
	assert_line(report, line);
	snprintf(line, sizeof(line), "env USER=%s", user->pw_name);
	assert_line(report, line);
	snprintf(line, sizeof(line), "env LOGNAME=%s", user->pw_name);
	assert_line(report, line);
	snprintf(line, sizeof(line), "env SHELL=%s", user->pw_shell);
	assert_line(report, line);
}

static void set_sudo(const struct passwd *user)
{
	char id[16];

	snprintf(id, sizeof(id), "%d", user->pw_uid);
	setenv("SUDO_UID", id, 1);
	snprintf(id, sizeof(id), "%d", user->pw_gid);
	setenv("SUDO_GID", id, 1);
}

static void clear_sudo(void)
{
	unsetenv("SUDO_UID");
	unsetenv("SUDO_GID");
}

static void under_sudo_the_child_is_the_invoking_user(void **state)
{
	static const char *const set[] = { "HOME=/elsewhere", NULL };
	const struct passwd *user = getpwnam("nobody");
	struct report report;
	uid_t uid;
	gid_t gid;

	(void)state;
	if (geteuid() != 0 || !user) {
		print_message("needs root and the user nobody\n");
		skip();
	}
	set_sudo(user);
	invoking_user(&uid, &gid);
	assert_int_equal(uid, user->pw_uid);
	assert_int_equal(gid, user->pw_gid);
	run_report(&report, &(struct launch_opts){ 0 });
	assert_runs_as(&report, user);
	assert_non_null(strstr(report.text, "env SUDO_UID="));
	run_report(&report, &(struct launch_opts){ .env_set = set });
	assert_line(&report, "env HOME=/elsewhere");
	run_report(&report, &(struct launch_opts){ .run_as = "root" });
	assert_runs_as(&report, getpwnam("root"));
	clear_sudo();
}

static void run_as_takes_names_and_numbers(void **state)
{
	const struct passwd *user = getpwnam("daemon");
	struct launch *launch = NULL;
	char *argv[] = { "true", NULL };
	struct report report;
	char id[16];

	(void)state;
	if (geteuid() != 0 || !user) {
		print_message("needs root and the user daemon\n");
		skip();
	}
	run_report(&report, &(struct launch_opts){ .run_as = "daemon" });
	assert_runs_as(&report, user);
	snprintf(id, sizeof(id), "%d", user->pw_uid);
	run_report(&report, &(struct launch_opts){ .run_as = id });
	assert_runs_as(&report, user);
	assert_int_equal(launch_new(&(struct launch_opts){ .argv = argv, .run_as = "no such user" },
				    &launch),
			 -ENODATA);
	assert_int_equal(launch_new(&(struct launch_opts){ .argv = argv, .run_as = "4294967295" },
				    &launch),
			 -ENODATA);
}

static void the_invoking_user_is_taken_from_sudo_only_when_it_is_sound(void **state)
{
	static const char *const broken[] = {
		"", "x", "12x", "-1", "4294967295", "99999999999999"
	};
	uid_t uid;
	gid_t gid;

	(void)state;
	for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
		setenv("SUDO_GID", "5", 1);
		setenv("SUDO_UID", broken[i], 1);
		invoking_user(&uid, &gid);
		assert_int_equal(uid, getuid());
		assert_int_equal(gid, getgid());
		setenv("SUDO_UID", "5", 1);
		setenv("SUDO_GID", broken[i], 1);
		invoking_user(&uid, &gid);
		assert_int_equal(uid, getuid());
	}
	clear_sudo();
}

/* In a session of its own, on a terminal of `owner`: has the command one of its own? 2: an error */
static int try_terminal(uid_t owner, const char *run_as, bool controlling)
{
	_cleanup_(launch_free_p) struct launch *launch = NULL;
	char *argv[] = { "true", NULL };
	int master = posix_openpt(O_RDWR | O_NOCTTY), slave;
	bool has;

	if (setsid() < 0 || master < 0 || unlockpt(master) < 0)
		return 2;
	slave = open(ptsname(master), O_RDWR | O_NOCTTY);
	if (slave < 0 || fchown(slave, owner, (gid_t)-1) < 0 ||
	    (controlling && ioctl(slave, TIOCSCTTY, 0) < 0))
		return 2;
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (dup2(slave, fd) < 0)
			return 2;
	if (launch_new(&(struct launch_opts){ .argv = argv, .run_as = run_as }, &launch) < 0)
		return 2;
	has = launch_pty(launch) != NULL;
	if (launch_release(launch) < 0 || wait_bounded(launch_pid(launch)) != 0)
		return 2;
	return has;
}

static void only_on_a_terminal_of_others_a_child_has_its_own(void **state)
{
	const struct passwd *user = getpwnam("nobody");
	const struct {
		uid_t owner;
		const char *run_as;
		int has;
	} rows[] = {
		{ 0, "nobody", 1 },
		{ user ? user->pw_uid : 0, "nobody", 0 },
		{ user ? user->pw_uid : 0, "daemon", 1 },
		{ user ? user->pw_uid : 0, "root", 0 },
		{ 0, NULL, 0 },
	};

	(void)state;
	if (geteuid() != 0 || !user) {
		print_message("needs root and the user nobody\n");
		skip();
	}
	for (size_t i = 0; i < 2 * sizeof(rows) / sizeof(rows[0]); i++) {
		pid_t pid = fork();

		if (pid == 0)
			_exit(try_terminal(rows[i / 2].owner, rows[i / 2].run_as, i % 2));
		assert_int_equal(wait_bounded(pid), EXITED(rows[i / 2].has));
	}
}

static void a_missing_command_is_told_before_anything_runs(void **state)
{
	static const struct {
		const char *command, *path;
		int r;
	} rows[] = {
		{ "no-such-command-at-all", NULL, -ENOENT },
		{ "", NULL, -ENOENT },
		{ "/no/such/command", NULL, -ENOENT },
		{ "/etc/passwd", NULL, -EACCES },
		{ "/etc", NULL, -EACCES },
		{ "passwd", "PATH=/etc:/nowhere", -EACCES },
		{ "sh", "PATH=/nowhere", -ENOENT },
		{ "true", "PATH=/nowhere:/etc:/bin:/usr/bin", 0 },
		{ "true", "PATH=/no/such:/bin:/usr/bin", 0 },
		{ "/bin/true", "PATH=", 0 },
	};

	(void)state;
	while (waitpid(-1, NULL, 0) > 0)
		; /* the keepers of terminals, if this test runs on one */
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		_cleanup_(launch_free_p) struct launch *launch = NULL;
		const char *const set[] = { rows[i].path, NULL };
		char *argv[] = { (char *)rows[i].command, NULL };
		const struct launch_opts opts = { .argv = argv, .env_set = set };

		assert_int_equal(launch_new(&opts, &launch), rows[i].r);
		if (rows[i].r < 0)
			continue;
		assert_int_equal(launch_release(launch), 0);
		assert_int_equal(wait_bounded(launch_pid(launch)), EXITED(0));
	}
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no zombies of the failed ones */
}

static void a_failed_exec_is_reported_with_its_errno(void **state)
{
	_cleanup_(launch_free_p) struct launch *launch = NULL;
	char path[] = "/tmp/test_launch.XXXXXX";
	char *argv[] = { path, NULL };
	int fd = mkstemp(path);

	(void)state;
	assert_int_equal(fchmod(fd, 0755), 0);
	close(fd);
	assert_int_equal(launch_new(&(struct launch_opts){ .argv = argv }, &launch), 0);
	unlink(path);
	assert_int_equal(launch_release(launch), 0);
	assert_int_equal(wait_bounded(launch_pid(launch)), EXITED(127));
	assert_int_equal(launch_exec_result(launch), -ENOENT);
	assert_int_equal(launch_exec_result(launch), -ENOENT);
}

static void a_broken_assignment_is_refused(void **state)
{
	static const char *const sets[][2] = { { "NAME", NULL }, { "=VALUE", NULL }, { "", NULL } };
	char *argv[] = { "true", NULL };

	(void)state;
	for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++) {
		struct launch *launch = NULL;

		assert_int_equal(
			launch_new(&(struct launch_opts){ .argv = argv, .env_set = sets[i] },
				   &launch),
			-EINVAL);
	}
}

static void a_child_that_was_never_released_is_killed(void **state)
{
	char *argv[] = { "true", NULL };
	struct launch *launch = NULL;
	pid_t pid;

	(void)state;
	assert_int_equal(launch_new(&(struct launch_opts){ .argv = argv }, &launch), 0);
	pid = launch_pid(launch);
	assert_int_equal(kill(pid, 0), 0);
	launch_free(launch);
	assert_int_equal(kill(pid, 0), -1);
	assert_int_equal(errno, ESRCH);
}

static void releasing_a_dead_child_says_so(void **state)
{
	_cleanup_(launch_free_p) struct launch *launch = NULL;
	char *argv[] = { "true", NULL };

	(void)state;
	assert_int_equal(launch_new(&(struct launch_opts){ .argv = argv }, &launch), 0);
	kill(launch_pid(launch), SIGKILL);
	assert_int_equal(wait_bounded(launch_pid(launch)), SIGKILL);
	assert_int_equal(launch_release(launch), -ESRCH);
}

static void a_waiting_child_ends_when_its_parent_dies(void **state)
{
	int alive[2];
	pid_t parent;
	char c;

	(void)state;
	/* Inherited by both, closed by the end of both. */
	assert_int_equal(pipe(alive), 0);
	parent = fork();
	if (parent == 0) {
		char *argv[] = { "sleep", "100", NULL };
		struct launch *launch;

		if (launch_new(&(struct launch_opts){ .argv = argv }, &launch) < 0)
			_exit(1);
		raise(SIGKILL);
	}
	close(alive[1]);
	assert_int_equal(wait_bounded(parent), SIGKILL);
	assert_int_equal(read(alive[0], &c, 1), 0);
	close(alive[0]);
}

static void a_pending_signal_strikes_the_child_at_its_release(void **state)
{
	_cleanup_(launch_free_p) struct launch *launch = NULL;
	char *argv[] = { "sleep", "100", NULL };

	(void)state;
	assert_int_equal(launch_new(&(struct launch_opts){ .argv = argv }, &launch), 0);
	kill(launch_pid(launch), SIGTERM);
	assert_int_equal(launch_release(launch), 0);
	assert_int_equal(wait_bounded(launch_pid(launch)), SIGTERM);
}

static void stdout_goes_to_stderr_when_the_report_owns_it(void **state)
{
	_cleanup_(launch_free_p) struct launch *launch = NULL;
	char *argv[] = { "sh", "-c", "echo out; echo err >&2", NULL };
	int out = dup(STDOUT_FILENO), err = dup(STDERR_FILENO), ends[2], r;
	char text[32] = "";

	(void)state;
	assert_int_equal(pipe(ends), 0);
	fflush(NULL);
	dup2(ends[1], STDERR_FILENO);
	r = launch_new(&(struct launch_opts){ .argv = argv, .stdout_to_stderr = true }, &launch);
	dup2(err, STDERR_FILENO);
	assert_int_equal(r, 0);
	assert_int_equal(launch_release(launch), 0);
	assert_int_equal(wait_bounded(launch_pid(launch)), EXITED(0));
	assert_true(read(ends[0], text, sizeof(text) - 1) > 0);
	assert_string_equal(text, "out\nerr\n");
	close(out);
	close(err);
	close(ends[0]);
	close(ends[1]);
}

/* As `memtraced ... <&- >&- 2>&-` starts it; told by exit status, as nothing can be printed. */
static void closed_standard_streams_stay_closed(void **state)
{
	pid_t pid = fork();

	(void)state;
	if (pid == 0) {
		char *argv[] = { "/proc/self/exe", "closed", NULL };
		struct launch *launch;
		int status;

		for (int fd = 0; fd < 64; fd++)
			close(fd);
		if (launch_new(&(struct launch_opts){ .argv = argv }, &launch) < 0 ||
		    launch_release(launch) < 0)
			_exit(2);
		if (waitpid(launch_pid(launch), &status, 0) != launch_pid(launch))
			_exit(3);
		_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 4);
	}
	assert_int_equal(wait_bounded(pid), EXITED(0));
}

static int check_closed(void)
{
	for (int fd = 0; fd < 64; fd++) {
		if (fcntl(fd, F_GETFD) >= 0)
			return 5;
	}
	return 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_child_gets_everything_as_memtraced_was_given_it),
		cmocka_unit_test(the_environment_is_changed_only_as_asked),
		cmocka_unit_test(under_sudo_the_child_is_the_invoking_user),
		cmocka_unit_test(run_as_takes_names_and_numbers),
		cmocka_unit_test(the_invoking_user_is_taken_from_sudo_only_when_it_is_sound),
		cmocka_unit_test(only_on_a_terminal_of_others_a_child_has_its_own),
		cmocka_unit_test(a_missing_command_is_told_before_anything_runs),
		cmocka_unit_test(a_failed_exec_is_reported_with_its_errno),
		cmocka_unit_test(a_broken_assignment_is_refused),
		cmocka_unit_test(a_child_that_was_never_released_is_killed),
		cmocka_unit_test(releasing_a_dead_child_says_so),
		cmocka_unit_test(a_waiting_child_ends_when_its_parent_dies),
		cmocka_unit_test(a_pending_signal_strikes_the_child_at_its_release),
		cmocka_unit_test(stdout_goes_to_stderr_when_the_report_owns_it),
		cmocka_unit_test(closed_standard_streams_stay_closed),
	};

	if (argc == 3 && strcmp(argv[1], "report") == 0)
		return write_report(argv[2]);
	if (argc == 2 && strcmp(argv[1], "closed") == 0)
		return check_closed();
	clear_sudo();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
