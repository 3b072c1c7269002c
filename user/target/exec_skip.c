/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "target/exec_skip.h"

#include "base/cleanup.h"
#include "base/glob.h"
#include "base/strbuf.h"
#include "target/file_helper.h"
#include "target/proc_file.h"
#include "target/process.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

/* More words are not looked at. */
#define WORDS_MAX ((size_t)1 << 20)

bool exec_skip_has(const char *patterns, const char *text)
{
	_cleanup_free_ char *copy = patterns ? strdup(patterns) : NULL;
	char *at = copy, *pattern;

	while ((pattern = strsep(&at, ",")))
		if (*pattern && glob_match(pattern, text, strlen(text)))
			return true;
	return false;
}

static bool has_name(const char *patterns, pid_t pid)
{
	_cleanup_close_ int fd = patterns ? proc_file_open(pid, "mem", O_RDONLY) : -1;
	char name[PATH_MAX + 1];
	uint64_t at;
	ssize_t len;

	if (fd < 0 || process_auxval(pid, AT_EXECFN, &at) < 0)
		return false;
	/* It is near the end of the stack, where the read ends. */
	len = pread(fd, name, PATH_MAX, (off_t)at);
	if (len <= 0)
		return false;
	name[len] = '\0';
	return exec_skip_has(patterns, name);
}

static bool has_word(const char *patterns, pid_t pid)
{
	_cleanup_strbuf_ struct strbuf text = { 0 };
	const char *word, *end;

	if (!patterns)
		return false;
	(void)file_helper_read(pid, "cmdline", WORDS_MAX, &text); /* none: nothing is found */
	word = strbuf_str(&text);
	for (end = word + text.len; word < end; word += strlen(word) + 1)
		if (word > strbuf_str(&text) && exec_skip_has(patterns, word))
			return true;
	return false;
}

bool exec_skip_matches(const struct exec_skip *skip, pid_t pid)
{
	return has_name(skip->names, pid) || has_word(skip->words, pid);
}
