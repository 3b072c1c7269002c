/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The configuration of the service's parts, at its start and at each reload: all of it or none.
 */
#ifndef MEMTRACED_SERVICE_DAEMON_CONFIGURE_H
#define MEMTRACED_SERVICE_DAEMON_CONFIGURE_H

#include "base/strbuf.h"

struct service;

/*
 * Reads the file and has all parts of the service, which are there, go on by it. 0; or negative
 * errno with one line in *error: everything is as it was. -EINVAL: the configuration is wrong.
 */
int service_configure(struct service *service, struct strbuf *error);

#endif
