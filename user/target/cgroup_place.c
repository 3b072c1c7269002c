/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "target/cgroup_place.h"

#include "target/proc_file.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#define MEMBERSHIP_MAX (64U << 10)
#define ID_LEN 64	  /* of a container: SHA-256 in hex */
#define UID_LEN 36	  /* of a pod: a UUID */
#define STATIC_UID_LEN 32 /* of one that the kubelet has from a file: MD5 in hex */

static const char hex[] = "0123456789abcdef";

/* One name of the path, without an end of its own. */
struct part {
	const char *text;
	size_t len;
};

static bool part_begins(struct part part, const char *prefix)
{
	size_t len = strlen(prefix);

	return part.len > len && memcmp(part.text, prefix, len) == 0;
}

static bool part_ends(struct part part, const char *suffix)
{
	size_t len = strlen(suffix);

	return part.len > len && memcmp(part.text + part.len - len, suffix, len) == 0;
}

static struct part without_begin(struct part part, size_t len)
{
	return (struct part){ part.text + len, part.len - len };
}

static void copy_part(char to[CGROUP_NAME_LEN], struct part part)
{
	size_t len = part.len < CGROUP_NAME_LEN ? part.len : CGROUP_NAME_LEN - 1;

	memcpy(to, part.text, len);
	to[len] = '\0';
}

/* --- systemd --------------------------------------------------------------------------------- */

/* A name that could be taken for a file of the kernel's has '_' before it. */
static struct part unescaped(struct part part)
{
	return part.len > 0 && *part.text == '_' ? without_begin(part, 1) : part;
}

static bool is_slice(struct part part)
{
	return part_ends(part, ".slice");
}

static bool is_unit(struct part part)
{
	return part_ends(part, ".service") || part_ends(part, ".scope") ||
	       part_ends(part, ".mount") || part_ends(part, ".socket") || part_ends(part, ".swap");
}

/*
 * Slices, then a unit; below a user's manager slices again, and a unit of his. What is below a unit
 * is its own matter: a container may have a systemd, too.
 */
static void find_unit(struct part part, struct cgroup_place *place)
{
	part = unescaped(part);
	if (*place->unit == '\0' && is_slice(part))
		copy_part(place->slice, part);
	else if (*place->unit == '\0' && is_unit(part))
		copy_part(place->unit, part);
	else if (*place->user_unit == '\0' && strncmp(place->unit, "user@", 5) == 0 &&
		 is_unit(part))
		copy_part(place->user_unit, part);
}

/* --- containers ------------------------------------------------------------------------------ */

static bool is_id(struct part part)
{
	return part.len == ID_LEN && strspn(part.text, hex) >= ID_LEN;
}

/* "docker-ID.scope": what systemd's driver makes of it, and without its end, cgroupfs. */
static const struct {
	const char *prefix, *runtime;
} prefixes[] = {
	{ "docker-", "docker" },      { "cri-containerd-", "containerd" },
	{ "nerdctl-", "containerd" }, { "crio-", "cri-o" },
	{ "libpod-", "podman" },      { "libpod-payload-", "podman" },
};

/* The folders below which a runtime with cgroupfs makes one called ID. */
static const struct {
	const char *folder, *runtime;
} folders[] = {
	{ "docker", "docker" },
	{ "libpod_parent", "podman" },
};

static void set_container(struct cgroup_place *place, struct part id, const char *runtime)
{
	copy_part(place->container, id);
	place->runtime = runtime;
}

/* runc, given a path for systemd where it shall not use systemd: "SLICE:cri-containerd:ID". */
static bool find_by_colons(struct part part, struct cgroup_place *place)
{
	static const char mark[] = ":cri-containerd:";
	size_t mark_len = strlen(mark);
	struct part id;

	if (part.len <= mark_len + ID_LEN)
		return false;
	id = without_begin(part, part.len - ID_LEN);
	if (!is_id(id) || memcmp(id.text - mark_len, mark, mark_len) != 0)
		return false;
	set_container(place, id, "containerd");
	return true;
}

static void find_container(struct part part, struct part parent, struct cgroup_place *place)
{
	const char *runtime = "";
	struct part id = part;

	if (part_begins(part, "lxc.payload.")) {
		set_container(place, without_begin(part, strlen("lxc.payload.")), "lxc");
		return;
	}
	if (parent.len == 3 && memcmp(parent.text, "lxc", 3) == 0) {
		set_container(place, part, "lxc");
		return;
	}
	if (find_by_colons(part, place))
		return;
	if (part_ends(id, ".scope"))
		id.len -= strlen(".scope");
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		if (part_begins(id, prefixes[i].prefix) &&
		    is_id(without_begin(id, strlen(prefixes[i].prefix)))) {
			set_container(place, without_begin(id, strlen(prefixes[i].prefix)),
				      prefixes[i].runtime);
			return;
		}
	if (!is_id(part))
		return;
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
		if (parent.len == strlen(folders[i].folder) &&
		    memcmp(parent.text, folders[i].folder, parent.len) == 0)
			runtime = folders[i].runtime;
	set_container(place, part, runtime);
}

/* --- pods ------------------------------------------------------------------------------------ */

/* With systemd's driver '-' stands for a slice's levels, so that a uid has '_' there. */
static bool is_uid(struct part uid)
{
	if (uid.len == STATIC_UID_LEN)
		return strspn(uid.text, hex) >= STATIC_UID_LEN;
	if (uid.len != UID_LEN)
		return false;
	for (size_t i = 0; i < UID_LEN; i++) {
		bool is_dash = i == 8 || i == 13 || i == 18 || i == 23;

		if (is_dash ? uid.text[i] != '-' && uid.text[i] != '_' : !strchr(hex, uid.text[i]))
			return false;
	}
	return true;
}

/* "podUID", or "kubepods-besteffort-podUID.slice", also in front of a container behind a colon. */
static void find_pod(struct part part, struct cgroup_place *place)
{
	const char *slice = memmem(part.text, part.len, ".slice", 6), *mark;
	struct part uid = part;

	if (slice) {
		uid.len = (size_t)(slice - part.text);
		mark = memmem(uid.text, uid.len, "-pod", 4);
		if (!mark)
			return;
		uid = without_begin(uid, (size_t)(mark + 1 - uid.text));
	}
	if (!part_begins(uid, "pod") || !is_uid(without_begin(uid, 3)))
		return;
	copy_part(place->pod, without_begin(uid, 3));
	for (char *at = place->pod; *at; at++)
		if (*at == '_')
			*at = '-';
}

void cgroup_place_find(const char *path, struct cgroup_place *ret_place)
{
	struct cgroup_place place = { .runtime = "" };
	struct part parent = { path, 0 };

	while (*(path += strspn(path, "/"))) {
		struct part part = { path, strcspn(path, "/") };

		find_unit(part, &place);
		find_container(part, parent, &place);
		find_pod(part, &place);
		parent = part;
		path += part.len;
	}
	*ret_place = place;
}

/* --- of a process ---------------------------------------------------------------------------- */

/* The path of a line "ID:NAMES:PATH" whose names are these; else NULL. */
static const char *path_of(const char *line, const char *names)
{
	const char *colon = memchr(line, ':', strcspn(line, "\n"));
	size_t len = strlen(names);

	if (!colon || strncmp(colon + 1, names, len) != 0 || colon[1 + len] != ':')
		return NULL;
	return colon + 1 + len + 1;
}

int cgroup_place_path(const char *text, struct strbuf *path)
{
	/* Beside version 1 the other one may be there, with nothing but its root. */
	static const char *const names[] = { "", "name=systemd", "memory" };
	const char *best = NULL;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *line = text, *found = NULL;

		for (; !found && *line; line += strcspn(line, "\n"), line += *line != '\0')
			found = path_of(line, names[i]);
		if (found && (!best || strcspn(best, "\n") == 1))
			best = found;
	}
	if (!best)
		return -ENOENT;
	strbuf_add(path, best, strcspn(best, "\n"));
	return strbuf_error(path);
}

int cgroup_place_of_process(pid_t pid, struct strbuf *path, struct cgroup_place *ret_place)
{
	_cleanup_strbuf_ struct strbuf text = {};
	size_t len = path->len;
	int r = proc_file_read(pid, "cgroup", MEMBERSHIP_MAX, &text);

	if (r == 0)
		r = cgroup_place_path(strbuf_str(&text), path);
	if (r == 0)
		cgroup_place_find(strbuf_str(path) + len, ret_place);
	return r;
}
