/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/symbol_server.h"

#include "probe/object_server.h"
#include "sandbox/keeper_process.h"
#include "symbol/elf_image.h"
#include "symbol/jit/jit_server.h"
#include "symbol/names.h"
#include "symbol/symbol_wire.h"

#include <errno.h>

struct server {
	struct object_store *store;
	struct symbol_look_up look_up; /* the request at hand */
};

static void server_free(void *state)
{
	struct server *server = state;

	object_store_free(server->store);
	free(server);
}

static int server_new(void **ret_state)
{
	struct server *server = calloc(1, sizeof(*server));
	int r = server ? object_store_new(&server->store) : -ENOMEM;

	if (r < 0)
		free(server);
	else
		*ret_state = server;
	return r;
}

/* No bytes: it is no ELF file. */
static int serve_facts(const int *fds, size_t n_fds, struct strbuf *answer)
{
	_cleanup_(elf_image_free_p) struct elf_image *image = NULL;
	struct elf_facts facts;
	int r;

	if (n_fds != 1)
		return -EBADMSG;
	r = elf_image_open(fds[0], &image);
	if (r == 0)
		r = elf_survey(image, &facts);
	if (r == -ENOMEM)
		return r;
	if (r < 0)
		return 0;
	symbol_put_facts(answer, &facts);
	elf_facts_done(&facts);
	return 0;
}

/* No bytes: it could not be read whole. */
static int serve_crc(const int *fds, size_t n_fds, struct strbuf *answer)
{
	uint32_t crc = 0;
	int r = n_fds == 1 ? file_crc(fds[0], &crc) : -EBADMSG;

	if (r == -ENOMEM || n_fds != 1)
		return r;
	if (r == 0)
		codec_write(answer, &codec_u32, &crc, NULL);
	return 0;
}

/* As many places as fit. */
static int find_places(struct server *server, struct object_symbols *object, struct strbuf *places,
		       uint32_t *ret_n)
{
	const struct symbol_look_up *look_up = &server->look_up;
	_cleanup_(names_done) struct names names;
	uint32_t n = 0;
	int r = 0;

	names_init(&names);
	while (r == 0 && n < look_up->n_places && places->len < SYMBOL_FULL_ANSWER) {
		struct symbol_found found;

		r = object_symbols_find(object, &look_up->places[n], &names, &found);
		if (r == 0)
			codec_write(places, &symbol_found_layout, &found, NULL);
		n++;
	}
	*ret_n = n;
	return r < 0 ? r : strbuf_error(places);
}

static int serve_look_up(struct server *server, struct strbuf *answer)
{
	const struct symbol_look_up *look_up = &server->look_up;
	_cleanup_strbuf_ struct strbuf places = {};
	struct symbol_head head = {};
	struct object_symbols *object;
	int r = object_store_find(server->store, look_up->object, &look_up->files, &look_up->limits,
				  &object);

	head.is_stale = r == -ESTALE;
	if (r == 0)
		r = find_places(server, object, &places, &head.n_places);
	if (r < 0 && r != -ESTALE)
		return r;
	head.counts = *object_store_counts(server->store);
	codec_write(answer, &symbol_head_layout, &head, NULL);
	strbuf_add(answer, strbuf_str(&places), places.len);
	return 0;
}

static int serve_symbols(void *state, const struct strbuf *request, const int *fds, size_t n_fds,
			 struct strbuf *answer)
{
	struct decoder decoder = decoder_of(request);
	struct server *server = state;
	uint64_t number;

	switch (decoder_byte(&decoder)) {
	case SYMBOL_FACTS:
		return serve_facts(fds, n_fds, answer);
	case SYMBOL_LOOK_UP:
		if (!symbol_get_look_up(&decoder, fds, n_fds, &server->look_up))
			return -EBADMSG;
		return serve_look_up(server, answer);
	case SYMBOL_CRC:
		return serve_crc(fds, n_fds, answer);
	case SYMBOL_FORGET:
		codec_read(&decoder, &codec_u64, &number);
		object_store_forget(server->store, number);
		return decoder_end(&decoder);
	default:
		return -EBADMSG;
	}
}

const struct worker_ops symbol_server = { server_new, server_free, serve_symbols, NULL };

static int serve_file(void *state, const struct strbuf *request, const int *fds, size_t n_fds,
		      struct strbuf *answer)
{
	if (object_server_knows(request))
		return object_serve(request, fds, n_fds, answer);
	if (jit_server_knows(request))
		return jit_serve(request, fds, n_fds, answer);
	return serve_symbols(state, request, fds, n_fds, answer);
}

const struct worker_ops file_server = { server_new, server_free, serve_file, KEEPER_COMM };
