/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What `memtraced ctl token` asks. Only who has connected to the Unix socket is given a token: by a
 * token no other one can be had, so that a stolen one ends in time.
 */
#include "base/clock.h"
#include "service/daemon/listeners.h"
#include "service/daemon/routes/routes.h"
#include "service/daemon/routes/user_tokens.h"

#include <errno.h>
#include <inttypes.h>

#define DEFAULT_SECONDS (12 * 3600)
#define MOST_SECONDS (24 * 3600)

/* The kernel's word, whatever token the request carries; NULL with the answer: there is none. */
static const struct http_peer *local_peer(const struct service_call *call,
					  struct http_answer *answer)
{
	const struct http_peer *peer = http_request_peer(call->request);

	if (peer->known)
		return peer;
	http_answer_say(answer, 403, "tokens are given over the Unix socket: memtraced ctl token");
	return NULL;
}

int token_route_add(struct service_call *call, struct http_answer *answer)
{
	uint64_t seconds = call->query.seconds ? call->query.seconds : DEFAULT_SECONDS;
	const struct http_peer *peer = local_peer(call, answer);
	uint64_t now_ns = clock_ns(CLOCK_BOOTTIME);
	char token[USER_TOKEN_LEN];
	int r;

	if (!peer)
		return 0;
	if (seconds > MOST_SECONDS) {
		http_answer_say(answer, 400, "a token is valid for at most %d seconds",
				MOST_SECONDS);
		return 0;
	}
	r = user_tokens_add(call->service->user_tokens, peer->uid, peer->gid, now_ns,
			    now_ns + seconds * SECOND_NS, token);
	if (r == -EBUSY)
		http_answer_say(answer, 503, "too many tokens of all users: wait until some end");
	else if (r == 0)
		http_answer_say(answer, 200, "%s", token);
	return r == -EBUSY ? 0 : r;
}

int token_route_revoke(struct service_call *call, struct http_answer *answer)
{
	const struct http_peer *peer = local_peer(call, answer);
	size_t n;

	if (!peer)
		return 0;
	n = user_tokens_remove(call->service->user_tokens, peer->uid, clock_ns(CLOCK_BOOTTIME));
	listeners_close_user(call->service->listeners, peer->uid);
	http_answer_say(answer, 200, "%zu tokens are not valid any more", n);
	return 0;
}
