/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "target/launch_inherited.h"

#include <errno.h>

int launch_inherited_save(struct launch_inherited *ret_inherited)
{
	if (sigprocmask(SIG_SETMASK, NULL, &ret_inherited->mask) < 0)
		return -errno;
	sigemptyset(&ret_inherited->ignored);
	for (int sig = 1; sig < NSIG; sig++) {
		struct sigaction action;

		/* The C library hides its own two. */
		if (sigaction(sig, NULL, &action) == 0 && action.sa_handler == SIG_IGN)
			sigaddset(&ret_inherited->ignored, sig);
	}
	for (int i = 0; i < RLIM_NLIMITS; i++) {
		if (getrlimit(i, &ret_inherited->limits[i]) < 0)
			return -errno;
	}
	return 0;
}
