/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the service listens: "unix PATH", "127.0.0.1:19090", "[::1]:19090". Names are not looked
 * up. Pure.
 */
#ifndef MEMTRACED_CONFIG_SERVICE_LISTEN_H
#define MEMTRACED_CONFIG_SERVICE_LISTEN_H

#include "config/service_config.h"

/* 0 with *ret_listen filled (its text is malloc'ed); -EINVAL: *ret_why says why; -ENOMEM. */
int service_listen_parse(const char *text, struct service_listen *ret_listen, const char **ret_why);

#endif
