/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "target/open_server.h"

#include "sandbox/wire.h"
#include "target/open_request.h"
#include "target/proc_maps.h"
#include "target/root_open.h"

#include <errno.h>

int open_serve(const struct strbuf *request, int fd)
{
	struct wire_reader reader = wire_read(request);

	switch (wire_get_u8(&reader)) {
	case OPEN_REQUEST_MAP:
		return proc_map_open_waiting(&reader);
	case OPEN_REQUEST_IN_ROOT:
		return root_open_waiting(fd, &reader);
	}
	return -EBADMSG;
}
