/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/jobs/file_names.h"

#include "base/hashmap.h"
#include "base/strbuf.h"

#include <errno.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/stat.h>

struct file_name {
	struct abi_file_id id;
	char path[];
};

struct file_names {
	struct hashmap by_id;
};

DEFINE_HASHMAP_OPS(name_ops, struct file_name, free, id.ino, id.dev, id.kind);

int file_names_new(struct file_names **ret_names)
{
	struct file_names *names = calloc(1, sizeof(*names));

	if (!names)
		return -ENOMEM;
	names->by_id.ops = &name_ops;
	*ret_names = names;
	return 0;
}

void file_names_free(struct file_names *names)
{
	if (!names)
		return;
	hashmap_done(&names->by_id);
	free(names);
}

/* The components from the last one in the record, which is the path's first. */
static void add_components(const struct abi_ev_file *ev, struct strbuf *out)
{
	size_t at = ev->len;

	if (ev->flags & ABI_FILE_TRUNCATED)
		strbuf_adds(out, "…");
	while (at > 0) {
		size_t end = at - 1; /* of its NUL */

		for (at = end; at > 0 && ev->names[at - 1] != '\0';)
			at--;
		strbuf_addch(out, '/');
		strbuf_add(out, ev->names + at, end - at);
	}
	if (out->len == 0)
		strbuf_addch(out, '/');
	if (ev->flags & ABI_FILE_DELETED)
		strbuf_adds(out, " (deleted)");
}

/* As in /proc/PID/fd, but for what has a name and no directory, such as memfd:NAME. */
static void path_text(const struct abi_ev_file *ev, struct strbuf *out)
{
	unsigned long long ino = ev->id.ino;
	int len = ev->len > 0 ? (int)ev->len - 1 : 0;

	if (!(ev->flags & ABI_FILE_NAMELESS))
		add_components(ev, out);
	else if (S_ISSOCK(ev->mode))
		strbuf_addf(out, "socket:[%llu]", ino);
	else if (S_ISFIFO(ev->mode))
		strbuf_addf(out, "pipe:[%llu]", ino);
	else if (ev->magic == ANON_INODE_FS_MAGIC)
		strbuf_addf(out, "anon_inode:%.*s", len, ev->names);
	else if (len > 0)
		strbuf_addf(out, "%.*s", len, ev->names);
	else
		strbuf_addf(out, "inode:[%llu]", ino);
}

int file_names_add(struct file_names *names, const struct abi_ev_file *ev)
{
	_cleanup_strbuf_ struct strbuf path = { 0 };
	_cleanup_free_ struct file_name *name = NULL;
	int r;

	path_text(ev, &path);
	if (strbuf_error(&path) < 0)
		return -ENOMEM;
	name = malloc(sizeof(*name) + path.len + 1);
	if (!name)
		return -ENOMEM;
	name->id = ev->id;
	memcpy(name->path, path.data, path.len + 1);
	r = hashmap_insert(&names->by_id, name);
	if (r == 0)
		TAKE_PTR(name);
	return r == -EEXIST ? 0 : r; /* two CPUs saw it at once */
}

const char *file_names_find(const struct file_names *names, const struct abi_file_id *id)
{
	struct file_name key = { .id = *id };
	const struct file_name *name = hashmap_find(&names->by_id, &key);

	return name ? name->path : NULL;
}
