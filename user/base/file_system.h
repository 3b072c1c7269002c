/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What answers when a file is opened, read or asked about: this kernel alone, or a server, which
 * may be a hostile user's process that never answers. The file system itself is not asked, since
 * stat(2) and statfs(2) can hang, too: /proc/PID/mountinfo tells. Any thread.
 */
#ifndef MEMTRACED_BASE_FILE_SYSTEM_H
#define MEMTRACED_BASE_FILE_SYSTEM_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

enum file_system {
	FILE_SYSTEM_LOCAL,
	FILE_SYSTEM_SERVER, /* of a network, or FUSE: mounted by this host's root */
	FILE_SYSTEM_LAYERS, /* an overlay that a container's root mounted: of anything */
	/*
	 * FUSE of a user; one that is mounted nowhere that we see; or of files that are none, of
	 * which the opening acts or the reading waits (/proc/kmsg).
	 */
	FILE_SYSTEM_FOREIGN,
};

/*
 * May it be touched where nothing above `most` may? 0; -EXDEV: only where waiting does no harm;
 * -EREMOTE: nowhere.
 */
int file_system_check(enum file_system system, enum file_system most);

/* Pure. `type` and `options` of the super block as mountinfo has them; ours: our own has it. */
enum file_system file_system_of_mount(const char *type, const char *options, bool is_ours);

/*
 * Of the file behind an O_PATH descriptor, that of a device. pid: in whose mount namespace it may
 * be besides our own; 0: in no other.
 */
enum file_system file_system_of_fd(int path_fd, pid_t pid);
/* Numbers as in /proc/PID/maps, which are the super block's. */
enum file_system file_system_of_device(uint32_t major, uint32_t minor, pid_t pid);

/* Were two descriptors opened by one mount? False where that is not known. */
bool file_system_is_same_mount(int a, int b);

/*
 * fstat(2) of an O_PATH descriptor with what is known of the file: no server is asked. st_dev,
 * st_ino, st_mode, st_uid, st_gid and st_size alone are set. 0 or negative errno.
 */
int file_status(int path_fd, struct stat *ret_st);
/* Was it made by memfd_create(2) or shmget(2)? As file_status(). */
bool file_is_in_memory(int fd);
/* Are two descriptors of one file? By file_status(); false where that is not known. */
bool file_is_same(int a, int b);

/*
 * Opening a file that a stranger has named: first only its place (O_PATH), which no rename can
 * exchange, then, when it has been looked at, the file. What a place stands for may be a device or
 * a FIFO, which would know that it was opened, and may act or block. Nothing here waits for another
 * process: neither for a lease's holder (fcntl(2), F_SETLEASE) nor for who serves a file system.
 * Any thread.
 */

/*
 * Opens for reading the regular file that an O_PATH descriptor stands for. pid: as of
 * file_system_of_fd(). most: what of file systems the caller may wait for, FILE_SYSTEM_LOCAL but in
 * a process of target/file_helper.h. A descriptor or negative errno; -EINVAL: it is no regular
 * file; -EBUSY: another process holds a lease, which ends after some time; -EREMOTE: its file
 * system is not to be touched; -EXDEV: it is above `most`.
 */
int reopen_for_reading(int path_fd, pid_t pid, enum file_system most);

/* The same where it is known already that it is a regular file of FILE_SYSTEM_LOCAL. */
int open_place(int path_fd);

/* The same for a path, which must not lead through folders of others' file systems. */
int open_regular(const char *path);

/*
 * A descriptor for what "/proc/self/fd/N" stands for, which is open already, without opening it
 * once more: that could have to wait for a lease. Other paths: as open_regular().
 */
int reopen_own(const char *path);

#endif
