/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/object_reader.h"

#include "config/near_name.h"
#include "probe/object_wire.h"
#include "sandbox/worker.h"

#include <errno.h>
#include <sys/stat.h>

/* About a function's name. */
static int ask_for(struct worker *worker, int fd, enum object_request what, const char *name,
		   struct strbuf *answer)
{
	_cleanup_strbuf_ struct strbuf request = {};

	strbuf_addch(&request, (char)what);
	codec_write(&request, &object_name_layout, &name, NULL);
	return worker_call(worker, &request, &fd, 1, answer);
}

/* Who it is, is not the worker's to say: rows that it makes are kept by that. */
static void identify(struct cfi_key *key, const struct stat *st)
{
	key->file = cfi_identity_of(st);
	key->pruned = 0;
	key->pad = 0;
}

void object_ask_facts(struct worker *worker, int fd, const struct object_wants *wants)
{
	_cleanup_strbuf_ struct strbuf request = {};

	strbuf_addch(&request, OBJECT_FACTS);
	object_put_wants(&request, wants);
	worker_ask_ahead(worker, &request, fd);
}

int object_read_facts(struct worker *worker, int fd, const struct object_wants *wants,
		      struct object_facts *ret_facts)
{
	_cleanup_strbuf_ struct strbuf request = {}, answer = {};
	struct decoder decoder;
	struct stat st;
	int r;

	if (fstat(fd, &st) < 0)
		return -errno;
	strbuf_addch(&request, OBJECT_FACTS);
	object_put_wants(&request, wants);
	r = worker_call(worker, &request, &fd, 1, &answer);
	if (r < 0)
		return r;
	decoder = decoder_of(&answer);
	r = object_get_facts(&decoder, (uint64_t)st.st_size, wants, ret_facts);
	if (r < 0)
		return r == -EBADMSG ? worker_distrust(worker) : r;
	if (wants->unwinding)
		identify(&ret_facts->unwind.key, &st);
	return 0;
}

int object_read_rows(struct worker *worker, int fd, const struct cfi_key *key,
		     struct cfi_rows **ret_rows)
{
	_cleanup_strbuf_ struct strbuf request = {}, answer = {};
	int r;

	strbuf_addch(&request, OBJECT_ROWS);
	codec_write(&request, &object_key_layout, key, NULL);
	r = worker_call(worker, &request, &fd, 1, &answer);
	if (r < 0)
		return r;
	if (answer.len == 0)
		return -ENOENT;
	r = cfi_decode((const uint8_t *)strbuf_str(&answer), answer.len, key, ret_rows);
	return r == 0 || r == -ENOMEM ? r : worker_distrust(worker);
}

int object_read_function(struct worker *worker, int fd, const char *name,
			 struct object_ranges *ret_ranges)
{
	_cleanup_strbuf_ struct strbuf answer = {};
	struct decoder decoder;
	struct stat st;
	int r = fstat(fd, &st) < 0 ? -errno : ask_for(worker, fd, OBJECT_FUNCTION, name, &answer);

	if (r < 0)
		return r;
	decoder = decoder_of(&answer);
	r = object_get_ranges(&decoder, (uint64_t)st.st_size, ret_ranges);
	return r < 0 ? worker_distrust(worker) : 0;
}

int object_read_near(struct worker *worker, int fd, struct near_names *near)
{
	_cleanup_strbuf_ struct strbuf answer = {};
	struct decoder decoder;
	int r = ask_for(worker, fd, OBJECT_NEAR, near->word, &answer);

	if (r < 0)
		return r;
	decoder = decoder_of(&answer);
	r = object_get_near(&decoder, near);
	return r < 0 ? worker_distrust(worker) : 0;
}
