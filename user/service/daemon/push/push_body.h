/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Requests as each kind of server takes them, by their published interfaces, and what their answers
 * mean: Pyroscope's POST /ingest, Parca's POST /profiles/writeraw (the gRPC gateway's JSON of
 * WriteRaw), OTLP/HTTP's POST /v1development/profiles. Pure functions.
 */
#ifndef MEMTRACED_SERVICE_DAEMON_PUSH_PUSH_BODY_H
#define MEMTRACED_SERVICE_DAEMON_PUSH_PUSH_BODY_H

#include "report/profile_part.h"
#include "service/daemon/push/push_labels.h"
#include "service/daemon/push/push_queue.h"

/*
 * The request with this profile. 1; 0: there is nothing to send; -ENOMEM or -EIO.
 */
int push_body_make(enum push_to to, const struct view *view, const struct profile_part *part,
		   const struct push_labels *labels, struct push_item **ret_item);

/* Headers that say what the body is; ends with NULL. */
const char *const *push_body_headers(enum push_to to);

/*
 * What an answer with this status means. *why is what a server says of a rejection, cleaned and
 * cut; -ENOMEM sticks to it.
 */
enum push_result push_answer_read(enum push_to to, long status, const struct strbuf *answer,
				  struct strbuf *why);

#endif
