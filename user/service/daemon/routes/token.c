/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/daemon/routes/token.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define LEAST 16
#define MOST 256

static bool is_printable(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (text[i] <= ' ' || text[i] > '~')
			return false;
	return true;
}

int token_read(const char *path, char **ret_token, struct strbuf *error)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char text[MOST + 2];
	struct stat st;
	ssize_t n;
	size_t len;

	if (fd < 0 || fstat(fd, &st)) {
		strbuf_addf(error, "%s: %s", path, strerror(errno));
		return -errno;
	}
	if (!S_ISREG(st.st_mode) || (st.st_mode & 077)) {
		strbuf_addf(error, "%s: others than its owner may not read it: chmod 600", path);
		return -EPERM;
	}
	n = read(fd, text, sizeof(text) - 1);
	if (n < 0) {
		strbuf_addf(error, "%s: %s", path, strerror(errno));
		return -errno;
	}
	text[n] = '\0';
	len = strcspn(text, "\n");
	if (len < LEAST || len > MOST || !is_printable(text, len)) {
		strbuf_addf(error, "%s: its first line must have %d to %d printable characters",
			    path, LEAST, MOST);
		return -EINVAL;
	}
	*ret_token = strndup(text, len);
	return *ret_token ? 0 : -ENOMEM;
}

bool token_matches(const char *token, const char *given)
{
	size_t len = strlen(token), given_len = strlen(given);
	unsigned char differs = 0;

	for (size_t i = 0; i < given_len; i++)
		differs |= (unsigned char)(given[i] ^ token[i % len]);
	return differs == 0 && given_len == len;
}
