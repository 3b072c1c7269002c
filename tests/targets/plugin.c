/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A library for dl.c, built twice with another PLUGIN_NAME and PLUGIN_SIZE each, otherwise the
 * same, so that the second is mapped where the first has been.
 */
#include <stddef.h>
#include <stdlib.h>

void *PLUGIN_NAME(void);

static void *from_constructor;

__attribute__((constructor)) static void loaded(void)
{
	from_constructor = malloc(PLUGIN_SIZE + 1);
}

__attribute__((destructor)) static void unloaded(void)
{
	free(from_constructor);
}

void *PLUGIN_NAME(void)
{
	void *block = malloc(PLUGIN_SIZE);

	/* A call that is not the last thing it does: its frame stays on the stack. */
	return from_constructor ? block : NULL;
}
