/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/daemon/routes/tokens.h"

#include "base/hex.h"
#include "target/login_users.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/random.h>
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

static int refuse_token_file(const char *path, int r, struct strbuf *error)
{
	strbuf_addf(error, "%s: %s", path, strerror(-r));
	return r;
}

int token_read(const char *path, char **ret_token, struct strbuf *error)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char text[MOST + 2];
	struct stat st;
	ssize_t n;
	size_t len;

	if (fd < 0 || fstat(fd, &st))
		return refuse_token_file(path, -errno, error);
	if (!S_ISREG(st.st_mode) || (st.st_mode & 077)) {
		strbuf_addf(error, "%s: others than its owner may not read it: chmod 600", path);
		return -EPERM;
	}
	n = read(fd, text, sizeof(text) - 1);
	if (n < 0)
		return refuse_token_file(path, -errno, error);
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

#define RANDOM_BYTES ((USER_TOKEN_LEN - 1) / 2)

struct user_token {
	uint64_t end_ns; /* the row is free from then on; 0: always was */
	uid_t uid;
	gid_t gid;
	uid_t person; /* who has that uid: login_users.h */
	char text[USER_TOKEN_LEN];
};

struct user_tokens {
	struct login_users *users;
	struct user_token rows[USER_TOKENS_MOST];
};

int user_tokens_new(struct login_users *users, struct user_tokens **ret_tokens)
{
	struct user_tokens *tokens = calloc(1, sizeof(*tokens));

	if (!tokens)
		return -ENOMEM;
	tokens->users = users;
	*ret_tokens = tokens;
	return 0;
}

void user_tokens_free(struct user_tokens *tokens)
{
	if (tokens)
		explicit_bzero(tokens, sizeof(*tokens));
	free(tokens);
}

/* Where a new token of that user goes; NULL: nowhere. */
static struct user_token *choose_row(struct user_tokens *tokens, uid_t uid, uint64_t now_ns)
{
	uid_t person = login_users_find(tokens->users, uid);
	struct user_token *unused = NULL, *first = NULL;
	size_t n_own = 0, n_others = 0; /* others than root */

	for (size_t i = 0; i < USER_TOKENS_MOST; i++) {
		struct user_token *row = &tokens->rows[i];

		if (row->end_ns <= now_ns) {
			unused = row;
			continue;
		}
		n_others += row->uid != 0;
		if (row->person != person)
			continue;
		n_own++;
		if (!first || row->end_ns < first->end_ns)
			first = row;
	}
	if (n_own >= USER_TOKENS_OF_ONE)
		return first;
	if (uid != 0 && n_others >= USER_TOKENS_MOST - USER_TOKENS_OF_ONE)
		return NULL;
	return unused;
}

int user_tokens_add(struct user_tokens *tokens, uid_t uid, gid_t gid, uint64_t now_ns,
		    uint64_t end_ns, char ret_token[USER_TOKEN_LEN])
{
	struct user_token *row = choose_row(tokens, uid, now_ns);
	unsigned char bytes[RANDOM_BYTES];

	if (!row)
		return -EBUSY;
	/* So few are given whole, or not at all before the kernel has gathered any. */
	if (getrandom(bytes, sizeof(bytes), GRND_NONBLOCK) != (ssize_t)sizeof(bytes))
		return -EAGAIN;
	hex_text(row->text, bytes, sizeof(bytes));
	explicit_bzero(bytes, sizeof(bytes));
	row->uid = uid;
	row->gid = gid;
	row->person = login_users_find(tokens->users, uid);
	row->end_ns = end_ns;
	memcpy(ret_token, row->text, USER_TOKEN_LEN);
	return 0;
}

bool user_tokens_find(const struct user_tokens *tokens, const char *token, uint64_t now_ns,
		      uid_t *ret_uid, gid_t *ret_gid)
{
	const struct user_token *found = NULL;

	for (size_t i = 0; i < USER_TOKENS_MOST; i++)
		if (tokens->rows[i].end_ns > now_ns && token_matches(tokens->rows[i].text, token))
			found = &tokens->rows[i];
	if (!found)
		return false;
	*ret_uid = found->uid;
	*ret_gid = found->gid;
	return true;
}

size_t user_tokens_remove(struct user_tokens *tokens, uid_t uid, uint64_t now_ns)
{
	size_t n = 0;

	for (size_t i = 0; i < USER_TOKENS_MOST; i++) {
		struct user_token *row = &tokens->rows[i];

		if (row->end_ns == 0 || row->uid != uid)
			continue;
		n += row->end_ns > now_ns;
		explicit_bzero(row, sizeof(*row));
	}
	return n;
}
