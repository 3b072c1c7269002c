/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Aligned blocks. */
#include "leaks.h"
#include <malloc.h>

static void *kept;

LOSE lose(void)
{
	void *p;

	if (posix_memalign(&p, 64, 200) == 0)
		p = NULL;
	(void)!aligned_alloc(256, 512);
	(void)!memalign(32, 77);
	kept = memalign(4096, 5000);
}

int main(void)
{
	lose();
	scrub();
	return 0;
}
