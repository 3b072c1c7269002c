/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/file_server.h"

#include "probe/object_server.h"
#include "sandbox/keeper_process.h"
#include "symbol/jit/jit_server.h"
#include "symbol/symbol_server.h"

static int server_new(void **ret_state)
{
	return symbol_server.new(ret_state);
}

static void server_free(void *state)
{
	symbol_server.free(state);
}

static int serve_file(void *state, const struct strbuf *request, const int *fds, size_t n_fds,
		      struct strbuf *answer)
{
	if (object_server_knows(request))
		return object_serve(request, fds, n_fds, answer);
	if (jit_server_knows(request))
		return jit_serve(request, fds, n_fds, answer);
	return symbol_server.serve(state, request, fds, n_fds, answer);
}

const struct worker_ops file_server = { server_new, server_free, serve_file, KEEPER_COMM };
