/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Folders that are written into by a path that may lead through folders of other users.
 */
#ifndef MEMTRACED_BASE_FOLDER_OPEN_H
#define MEMTRACED_BASE_FOLDER_OPEN_H

/*
 * Opens the folder (O_PATH) by the caller's rights. Symbolic links on the way are followed if root
 * or the caller has made them, or the kernel (in /proc): by another user's that user would choose
 * among all folders that the caller may write to. The descriptor, or negative errno: -ELOOP for
 * such a link.
 */
int folder_open(const char *path);

#endif
