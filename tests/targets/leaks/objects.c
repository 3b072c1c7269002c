/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Objects that hold their members, of which some are shared. */
#include "leaks.h"

struct object {
	char *name;
	struct object *friend;
	int *numbers;
};

static struct object *kept;

static struct object *make(struct object *friend, size_t n)
{
	struct object *object = malloc(sizeof(*object));

	object->name = strdup("an object's name");
	object->friend = friend;
	object->numbers = calloc(n, sizeof(int));
	return object;
}

LOSE lose(void)
{
	struct object *shared = make(NULL, 5);

	for (int i = 0; i < 8; i++)
		(void)make(shared, 10 + i);
	kept = make(make(NULL, 3), 4);
}

int main(void)
{
	lose();
	scrub();
	return 0;
}
