/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/json/json_death.h"

#include <json-c/json_object.h>

static struct json_object *use_json(struct json_out *out, const char *path,
				    const struct record_memory_use *use)
{
	struct json_object *json = json_out_new(out);

	if (!json)
		return NULL;
	json_out_string(out, json, "path", path);
	json_out_u64(out, json, "used", use->used);
	json_out_u64(out, json, "most", use->most);
	json_out_known(out, json, "limit", use->limit != UINT64_MAX, use->limit);
	return json;
}

static struct json_object *sender_json(struct json_out *out, const struct record_death *death)
{
	struct json_object *json = json_out_new(out);

	if (!json)
		return NULL;
	json_out_u64(out, json, "pid", death->sender);
	json_out_u64(out, json, "uid", death->sender_uid);
	json_out_string(out, json, "comm", death->sender_comm);
	return json;
}

static struct json_object *oom_json(struct json_out *out, const struct record_death *death)
{
	struct json_object *json = json_out_new(out);

	if (!json)
		return NULL;
	json_out_string(out, json, "constraint", death->oom_constraint);
	if (death->oom_cgroup)
		json_out_add(out, json, "cgroup",
			     use_json(out, death->oom_cgroup, &death->oom_use));
	else
		json_out_null(out, json, "cgroup");
	return json;
}

static struct json_object *memory_json(struct json_out *out, const struct record_death *death)
{
	struct json_object *json = json_out_new(out);

	if (!json)
		return NULL;
	json_out_u64(out, json, "total_vm", death->total_vm);
	json_out_u64(out, json, "anon_rss", death->anon);
	json_out_u64(out, json, "file_rss", death->file);
	json_out_u64(out, json, "shmem_rss", death->shared);
	json_out_u64(out, json, "swapped", death->swapped);
	json_out_u64(out, json, "page_tables", death->page_tables);
	return json;
}

static struct json_object *cgroup_json(struct json_out *out, const struct record_death *death)
{
	struct json_object *json = use_json(out, death->cgroup, &death->use);

	if (!json)
		return NULL;
	json_out_known(out, json, "limit_hits", death->has_events, death->limit_hits);
	json_out_known(out, json, "ooms", death->has_events, death->ooms);
	json_out_known(out, json, "oom_kills", death->has_events, death->oom_kills);
	return json;
}

static struct json_object *full_json(struct json_out *out, const struct record_death *death)
{
	return use_json(out, death->full_cgroup, &death->full_use);
}

static void add_if(struct json_out *out, struct json_object *to, const char *key, bool known,
		   struct json_object *(*make)(struct json_out *out,
					       const struct record_death *death),
		   const struct record_death *death)
{
	if (known)
		json_out_add(out, to, key, make(out, death));
	else
		json_out_null(out, to, key);
}

void json_death(struct json_out *out, const struct view_process *process)
{
	static const char *const killers[] = {
		[RECORD_KILLER_KERNEL] = "kernel",
		[RECORD_KILLER_PROCESS] = "process",
	};
	const struct record_death *death = &process->image->death;
	struct json_object *json = process->image->has_death ? json_out_new(out) : NULL;

	if (!json) {
		fputs("null", out->file);
		return;
	}
	json_out_u64(out, json, "signal", (uint64_t)death->signal);
	json_out_add(out, json, "code", json_object_new_int(death->code));
	json_out_string(out, json, "by",
			death->killer <= RECORD_KILLER_PROCESS ? killers[death->killer] : NULL);
	add_if(out, json, "sender", death->killer == RECORD_KILLER_PROCESS, sender_json, death);
	add_if(out, json, "oom", death->oom, oom_json, death);
	json_out_add(out, json, "oom_score_adj", json_object_new_int(death->oom_score_adj));
	add_if(out, json, "memory", death->has_memory, memory_json, death);
	add_if(out, json, "cgroup", death->cgroup != NULL, cgroup_json, death);
	add_if(out, json, "full_cgroup", death->full_cgroup != NULL, full_json, death);
	json_out_put(out, json);
}
