/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "target/statm.h"

#include "target/proc_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

int statm_rss(pid_t pid, uint64_t *ret_bytes)
{
	_cleanup_strbuf_ struct strbuf text = { 0 };
	uint64_t size, resident;
	int r = proc_file_read(pid, "statm", 4096, &text);

	if (r)
		return r;
	/* of a zombie all are 0 */
	if (sscanf(strbuf_str(&text), "%" SCNu64 " %" SCNu64, &size, &resident) != 2)
		return -EBADMSG;
	if (size == 0)
		return -ESRCH;
	*ret_bytes = resident * (uint64_t)sysconf(_SC_PAGESIZE);
	return 0;
}
