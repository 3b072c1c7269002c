/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/daemon/reports/killed.h"

#include "sandbox/keeper_process.h"
#include "target/proc_maps.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

int own_program_find(struct own_program *ret_program)
{
	struct proc_maps maps;
	const struct proc_map *map;
	int r = proc_maps_read(getpid(), &maps);

	if (r < 0)
		return r;
	map = proc_maps_find(&maps, (uint64_t)(uintptr_t)own_program_find);
	if (map)
		*ret_program = (struct own_program){
			.dev = (uint64_t)map->dev_major << 20 | map->dev_minor,
			.ino = map->ino,
		};
	proc_maps_done(&maps);
	return map ? 0 : -ENOENT;
}

bool own_process_is(const struct own_program *program, const struct model_process *image,
		    const struct model_object *exe)
{
	const struct record_death *death = &image->death;
	bool is_root, by_parent;

	if (!image->has_death)
		return false;
	is_root = death->uid == 0 && death->euid == 0;
	by_parent = death->killer == RECORD_KILLER_PROCESS && death->sender == image->ppid &&
		    death->sender_uid == death->uid;
	if (exe)
		return exe->dev == program->dev && exe->ino == program->ino &&
		       (is_root || by_parent);
	return is_root && by_parent && death->sender_comm &&
	       strcmp(death->sender_comm, KEEPER_COMM) == 0;
}
