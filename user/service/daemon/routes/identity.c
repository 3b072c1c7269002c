/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/daemon/routes/identity.h"

#include "base/clock.h"
#include "service/daemon/routes/token.h"
#include "service/daemon/routes/user_tokens.h"
#include "service/daemon/service_state.h"
#include "service/http/credentials.h"

/* Whose token is in the header; both kinds are always compared. */
static bool find_user(const struct service *service, const char *authorization, uid_t *ret_uid,
		      gid_t *ret_gid)
{
	char token[HTTP_TOKEN_MOST + 1];
	bool is_roots, is_users;

	if (!http_credentials_token(authorization, token))
		return false;
	is_users = user_tokens_find(service->user_tokens, token, clock_ns(CLOCK_BOOTTIME), ret_uid,
				    ret_gid);
	is_roots = service->token && token_matches(service->token, token);
	if (is_roots)
		*ret_uid = *ret_gid = 0;
	return is_roots || is_users;
}

bool service_identify(struct service_call *call, struct http_answer *answer)
{
	const char *authorization = http_request_header(call->request, "Authorization");
	uid_t uid;
	gid_t gid;

	call->who = *http_request_peer(call->request);
	if (!authorization && call->who.known)
		return true;
	if (!authorization) {
		http_answer_say(answer, 401,
				"a token is needed: memtraced ctl token prints one; send it as "
				"'Authorization: Bearer TOKEN' or as the password of Basic");
		return false;
	}
	if (!find_user(call->service, authorization, &uid, &gid)) {
		call->service->tokens_refused++;
		http_answer_say(answer, 401, "this token is not valid, or not any more");
		return false;
	}
	if (call->who.is_tcp && !http_request_count_for(call->request, uid)) {
		http_answer_say(answer, 503,
				"too many connections: [http] max_connections, "
				"max_connections_of_user");
		return false;
	}
	call->who.known = true;
	call->who.uid = uid;
	call->who.gid = gid;
	return true;
}
