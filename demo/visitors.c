/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What `make demo` traces. It reads the log of a web server from standard input, as it is written,
 * and keeps the newest visitors (address and browser) and lines. visitor_free() loses memory.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N_VISITORS 500
#define N_LINES 2000

struct visitor {
	char *address;
	char *browser;
	unsigned long requests;
};

static struct visitor *visitors[N_VISITORS];
static char *lines[N_LINES];

static struct visitor *visitor_new(const char *address, const char *browser)
{
	struct visitor *visitor = calloc(1, sizeof(*visitor));

	if (!visitor)
		abort();
	visitor->address = strdup(address);
	visitor->browser = strdup(browser);
	return visitor;
}

/* The leak: nothing frees visitor->browser. */
static void visitor_free(struct visitor *visitor)
{
	if (!visitor)
		return;
	free(visitor->address);
	free(visitor);
}

/* A new visitor takes the place of the oldest one. */
static struct visitor *visitor_find(const char *address, const char *browser)
{
	static size_t next;
	size_t i;

	for (i = 0; i < N_VISITORS && visitors[i]; i++)
		if (strcmp(visitors[i]->address, address) == 0)
			return visitors[i];
	i = next++ % N_VISITORS;
	visitor_free(visitors[i]);
	visitors[i] = visitor_new(address, browser);
	return visitors[i];
}

static void line_keep(const char *line)
{
	static size_t next;
	size_t i = next++ % N_LINES;

	free(lines[i]);
	lines[i] = strdup(line);
}

/* ADDRESS "REQUEST" STATUS BYTES "BROWSER" */
int main(void)
{
	char line[1024], address[64], browser[512];
	unsigned long requests = 0;

	while (fgets(line, sizeof(line), stdin)) {
		if (sscanf(line, "%63s \"%*[^\"]\" %*d %*d \"%511[^\"]\"", address, browser) != 2)
			continue;
		line_keep(line);
		visitor_find(address, browser)->requests++;
		requests++;
	}
	printf("visitors: %lu requests\n", requests);
	return 0;
}
