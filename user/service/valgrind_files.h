/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What stands before the words of a command line of Valgrind's, by its rules (its manual, "Setting
 * Default Options"): ~/.valgrindrc, VALGRIND_OPTS, ./.valgrindrc. Called once, at the start.
 */
#ifndef MEMTRACED_SERVICE_VALGRIND_FILES_H
#define MEMTRACED_SERVICE_VALGRIND_FILES_H

/*
 * The words in this order, NULL-terminated, for words_free(). A file that is not the user's own,
 * that others may write, or that is not a regular file is left out, which is logged. 0 or -ENOMEM.
 */
int valgrind_files_read(char ***ret_words);

#endif
