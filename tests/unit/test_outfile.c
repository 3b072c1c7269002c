/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/outfile.h"

#include "base/fs_identity.h"
#include "skip_because.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cmocka.h>

#define NO_USER ((uid_t)-1)
#define NO_GROUP ((gid_t)-1)
#define OTHER_UID 54321 /* in no passwd file: has OTHER_GID only */
#define OTHER_GID 54322
#define MAX_PATH 128

/* A folder of its own for each test, emptied and removed after it. */
struct fixture {
	char dir[MAX_PATH / 2];
	char path[MAX_PATH]; /* dir/out */
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	if (!f)
		return -1;
	strcpy(f->dir, "/tmp/test_outfile.XXXXXX");
	if (!mkdtemp(f->dir)) {
		free(f);
		return -1;
	}
	(void)snprintf(f->path, sizeof(f->path), "%s/out", f->dir);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;
	_cleanup_closedir_ DIR *dir = opendir(f->dir);
	const struct dirent *entry;
	int r;

	while (dir && (entry = readdir(dir)))
		(void)unlinkat(dirfd(dir), entry->d_name, 0); /* "." and ".." refuse */
	r = rmdir(f->dir);
	free(f);
	return r;
}

static unsigned int count_entries(const struct fixture *f)
{
	_cleanup_closedir_ DIR *dir = opendir(f->dir);
	unsigned int n = 0;

	assert_non_null(dir);
	while (readdir(dir))
		n++;
	return n - 2; /* "." and ".." */
}

static void write_file(const char *path, const char *text)
{
	_cleanup_fclose_ FILE *file = fopen(path, "we");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
}

static void assert_content(const char *path, const char *text)
{
	_cleanup_fclose_ FILE *file = fopen(path, "re");
	char buf[256];
	size_t n;

	assert_non_null(file);
	n = fread(buf, 1, sizeof(buf) - 1, file);
	buf[n] = '\0';
	assert_string_equal(buf, text);
}

static int new_own(const char *path, struct outfile **ret_file)
{
	return outfile_new(path, NO_USER, NO_GROUP, ret_file);
}

static void a_file_appears_whole_at_the_commit(void **state)
{
	_cleanup_(outfile_free_p) struct outfile *file = NULL;
	const struct fixture *f = *state;
	mode_t mask = umask(027);
	struct stat st;

	assert_int_equal(new_own(f->path, &file), 0);
	assert_true(fprintf(outfile_stream(file), "hello %d\n", 1) > 0);
	assert_int_equal(access(f->path, F_OK), -1);
	assert_int_equal(outfile_commit(file), 0);
	umask(mask);
	assert_content(f->path, "hello 1\n");
	assert_int_equal(stat(f->path, &st), 0);
	assert_int_equal(st.st_mode, S_IFREG | 0640);
	assert_int_equal(outfile_commit(file), -EINVAL);
	assert_int_equal(count_entries(f), 1);
}

static void a_published_file_is_there_and_grows(void **state)
{
	const struct fixture *f = *state;
	struct outfile *file = NULL;

	write_file(f->path, "old");
	assert_int_equal(new_own(f->path, &file), 0);
	assert_true(fputs("first", outfile_stream(file)) >= 0);
	assert_int_equal(outfile_flush(file), 0);
	assert_content(f->path, "old");
	assert_int_equal(outfile_publish(file), 0);
	assert_content(f->path, "first");
	assert_true(fputs(" second", outfile_stream(file)) >= 0);
	assert_int_equal(outfile_publish(file), 0);
	assert_content(f->path, "first second");
	assert_true(fputs(" never", outfile_stream(file)) >= 0);
	outfile_free(file);
	assert_content(f->path, "first second");
	assert_int_equal(count_entries(f), 1);
}

static void a_published_file_is_completed_by_the_commit(void **state)
{
	_cleanup_(outfile_free_p) struct outfile *file = NULL;
	const struct fixture *f = *state;

	assert_int_equal(new_own(f->path, &file), 0);
	assert_true(fputs("first", outfile_stream(file)) >= 0);
	assert_int_equal(outfile_publish(file), 0);
	assert_true(fputs(" last", outfile_stream(file)) >= 0);
	assert_int_equal(outfile_commit(file), 0);
	assert_content(f->path, "first last");
	assert_int_equal(count_entries(f), 1);
	assert_int_equal(outfile_publish(file), -EINVAL);
}

static void an_old_file_stays_as_it_was_until_the_commit(void **state)
{
	const struct fixture *f = *state;
	_cleanup_fclose_ FILE *reader = NULL;
	struct outfile *file = NULL;
	char buf[16] = "";

	write_file(f->path, "old");
	assert_int_equal(new_own(f->path, &file), 0);
	assert_true(fputs("new, and longer", outfile_stream(file)) >= 0);
	assert_int_equal(fflush(outfile_stream(file)), 0);
	assert_content(f->path, "old");
	reader = fopen(f->path, "re");
	assert_non_null(reader);
	assert_int_equal(outfile_commit(file), 0);
	outfile_free(file);
	assert_content(f->path, "new, and longer");
	assert_int_equal(fread(buf, 1, sizeof(buf), reader), 3); /* not written over in place */
}

/* Writing to it would wait for the holder. */
static void an_old_file_under_a_lease_is_replaced_at_once(void **state)
{
	_cleanup_(outfile_free_p) struct outfile *file = NULL;
	const struct fixture *f = *state;
	_cleanup_close_ int holder = -1;

	write_file(f->path, "old");
	holder = open(f->path, O_RDONLY | O_CLOEXEC);
	assert_true(holder >= 0);
	assert_true(signal(SIGIO, SIG_IGN) != SIG_ERR);
	if (fcntl(holder, F_SETLEASE, F_WRLCK) < 0)
		skip_because("the file system has no leases");
	assert_int_equal(new_own(f->path, &file), 0);
	assert_true(fputs("new", outfile_stream(file)) >= 0);
	assert_int_equal(outfile_commit(file), 0);
	assert_content(f->path, "new");
	assert_true(signal(SIGIO, SIG_DFL) != SIG_ERR);
}

static void without_a_commit_nothing_is_left_behind(void **state)
{
	const struct fixture *f = *state;
	struct outfile *file = NULL;

	write_file(f->path, "old");
	assert_int_equal(new_own(f->path, &file), 0);
	/* the new file has no name before the commit: a killed process leaves nothing either */
	assert_int_equal(count_entries(f), 1);
	assert_true(fputs("unwanted", outfile_stream(file)) >= 0);
	outfile_free(file);
	outfile_free(NULL);
	assert_content(f->path, "old");
	assert_int_equal(count_entries(f), 1);
}

static void a_writer_may_go_back_and_fill_in_a_header(void **state)
{
	_cleanup_(outfile_free_p) struct outfile *file = NULL;
	const struct fixture *f = *state;

	assert_int_equal(new_own(f->path, &file), 0);
	assert_true(fputs("????body", outfile_stream(file)) >= 0);
	assert_int_equal(ftell(outfile_stream(file)), 8);
	assert_int_equal(fseek(outfile_stream(file), 0, SEEK_SET), 0);
	assert_true(fputs("head", outfile_stream(file)) >= 0);
	assert_int_equal(outfile_commit(file), 0);
	assert_content(f->path, "headbody");
}

static void a_link_in_the_last_component_is_refused(void **state)
{
	const struct fixture *f = *state;
	struct outfile *file = NULL;
	char target[MAX_PATH + 8];

	(void)snprintf(target, sizeof(target), "%s.target", f->path);
	write_file(target, "victim");
	assert_int_equal(symlink(target, f->path), 0);
	assert_int_equal(new_own(f->path, &file), -ELOOP);
	assert_null(file);
	assert_content(target, "victim");
	assert_int_equal(unlink(target), 0);
	assert_int_equal(new_own(f->path, &file), -ELOOP); /* a dangling one, too */
	assert_int_equal(access(target, F_OK), -1);
}

/* Between new and commit, too, nothing is written through a link: it is itself replaced. */
static void a_link_put_there_before_the_commit_is_replaced(void **state)
{
	_cleanup_(outfile_free_p) struct outfile *file = NULL;
	const struct fixture *f = *state;
	char target[MAX_PATH + 8];

	(void)snprintf(target, sizeof(target), "%s.target", f->path);
	write_file(target, "victim");
	assert_int_equal(new_own(f->path, &file), 0);
	assert_true(fputs("text", outfile_stream(file)) >= 0);
	assert_int_equal(symlink(target, f->path), 0);
	assert_int_equal(outfile_commit(file), 0);
	assert_content(target, "victim");
	assert_content(f->path, "text");
}

static void a_path_that_cannot_be_written_says_why(void **state)
{
	static const struct {
		const char *path; /* behind the folder */
		int result;
	} cases[] = {
		{ "/no/out", -ENOENT }, { "/file/out", -ENOTDIR }, { "/", -EISDIR },
		{ "/.", -EISDIR },	{ "/..", -EISDIR },	   { "/fifo", -ENXIO },
	};
	const struct fixture *f = *state;
	struct outfile *file = NULL;
	char path[MAX_PATH];

	(void)snprintf(path, sizeof(path), "%s/file", f->dir);
	write_file(path, "");
	(void)snprintf(path, sizeof(path), "%s/fifo", f->dir);
	assert_int_equal(mkfifo(path, 0600), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		(void)snprintf(path, sizeof(path), "%s%s", f->dir, cases[i].path);
		assert_int_equal(new_own(path, &file), cases[i].result);
	}
	assert_int_equal(new_own("", &file), -ENOENT);
	assert_int_equal(new_own("/tmp", &file), -EISDIR);
	assert_null(file);
	assert_int_equal(count_entries(f), 2);
}

static void a_commit_that_cannot_rename_removes_its_temporary_file(void **state)
{
	const struct fixture *f = *state;
	struct outfile *file = NULL;

	assert_int_equal(new_own(f->path, &file), 0);
	assert_int_equal(mkdir(f->path, 0700), 0);
	assert_int_equal(outfile_commit(file), -EISDIR);
	outfile_free(file);
	assert_int_equal(rmdir(f->path), 0);
	assert_int_equal(count_entries(f), 0);
}

static void a_pipe_is_written_directly_and_stays_a_pipe(void **state)
{
	const struct fixture *f = *state;
	_cleanup_close_ int reader = -1;
	struct outfile *file = NULL;
	char buf[16] = "";
	struct stat st;

	assert_int_equal(mkfifo(f->path, 0600), 0);
	reader = open(f->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	assert_true(reader >= 0);
	assert_int_equal(new_own(f->path, &file), 0);
	assert_true(fputs("text", outfile_stream(file)) >= 0);
	assert_int_equal(outfile_commit(file), 0);
	outfile_free(file);
	assert_int_equal(read(reader, buf, sizeof(buf)), 4);
	assert_string_equal(buf, "text");
	assert_int_equal(lstat(f->path, &st), 0);
	assert_true(S_ISFIFO(st.st_mode));
	assert_int_equal(count_entries(f), 1);
	/* Given up: not even what was buffered gets through. */
	assert_int_equal(new_own(f->path, &file), 0);
	assert_true(fputs("unwanted", outfile_stream(file)) >= 0);
	outfile_free(file);
	assert_int_equal(read(reader, buf, sizeof(buf)), 0);
}

static void a_pipe_of_another_user_in_a_folder_of_all_is_refused(void **state)
{
	static const struct {
		uid_t dir_uid, pipe_uid;
		mode_t dir_mode;
		int expected;
	} rows[] = {
		{ 0, OTHER_UID, 01777, -EACCES },
		{ 0, OTHER_UID, 01775, -EACCES },
		{ 0, OTHER_UID, 01755, 0 },
		{ 0, OTHER_UID, 0777, 0 },
		{ 0, 0, 01777, 0 },
		{ OTHER_UID, OTHER_UID, 01777, 0 },
	};
	const struct fixture *f = *state;
	_cleanup_close_ int reader = -1;

	if (geteuid() != 0)
		skip_because("it needs root");
	assert_int_equal(mkfifo(f->path, 0666), 0);
	reader = open(f->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	assert_true(reader >= 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct outfile *file = NULL;

		assert_int_equal(chown(f->path, rows[i].pipe_uid, 0), 0);
		assert_int_equal(chown(f->dir, rows[i].dir_uid, 0), 0);
		assert_int_equal(chmod(f->dir, rows[i].dir_mode), 0);
		if (new_own(f->path, &file) != rows[i].expected)
			fail_msg("row %zu", i);
		outfile_free(file);
	}
}

static void a_device_is_written_directly_and_a_full_one_says_so(void **state)
{
	struct outfile *file = NULL;
	char text[10000];
	struct stat st;

	(void)state;
	memset(text, 'x', sizeof(text));
	assert_int_equal(new_own("/dev/null", &file), 0);
	assert_true(fputs("text", outfile_stream(file)) >= 0);
	assert_int_equal(outfile_commit(file), 0);
	outfile_free(file);
	assert_int_equal(lstat("/dev/null", &st), 0);
	assert_true(S_ISCHR(st.st_mode));
	assert_int_equal(new_own("/dev/full", &file), 0);
	/* The error is long ago and errno another when the commit asks. */
	(void)fwrite(text, 1, sizeof(text), outfile_stream(file));
	errno = 0;
	assert_int_equal(outfile_flush(file), -ENOSPC);
	assert_int_equal(outfile_publish(file), -ENOSPC);
	assert_int_equal(outfile_commit(file), -ENOSPC);
	outfile_free(file);
}

static void a_write_that_fails_half_way_keeps_the_old_file(void **state)
{
	const struct fixture *f = *state;
	struct rlimit limit, saved;
	struct outfile *file = NULL;
	char text[10000];

	memset(text, 'x', sizeof(text));
	write_file(f->path, "old");
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &saved), 0);
	limit = (struct rlimit){ .rlim_cur = 5000, .rlim_max = saved.rlim_max };
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	assert_int_equal(new_own(f->path, &file), 0);
	(void)fwrite(text, 1, sizeof(text), outfile_stream(file));
	assert_int_equal(outfile_commit(file), -EFBIG);
	outfile_free(file);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &saved), 0);
	signal(SIGXFSZ, SIG_DFL);
	assert_content(f->path, "old");
	assert_int_equal(count_entries(f), 1);
}

static void an_inherited_descriptor_can_be_named_but_no_own_one(void **state)
{
	struct outfile *file = NULL;
	char path[MAX_PATH], buf[16] = "";
	int fds[2];

	(void)state;
	assert_int_equal(pipe(fds), 0); /* without O_CLOEXEC, as inherited ones are */
	(void)snprintf(path, sizeof(path), "/dev/fd/%d", fds[1]);
	assert_int_equal(new_own(path, &file), 0);
	assert_true(fputs("text", outfile_stream(file)) >= 0);
	assert_int_equal(outfile_commit(file), 0);
	outfile_free(file);
	assert_int_equal(read(fds[0], buf, sizeof(buf)), 4);
	assert_string_equal(buf, "text");
	assert_true(fcntl(fds[1], F_GETFD) >= 0);
	assert_int_equal(fcntl(fds[1], F_SETFD, FD_CLOEXEC), 0);
	assert_int_equal(new_own(path, &file), -EBADF);
	assert_int_equal(new_own("/dev/fd/99999", &file), -EBADF);
	close(fds[0]);
	close(fds[1]);
}

static void dev_stdout_is_standard_output(void **state)
{
	const struct fixture *f = *state;
	int saved = dup(STDOUT_FILENO);
	int fd = open(f->path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	struct outfile *file = NULL;
	int r;

	assert_true(saved >= 0 && fd >= 0);
	assert_true(dup2(fd, STDOUT_FILENO) >= 0);
	r = new_own("/dev/stdout", &file);
	if (r == 0) {
		(void)fputs("text", outfile_stream(file));
		r = outfile_commit(file);
	}
	outfile_free(file);
	dup2(saved, STDOUT_FILENO);
	close(saved);
	close(fd);
	assert_int_equal(r, 0);
	assert_content(f->path, "text");
}

static void another_identity_needs_root(void **state)
{
	const struct fixture *f = *state;
	struct outfile *file = NULL;

	if (geteuid() == 0) {
		print_message("root may take on any identity\n");
		skip();
	}
	assert_int_equal(outfile_new(f->path, 0, 0, &file), -EPERM);
	assert_int_equal(outfile_new(f->path, geteuid(), getegid(), &file), 0);
	outfile_free(file);
}

/* The groups of this thread, as the kernel has them. */
static size_t read_groups(gid_t *groups, size_t max)
{
	int n = getgroups((int)max, groups);

	assert_true(n >= 0);
	return (size_t)n;
}

static void root_writes_with_the_rights_of_the_user_only(void **state)
{
	const struct fixture *f = *state;
	gid_t before[64], after[64];
	struct outfile *file = NULL;
	size_t n_before;

	if (geteuid() != 0)
		skip_because("it needs root");
	n_before = read_groups(before, 64);
	assert_int_equal(outfile_new(f->path, OTHER_UID, OTHER_GID, &file), -EACCES);
	assert_int_equal(chown(f->dir, 0, OTHER_GID), 0);
	assert_int_equal(chmod(f->dir, 0750), 0);
	assert_int_equal(outfile_new(f->path, OTHER_UID, OTHER_GID, &file), -EACCES);
	assert_int_equal(outfile_new(f->path, OTHER_UID, NO_GROUP, &file), -EINVAL);
	assert_null(file);
	/* The caller is who it was. */
	assert_int_equal(setfsuid((uid_t)-1), 0);
	assert_int_equal(setfsgid((gid_t)-1), getegid());
	assert_int_equal(read_groups(after, 64), n_before);
	assert_memory_equal(after, before, n_before * sizeof(gid_t));
	assert_int_equal(access("/etc/shadow", R_OK | W_OK), 0);
	assert_int_equal(count_entries(f), 0);
}

static void a_file_written_by_root_belongs_to_the_user(void **state)
{
	const struct fixture *f = *state;
	struct outfile *file = NULL;
	struct stat st;

	if (geteuid() != 0)
		skip_because("it needs root");
	assert_int_equal(chown(f->dir, OTHER_UID, OTHER_GID), 0);
	assert_int_equal(outfile_new(f->path, OTHER_UID, OTHER_GID, &file), 0);
	assert_true(fputs("text", outfile_stream(file)) >= 0);
	assert_int_equal(outfile_commit(file), 0);
	outfile_free(file);
	assert_int_equal(lstat(f->path, &st), 0);
	assert_int_equal(st.st_uid, OTHER_UID);
	assert_int_equal(st.st_gid, OTHER_GID);
	assert_content(f->path, "text");
}

static void a_file_that_the_user_may_not_write_is_not_replaced(void **state)
{
	const struct fixture *f = *state;
	struct outfile *file = NULL;

	if (geteuid() != 0)
		skip_because("it needs root");
	assert_int_equal(chown(f->dir, OTHER_UID, OTHER_GID), 0);
	write_file(f->path, "root's");
	assert_int_equal(outfile_new(f->path, OTHER_UID, OTHER_GID, &file), -EACCES);
	assert_content(f->path, "root's");
	assert_int_equal(count_entries(f), 1);
}

/* The right to the folder is gone at the commit: root's own rights must not step in. */
static void the_rename_is_made_with_the_rights_of_the_user(void **state)
{
	const struct fixture *f = *state;
	struct outfile *file = NULL;

	if (geteuid() != 0)
		skip_because("it needs root");
	assert_int_equal(chown(f->dir, OTHER_UID, OTHER_GID), 0);
	assert_int_equal(outfile_new(f->path, OTHER_UID, OTHER_GID, &file), 0);
	assert_int_equal(chown(f->dir, 0, 0), 0);
	assert_int_equal(outfile_commit(file), -EACCES);
	assert_int_equal(chown(f->dir, OTHER_UID, OTHER_GID), 0);
	outfile_free(file);
	assert_int_equal(count_entries(f), 0);
}

/* In a child, which gives itself a supplementary group that the other user lacks. */
static int check_groups_dropped(const char *path)
{
	_cleanup_(fs_identity_free_p) struct fs_identity *identity = NULL;
	const gid_t mine[] = { 54399, 54400 };
	gid_t groups[8];

	if (setgroups(2, mine) < 0 || chown(path, 0, 54399) < 0 || chmod(path, 0060) < 0)
		return 1;
	if (fs_identity_new(OTHER_UID, OTHER_GID, &identity) < 0 || fs_identity_enter(identity) < 0)
		return 2;
	if (open(path, O_RDONLY | O_CLOEXEC) >= 0 || errno != EACCES)
		return 3;
	if (getgroups(8, groups) != 1 || groups[0] != OTHER_GID)
		return 4;
	if (fs_identity_leave(identity) < 0)
		return 5;
	if (getgroups(8, groups) != 2 || memcmp(groups, mine, sizeof(mine)) != 0)
		return 6;
	return open(path, O_RDONLY | O_CLOEXEC) >= 0 ? 0 : 7;
}

static void supplementary_groups_are_the_user_s_and_come_back(void **state)
{
	const struct fixture *f = *state;
	int status = -1;
	pid_t pid;

	if (geteuid() != 0)
		skip_because("it needs root");
	assert_int_equal(chmod(f->dir, 0755), 0);
	write_file(f->path, "");
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(check_groups_dropped(f->path));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_file_appears_whole_at_the_commit),
		TEST(an_old_file_stays_as_it_was_until_the_commit),
		TEST(an_old_file_under_a_lease_is_replaced_at_once),
		TEST(a_published_file_is_there_and_grows),
		TEST(a_published_file_is_completed_by_the_commit),
		TEST(without_a_commit_nothing_is_left_behind),
		TEST(a_writer_may_go_back_and_fill_in_a_header),
		TEST(a_link_in_the_last_component_is_refused),
		TEST(a_link_put_there_before_the_commit_is_replaced),
		TEST(a_path_that_cannot_be_written_says_why),
		TEST(a_commit_that_cannot_rename_removes_its_temporary_file),
		TEST(a_pipe_is_written_directly_and_stays_a_pipe),
		TEST(a_pipe_of_another_user_in_a_folder_of_all_is_refused),
		TEST(a_device_is_written_directly_and_a_full_one_says_so),
		TEST(a_write_that_fails_half_way_keeps_the_old_file),
		TEST(an_inherited_descriptor_can_be_named_but_no_own_one),
		TEST(dev_stdout_is_standard_output),
		TEST(another_identity_needs_root),
		TEST(root_writes_with_the_rights_of_the_user_only),
		TEST(a_file_written_by_root_belongs_to_the_user),
		TEST(a_file_that_the_user_may_not_write_is_not_replaced),
		TEST(the_rename_is_made_with_the_rights_of_the_user),
		TEST(supplementary_groups_are_the_user_s_and_come_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
