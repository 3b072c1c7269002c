/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/file_system.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#define N_ELEMENTS(a) (sizeof(a) / sizeof((a)[0]))

/* Without a block device: those with one are known by it. */
static const char *const local_types[] = {
	"aufs",	 "bcachefs", "btrfs", "devtmpfs", "ecryptfs", "hugetlbfs", "jffs2",
	"ramfs", "rootfs",   "tmpfs", "ubifs",	  "virtiofs", "zfs",
};

static const char *const pseudo_types[] = {
	"autofs",    "binfmt_misc", "bpf",	"cgroup",  "cgroup2",	 "configfs",
	"debugfs",   "devpts",	    "efivarfs", "fusectl", "mqueue",	 "nfsd",
	"nsfs",	     "proc",	    "pstore",	"resctrl", "rpc_pipefs", "securityfs",
	"selinuxfs", "smackfs",	    "sysfs",	"tracefs",
};

static bool is_among(const char *const *list, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(list[i], name) == 0)
			return true;
	return false;
}

static bool has_option(const char *options, const char *option)
{
	size_t len = strlen(option);

	for (const char *at = options; *at; at += strcspn(at, ",") + (at[strcspn(at, ",")] != '\0'))
		if (strcspn(at, ",") == len && strncmp(at, option, len) == 0)
			return true;
	return false;
}

enum file_system file_system_of_mount(const char *type, const char *options, bool is_ours)
{
	if (is_among(pseudo_types, N_ELEMENTS(pseudo_types), type))
		return FILE_SYSTEM_FOREIGN;
	if (is_among(local_types, N_ELEMENTS(local_types), type))
		return FILE_SYSTEM_LOCAL;
	/* Within a user namespace its root mounts these; the uid that is shown is of there. */
	if (strcmp(type, "fuse") == 0 || strcmp(type, "fuseblk") == 0 ||
	    strncmp(type, "fuse.", 5) == 0)
		return is_ours && has_option(options, "user_id=0") ? FILE_SYSTEM_SERVER :
								     FILE_SYSTEM_FOREIGN;
	if (strcmp(type, "overlay") == 0)
		return is_ours ? FILE_SYSTEM_LOCAL : FILE_SYSTEM_LAYERS;
	/* Networks' of all kinds, which only this host's root can mount. */
	return FILE_SYSTEM_SERVER;
}

int file_system_check(enum file_system system, enum file_system most)
{
	if (system <= most)
		return 0;
	return system == FILE_SYSTEM_FOREIGN ? -EREMOTE : -EXDEV;
}

/* Either number may say which mount it is. */
struct mount_key {
	int id; /* -1: not known */
	uint32_t major, minor;
};

/* Of a line of mountinfo: "36 35 98:0 /root /point options [more] - type source super", proc(5) */
static bool parse_line(char *line, struct mount_key *ret_key, char **ret_type, char **ret_options)
{
	char *at = strstr(line, " - "), *source;

	if (!at || sscanf(line, "%d %*d %" SCNu32 ":%" SCNu32, &ret_key->id, &ret_key->major,
			  &ret_key->minor) != 3)
		return false;
	*ret_type = at + 3;
	source = strchr(*ret_type, ' ');
	at = source ? strchr(source + 1, ' ') : NULL;
	if (!at)
		return false;
	*source = '\0';
	*ret_options = at + 1;
	at[1 + strcspn(at + 1, "\n")] = '\0';
	return true;
}

/* By its id, or else by its device. False: it is not there. */
static bool find_mount(pid_t pid, struct mount_key *key, bool is_ours, enum file_system *ret)
{
	char path[32] = "/proc/self/mountinfo";
	_cleanup_fclose_ FILE *file = NULL;
	_cleanup_free_ char *line = NULL;
	bool is_found = false;
	size_t size = 0;

	if (pid)
		(void)snprintf(path, sizeof(path), "/proc/%d/mountinfo", (int)pid); /* fits */
	file = fopen(path, "re");
	while (file && getline(&line, &size, file) > 0) {
		char *type, *options;
		struct mount_key row;
		bool is_id;

		if (!parse_line(line, &row, &type, &options))
			continue;
		is_id = key->id >= 0 && row.id == key->id;
		if (!is_id && (row.major != key->major || row.minor != key->minor))
			continue;
		*ret = file_system_of_mount(type, options, is_ours);
		is_found = true;
		if (is_id) {
			*key = row;
			break;
		}
	}
	return is_found;
}

/* Memory by memfd_create(2) and shmget(2) has a file system that is mounted nowhere. */
static bool is_shared_memory(dev_t device)
{
	_cleanup_close_ int fd = memfd_create("memtraced", MFD_CLOEXEC);
	struct stat st = { 0 };

	return fd >= 0 && fstat(fd, &st) == 0 && st.st_dev == device;
}

bool file_is_in_memory(int fd)
{
	struct stat st = { 0 };

	return file_status(fd, &st) == 0 && S_ISREG(st.st_mode) && is_shared_memory(st.st_dev);
}

static enum file_system classify(struct mount_key key, pid_t pid)
{
	enum file_system theirs, ours;

	if (find_mount(0, &key, true, &ours))
		return ours;
	if (pid && find_mount(pid, &key, false, &theirs)) {
		/* The same super block, mounted by this host's root for a container. */
		key.id = -1;
		return find_mount(0, &key, true, &ours) ? ours : theirs;
	}
	return is_shared_memory(makedev(key.major, key.minor)) ? FILE_SYSTEM_LOCAL :
								 FILE_SYSTEM_FOREIGN;
}

enum file_system file_system_of_device(uint32_t major, uint32_t minor, pid_t pid)
{
	/* A block device: by this host's root, also where a server in user space is behind it. */
	return major ? FILE_SYSTEM_LOCAL : classify((struct mount_key){ -1, major, minor }, pid);
}

/* -1: not known. */
static int mount_id(int fd)
{
	_cleanup_fclose_ FILE *file = NULL;
	char path[40], line[128];
	int id = -1;

	(void)snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd); /* fits */
	file = fopen(path, "re");
	while (file && id < 0 && fgets(line, sizeof(line), file))
		(void)sscanf(line, "mnt_id: %d", &id); /* another line */
	return id;
}

bool file_system_is_same_mount(int a, int b)
{
	int id = mount_id(a);

	return id >= 0 && id == mount_id(b);
}

enum file_system file_system_of_fd(int path_fd, pid_t pid)
{
	struct mount_key key = { .id = -1 };
	struct stat st;

	if (file_status(path_fd, &st) < 0)
		return FILE_SYSTEM_FOREIGN;
	key.major = major(st.st_dev);
	key.minor = minor(st.st_dev);
	if (key.major)
		return FILE_SYSTEM_LOCAL;
	key.id = mount_id(path_fd);
	return classify(key, pid);
}

int file_status(int path_fd, struct stat *ret_st)
{
	struct statx st;

	if (statx(path_fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT,
		  STATX_BASIC_STATS, &st) < 0)
		return -errno;
	*ret_st = (struct stat){ .st_dev = makedev(st.stx_dev_major, st.stx_dev_minor),
				 .st_ino = st.stx_ino,
				 .st_mode = st.stx_mode,
				 .st_uid = st.stx_uid,
				 .st_gid = st.stx_gid,
				 .st_size = (off_t)st.stx_size };
	return 0;
}

bool file_is_same(int a, int b)
{
	struct stat of_a = { 0 }, of_b = { 0 };

	return file_status(a, &of_a) == 0 && file_status(b, &of_b) == 0 &&
	       of_a.st_dev == of_b.st_dev && of_a.st_ino == of_b.st_ino;
}

int open_place(int path_fd)
{
	char link[32];
	int fd;

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", path_fd); /* fits */
	/* A lease's holder has fs.lease-break-time to let others in: open() would wait for it. */
	fd = open(link, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return errno == EWOULDBLOCK ? -EBUSY : -errno;
	return fd;
}

/*
 * What a file of an overlay is made of: where its extents can be asked for, it is of a file system
 * with a block device, as FUSE, NFS and 9p have none. The overlay asks the file below.
 */
static bool is_on_device(int fd)
{
	struct fiemap map = { .fm_length = 1 };

	return ioctl(fd, FS_IOC_FIEMAP, &map) == 0;
}

int reopen_for_reading(int path_fd, pid_t pid, enum file_system most)
{
	enum file_system system;
	struct stat st;
	int r = file_status(path_fd, &st), fd;

	if (r < 0)
		return r;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	system = file_system_of_fd(path_fd, pid);
	r = file_system_check(system, most);
	fd = r < 0 ? r : open_place(path_fd);
	if (fd >= 0 && system == FILE_SYSTEM_LAYERS && !is_on_device(fd)) {
		close(fd);
		return -EREMOTE;
	}
	return fd;
}

int open_regular(const char *path)
{
	_cleanup_close_ int path_fd = open(path, O_PATH | O_CLOEXEC);

	return path_fd < 0 ? -errno : reopen_for_reading(path_fd, 0, FILE_SYSTEM_SERVER);
}

int reopen_own(const char *path)
{
	int number, end = 0, fd;

	if (sscanf(path, "/proc/self/fd/%d%n", &number, &end) != 1 || path[end])
		return open_regular(path);
	fd = fcntl(number, F_DUPFD_CLOEXEC, 0);
	return fd < 0 ? -errno : fd;
}
