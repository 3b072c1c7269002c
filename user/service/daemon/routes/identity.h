/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which user makes a request: the kernel tells on the Unix socket, over TCP a token alone does.
 * What that user may see is in permits.h.
 */
#ifndef MEMTRACED_SERVICE_DAEMON_ROUTES_IDENTITY_H
#define MEMTRACED_SERVICE_DAEMON_ROUTES_IDENTITY_H

#include <stdbool.h>

struct http_answer;
struct service_call;

/*
 * Fills in call->who, or the answer where no user is known. A token is that of [http] token_file,
 * which stands for root, or one of user_tokens.h; on the Unix socket it counts more than the kernel's
 * word, and a wrong one is refused as well.
 */
bool service_identify(struct service_call *call, struct http_answer *answer);

#endif
