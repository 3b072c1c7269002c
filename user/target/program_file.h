/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The file that a command will execute, before it does.
 */
#ifndef MEMTRACED_TARGET_PROGRAM_FILE_H
#define MEMTRACED_TARGET_PROGRAM_FILE_H

/* confstr(_CS_PATH), which execvp(3) uses without a PATH. */
#define PROGRAM_DEFAULT_PATH "/bin:/usr/bin"

/*
 * Opens the file of the command `name`, found as execvp() would by `search` (PATH; NULL: the usual
 * one), for reading; of a script, its interpreter's. Negative errno: there is no regular file that
 * can be read, which its exec will tell.
 */
int program_file_open(const char *name, const char *search);

#endif
