/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Opens and closes 5,000 sessions, whose names are lost. README.md shows what memtraced says. */
#include <stdio.h>
#include <stdlib.h>

struct session {
	char *name, room[1000];
};

static struct session *session_open(int number)
{
	struct session *session = malloc(sizeof(*session));

	session->name = malloc(21);
	(void)snprintf(session->name, 21, "session %d", number);
	return session;
}

static void session_close(struct session *session)
{
	free(session);
}

int main(void)
{
	for (int i = 0; i < 5000; i++)
		session_close(session_open(i));
	return 0;
}
