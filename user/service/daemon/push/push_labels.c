/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/daemon/push/push_labels.h"

#include "report/text/text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define PID_LEN 16

static int add(struct push_labels *labels, const char *name, const char *attribute,
	       const char *value)
{
	_cleanup_strbuf_ struct strbuf text = {};
	struct push_labels_row row = { .name = name, .attribute = attribute };
	int r;

	if (!value || *value == '\0')
		return 0;
	escape_text(&text, value);
	if (strbuf_error(&text))
		return -ENOMEM;
	row.value = TAKE_PTR(text.data);
	r = vec_push(&labels->rows, row);
	if (r < 0)
		free(row.value);
	return r;
}

/* The configuration's come in place of ours. */
static int add_configured(struct push_labels *labels, const struct push_label *label)
{
	size_t len = labels->rows.len;
	int r = add(labels, label->name, label->name, label->value);

	for (size_t i = 0; r == 0 && i < len; i++) {
		struct push_labels_row *row = &labels->rows.data[i], *last;

		if (strcmp(row->name, label->name) != 0)
			continue;
		last = &labels->rows.data[--labels->rows.len];
		free(row->value);
		row->value = last->value;
		row->is_number = false;
		return 0;
	}
	return r;
}

/* "nginx" of "nginx.service"; else NULL. In a container the unit is the container. */
static const char *of_unit(const struct cgroup_place *place, char name[CGROUP_NAME_LEN])
{
	static const char end[] = ".service";
	const char *unit = *place->user_unit ? place->user_unit : place->unit;
	size_t len = strlen(unit);

	if (*place->container || len <= strlen(end) || strcmp(unit + len - strlen(end), end) != 0)
		return NULL;
	len -= strlen(end);
	memcpy(name, unit, len);
	name[len] = '\0';
	return name;
}

int push_labels_make(const struct push_process *process, const struct push_target *target,
		     struct push_labels *labels)
{
	const struct cgroup_place *place = process->place;
	char pid[PID_LEN], unit[CGROUP_NAME_LEN];
	const char *service = target->service ? target->service : of_unit(place, unit);
	const struct {
		const char *name, *attribute, *value;
	} own[] = {
		{ "service_name", "service.name",
		  service	 ? service :
		  *process->comm ? process->comm :
				   "unknown" },
		{ "host", "host.name", process->host },
		{ "pid", "process.pid", pid },
		{ "comm", "process.executable.name", process->comm },
		{ "exe", "process.executable.path", process->exe },
		{ "cgroup", "process.linux.cgroup", process->cgroup },
		{ "slice", "systemd.slice", place->slice },
		{ "unit", "systemd.unit", place->unit },
		{ "user_unit", "systemd.user_unit", place->user_unit },
		{ "container_id", "container.id", place->container },
		{ "container_runtime", "container.runtime.name", place->runtime },
		{ "pod_uid", "k8s.pod.uid", place->pod },
		{ "depth", "memtraced.depth", process->depth },
	};
	int r = 0;

	(void)snprintf(pid, sizeof(pid), "%d", (int)process->pid); /* fits */
	for (size_t i = 0; r == 0 && i < sizeof(own) / sizeof(own[0]); i++)
		r = add(labels, own[i].name, own[i].attribute, own[i].value);
	vec_foreach(&labels->rows, row)
		row->is_number = strcmp(row->name, "pid") == 0;
	for (size_t i = 0; r == 0 && i < target->n_labels; i++)
		r = add_configured(labels, &target->labels[i]);
	return r;
}

void push_labels_done(struct push_labels *labels)
{
	vec_foreach(&labels->rows, row)
		free(row->value);
	vec_done(&labels->rows);
}
