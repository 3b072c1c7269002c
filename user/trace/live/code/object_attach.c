/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Attaching to what a file has: objects_attach().
 */
#include "trace/bpf/bpf_link.h"
#include "trace/bpf/link_home.h"
#include "trace/live/code/object_state.h"

#include "memtraced.skel.h" /* after the ABI that it is made of */

#include <errno.h>
#include <string.h>

typedef VEC(int) link_fds;

/* Sites by the program that serves them. */
struct site_lists {
	VEC(struct uprobe_site) session; /* entry and return */
	VEC(struct uprobe_site) entry;	 /* entries and exit sites */
	VEC(struct uprobe_site) ret;	 /* return probes */
	VEC(struct uprobe_site) sample;	 /* USDT probes */
};

static void site_lists_done(struct site_lists *lists)
{
	vec_done(&lists->session);
	vec_done(&lists->entry);
	vec_done(&lists->ret);
	vec_done(&lists->sample);
}

static int add_exit_sites(struct site_lists *lists, const struct plan_probe *probe,
			  const uint64_t *exits, size_t n, uint16_t fn, uint32_t owner)
{
	for (size_t i = 0; i < n; i++) {
		struct uprobe_site site = {
			.offset = exits[i],
			.cookie = ABI_COOKIE(fn, probe->kind | ABI_AT_EXIT, probe->args, owner),
		};
		int r = vec_push(&lists->entry, site);

		if (r)
			return r;
	}
	return 0;
}

/* Where it begins, and by a return probe where it ends. */
static int add_returning(struct objects *objects, struct object *object, struct site_lists *lists,
			 const struct plan_probe *probe, struct uprobe_site site)
{
	int r;

	if (objects->opts.returns_unsafe)
		return vec_push(&object->unprobed,
				(struct unprobed){ probe->function, probe->why_no_sites });
	if (objects->opts.run->path == ATTACH_PATH_SESSION)
		return vec_push(&lists->session, site);
	r = vec_push(&lists->ret, site);
	return r ? r : vec_push(&lists->entry, site);
}

/*
 * Chooses for one function: exit sites where a return probe could hurt, else what the path offers.
 * Exits come before entries: a call that is seen to begin must be seen to end.
 */
static int add_probe(struct objects *objects, struct object *object, struct site_lists *lists,
		     size_t i, uint32_t owner)
{
	const struct plan_probe *probe = &object->facts.plan->probes[i];
	enum attach_path path = objects->opts.run->path;
	uint16_t fn = object->first_fn + i;
	struct uprobe_site site = {
		.offset = probe->entry_site,
		.cookie = ABI_COOKIE(fn, probe->kind, probe->args, owner),
		.semaphore_offset = probe->semaphore_offset,
	};
	bool by_sites = probe->exits == PLAN_EXIT_SITES ||
			(probe->exits == PLAN_EXIT_ANY && path == ATTACH_PATH_EXIT);
	int r;

	if (probe->exits == PLAN_EXIT_NONE)
		return path == ATTACH_PATH_SESSION ? vec_push(&lists->session, site) :
						     vec_push(&lists->entry, site);
	/*
	 * It only jumps on to functions with probes of their own, whose sites stand for its, and
	 * which have the size that it was asked for. A library may stand in between that is not
	 * probed, as ours, and returns unseen.
	 */
	if (by_sites && probe->only_jumps && probe->n_exit_sites == 0)
		return 0;
	if (by_sites) {
		site.cookie |= ABI_COOKIE_BY_SITES;
		r = add_exit_sites(lists, probe, probe->exit_sites, probe->n_exit_sites, fn, owner);
		return r ? r : vec_push(&lists->entry, site);
	}
	return add_returning(objects, object, lists, probe, site);
}

/* The same where a function that has sites of results leaves for another one. */
static int add_leaving(struct objects *objects, struct object *object, struct site_lists *lists,
		       size_t function, uint32_t owner)
{
	const struct plan_probe *probe = &object->facts.plan->probes[function];
	uint16_t fn = object->first_fn + function;
	bool by_exits = probe->exits == PLAN_EXIT_SITES;
	int r = add_exit_sites(lists, probe, probe->left_exits, probe->n_left_exits, fn, owner);

	for (size_t i = 0; i < probe->n_results && r == 0; i++) {
		const struct result_site *result = &probe->results[i];
		struct uprobe_site site = {
			.offset = result->addr,
			.cookie = ABI_COOKIE(fn, probe->kind, result->args, owner),
		};

		if (result->see.kind != ABI_RESULT_LEAVES || !result->args)
			continue;
		if (by_exits)
			site.cookie |= ABI_COOKIE_BY_SITES;
		r = by_exits ? vec_push(&lists->entry, site) :
			       add_returning(objects, object, lists, probe, site);
	}
	return r;
}

static int add_samples(struct object *object, struct site_lists *lists, uint32_t owner)
{
	int r = 0;

	for (size_t i = 0; object->facts.samples && i < object->facts.samples->n_probes && r == 0;
	     i++) {
		const struct plan_probe *probe = &object->facts.samples->probes[i];

		r = vec_push(&lists->sample,
			     (struct uprobe_site){ .offset = probe->entry_site,
						   .cookie = ABI_COOKIE(object->first_sample_fn + i,
									probe->kind, probe->args,
									owner),
						   .semaphore_offset = probe->semaphore_offset });
	}
	return r;
}

/* For whom a link is, and for what. */
struct link_for {
	uint32_t owner;
	pid_t pid;
	enum link_part part;
	size_t function;
};

static int add_link(const struct objects *objects, struct object *object, const struct link_for *to,
		    int fd)
{
	const struct object_link link = { .owner = to->owner,
					  .pid = to->pid,
					  .fd = fd,
					  .part = to->part,
					  .function = (uint16_t)to->function };
	int r;

	if (fd < 0)
		return fd;
	link_home_keep(objects->opts.programs->link_home, fd);
	r = vec_push(&object->links, link);
	if (r)
		close(fd);
	return r;
}

static int attach_list(const struct objects *objects, struct object *object, int prog_fd, int type,
		       const struct uprobe_site *sites, size_t n, bool at_return,
		       const struct link_for *to)
{
	int r = 0;

	if (n == 0)
		return 0;
	if (type)
		return add_link(objects, object, to,
				link_uprobe_multi(prog_fd, type, object->open_path, sites, n,
						  at_return, to->pid));
	for (size_t i = 0; i < n && r == 0; i++)
		r = add_link(objects, object, to,
			     programs_link_perf(objects->opts.programs, prog_fd, object->open_path,
						&sites[i], at_return, to->pid));
	return r;
}

static void detach_owner(const struct objects *objects, struct object *object, uint32_t owner)
{
	size_t kept = 0;

	for (size_t i = 0; i < object->links.len; i++) {
		if (object->links.data[i].owner == owner)
			link_home_close(objects->opts.programs->link_home,
					object->links.data[i].fd);
		else
			object->links.data[kept++] = object->links.data[i];
	}
	object->links.len = kept;
}

/* The links of an object that see this process's calls leave it for `fds`. */
static int move_links(struct object *object, pid_t pid, link_fds *fds)
{
	size_t kept = 0;
	int r = vec_reserve(fds, fds->len + object->links.len);

	if (r)
		return r;
	for (size_t i = 0; i < object->links.len; i++) {
		const struct object_link link = object->links.data[i];

		if (link.pid == pid)
			fds->data[fds->len++] = link.fd;
		else
			object->links.data[kept++] = link;
	}
	object->links.len = kept;
	return 0;
}

int objects_detach_now(struct objects *objects, pid_t pid)
{
	link_fds fds = {};
	int r = 0;

	for (size_t i = 0; i < objects_count(objects) && r == 0; i++)
		r = move_links(objects_at(objects, i), pid, &fds);
	link_home_close_now(objects->opts.programs->link_home, fds.data, fds.len);
	vec_done(&fds);
	return r;
}

void objects_detach(struct objects *objects)
{
	for (size_t i = 0; i < objects_count(objects); i++) {
		struct object *object = objects_at(objects, i);

		vec_foreach(&object->links, link)
			link_home_close(objects->opts.programs->link_home, link->fd);
		object->links.len = 0;
	}
}

/* The programs that count requested sizes: entries only. */
static int attach_sizes(const struct objects *objects, struct object *object, uint32_t owner,
			pid_t pid)
{
	const struct link_for to = { .owner = owner, .pid = pid };
	int r = 0;

	vec_foreach(&objects->sizes, size) {
		_cleanup_(site_lists_done) struct site_lists lists = {};

		for (size_t i = 0; object->facts.plan && i < object->facts.plan->n_probes && r == 0;
		     i++) {
			const struct plan_probe *probe = &object->facts.plan->probes[i];
			uint16_t fn = object->first_fn + i;
			struct uprobe_site site = {
				.offset = probe->entry_site,
				.cookie = ABI_COOKIE(fn, probe->kind, probe->args, owner),
			};

			if (strcmp(probe->function, size->function) == 0)
				r = vec_push(&lists.entry, site);
		}
		if (r == 0)
			r = attach_list(objects, object, size->fd,
					objects->opts.programs->entry_type, lists.entry.data,
					lists.entry.len, false, &to);
	}
	return r;
}

/* Where threads are stopped before functions. */
static int attach_checkpoints(const struct objects *objects, struct object *object, uint32_t owner,
			      pid_t pid)
{
	_cleanup_(site_lists_done) struct site_lists lists = {};
	const struct link_for to = { .owner = owner, .pid = pid };
	const struct programs *p = objects->opts.programs;
	int r = 0;

	for (size_t i = 0; i < object->facts.checkpoints.list.len && r == 0; i++) {
		const struct checkpoint *point = &object->facts.checkpoints.list.data[i];
		struct uprobe_site site = {
			.offset = point->offset,
			.cookie = ABI_COOKIE(point->function, 0, 0, owner),
			.semaphore_offset = point->semaphore_offset,
		};

		r = vec_push(&lists.entry, site);
	}
	return r ? r :
		   attach_list(objects, object, p->checkpoint_fd, p->entry_type, lists.entry.data,
			       lists.entry.len, false, &to);
}

/* C++'s forms of allocation that forward: bpf/form.bpf.h. */
static int attach_marks(const struct objects *objects, struct object *object, uint32_t owner,
			pid_t pid)
{
	_cleanup_(site_lists_done) struct site_lists lists = {};
	const struct link_for to = { .owner = owner, .pid = pid };
	const struct programs *p = objects->opts.programs;
	int r = 0;

	for (size_t i = 0; object->marked && i < object->facts.plan->n_marks && r == 0; i++) {
		const struct plan_mark *mark = &object->facts.plan->marks[i];
		struct uprobe_site site = {
			.offset = mark->entry_site,
			.cookie = ABI_COOKIE(0, 0, ABI_MARK_ARGS(mark->form, mark->deletes), owner),
		};

		r = vec_push(&lists.entry, site);
	}
	return r ? r :
		   attach_list(objects, object, p->mark_fd, p->entry_type, lists.entry.data,
			       lists.entry.len, false, &to);
}

/* What the dynamic linker calls when libraries have come or gone: of a process, not of all. */
static int attach_loader(const struct objects *objects, struct object *object, uint32_t owner,
			 pid_t pid)
{
	const struct programs *p = objects->opts.programs;
	const struct uprobe_site site = { .offset = object->facts.loader_stop };
	const struct link_for to = { .owner = owner, .pid = pid };

	return attach_list(objects, object, p->loader_fd, p->entry_type, &site,
			   owner && object->facts.loader_stop ? 1 : 0, false, &to);
}

/* What counts calls: returns before entries, for the reason given at add_probe. */
static int attach_calls(struct objects *objects, struct object *object,
			const struct site_lists *lists, const struct link_for *to)
{
	struct programs *p = objects->opts.programs;
	int r = 0, entry_fd = -1;

	if (lists->entry.len) {
		entry_fd = programs_entry_fd(p);
		r = entry_fd < 0 ? entry_fd : 0;
	}
	if (r == 0)
		r = attach_list(objects, object, p->return_fd, p->entry_type, lists->ret.data,
				lists->ret.len, true, to);
	if (r == 0)
		r = attach_list(objects, object, entry_fd, p->entry_type, lists->entry.data,
				lists->entry.len, false, to);
	if (r == 0)
		r = attach_list(objects, object, p->session_fd, LINK_TYPE_UPROBE_SESSION,
				lists->session.data, lists->session.len, false, to);
	return r;
}

static int add_results(const struct object *object, struct site_lists *lists, size_t function,
		       uint32_t owner)
{
	const struct plan_probe *probe = &object->facts.plan->probes[function];
	bool compares = object_result_state(object, function) == RESULTS_CHECKED;
	int r = 0;

	for (size_t i = 0; i < probe->n_results && r == 0; i++) {
		const struct result_site *result = &probe->results[i];
		struct uprobe_site site = {
			.offset = result->addr,
			.cookie = ABI_COOKIE(object->first_fn + function, probe->kind,
					     object->first_site[function] + i, owner),
		};

		/* What may be interrupted there must be known to be inside. */
		if (result->see.kind == ABI_RESULT_BEGINS)
			site.cookie |= ABI_COOKIE_BY_SITES;
		if (result->see.kind != ABI_RESULT_LEAVES || compares)
			r = vec_push(&lists->entry, site);
	}
	return r;
}

int object_attach_results(struct objects *objects, struct object *object, size_t function,
			  uint32_t owner, pid_t pid)
{
	const struct link_for to = { owner, pid, LINK_PART_RESULTS, function };
	_cleanup_(site_lists_done) struct site_lists leaving = {}, lists = {};
	int fd = programs_result_fd(objects->opts.programs), r = fd < 0 ? fd : 0;

	if (r == 0)
		r = add_leaving(objects, object, &leaving, function, owner);
	if (r == 0)
		r = add_results(object, &lists, function, owner);
	/* A call that is seen to begin must be seen to end. */
	if (r == 0)
		r = attach_calls(objects, object, &leaving, &to);
	return r ? r :
		   attach_list(objects, object, fd, objects->opts.programs->entry_type,
			       lists.entry.data, lists.entry.len, false, &to);
}

/*
 * One that may be counted by sites has links of its own. Its sites come first: they leave calls
 * alone that entry and return count.
 */
static int attach_function(struct objects *objects, struct object *object, size_t function,
			   uint32_t owner, pid_t pid)
{
	const struct link_for to = { owner, pid, LINK_PART_RETURNS, function };
	_cleanup_(site_lists_done) struct site_lists lists = {};
	int r = 0;

	if (object_probes_results(object, function))
		r = object_attach_results(objects, object, function, owner, pid);
	if (r || object_counts_results(object, function))
		return r;
	r = add_probe(objects, object, &lists, function, owner);
	return r ? r : attach_calls(objects, object, &lists, &to);
}

static int attach_functions(struct objects *objects, struct object *object, uint32_t owner,
			    pid_t pid)
{
	int r = 0;

	for (size_t i = 0; i < object->facts.plan->n_probes && r == 0; i++)
		if (object_may_count_results(object, i))
			r = attach_function(objects, object, i, owner, pid);
	return r;
}

int object_close_part(const struct objects *objects, struct object *object, enum link_part part,
		      size_t function)
{
	link_fds fds = {};
	size_t kept = 0;
	int r = vec_reserve(&fds, object->links.len);

	if (r)
		return r;
	for (size_t i = 0; i < object->links.len; i++) {
		const struct object_link link = object->links.data[i];

		if (link.part == part && link.function == function)
			fds.data[fds.len++] = link.fd;
		else
			object->links.data[kept++] = link;
	}
	object->links.len = kept;
	link_home_close_now(objects->opts.programs->link_home, fds.data, fds.len);
	vec_done(&fds);
	return 0;
}

static bool counts_calls(const struct objects *objects, const struct object *object)
{
	return objects->opts.run->allocations && objects->depth == RECORD_DEPTH_EXACT &&
	       object->facts.plan;
}

static int attach(struct objects *objects, struct object *object, uint32_t owner, pid_t pid)
{
	_cleanup_(site_lists_done) struct site_lists lists = {};
	const struct link_for to = { .owner = owner, .pid = pid };
	struct programs *p = objects->opts.programs;
	bool calls = counts_calls(objects, object);
	int r = calls ? object_results_new(objects, object) : 0;

	for (size_t i = 0; calls && i < object->facts.plan->n_probes && r == 0; i++)
		if (!object_may_count_results(object, i))
			r = add_probe(objects, object, &lists, i, owner);
	if (r == 0 && objects->depth == RECORD_DEPTH_SAMPLED)
		r = add_samples(object, &lists, owner);
	if (r)
		return r;
	/* Marks before calls; frees, which are among all, before what can only allocate. */
	r = attach_marks(objects, object, owner, pid);
	if (r == 0)
		r = attach_calls(objects, object, &lists, &to);
	if (r == 0 && calls)
		r = attach_functions(objects, object, owner, pid);
	if (r == 0)
		r = attach_list(objects, object, p->sample_fd, p->entry_type, lists.sample.data,
				lists.sample.len, false, &to);
	if (r == 0)
		r = attach_sizes(objects, object, owner, pid);
	if (r == 0)
		r = attach_checkpoints(objects, object, owner, pid);
	if (r == 0)
		r = attach_loader(objects, object, owner, pid);
	if (r)
		detach_owner(objects, object, owner);
	return r;
}

int objects_attach_checkpoints(struct objects *objects, struct object *object, uint32_t owner,
			       pid_t pid)
{
	return object->facts.checkpoints.list.len ?
		       attach_checkpoints(objects, object, owner, pid) :
		       0;
}

static const char changed[] = "the file was written to after memtraced had read it";
static const char not_loaded[] =
	"the programs that count calls could not be loaded when they were needed";

/* Once, though each process that maps it tries. */
static int list_unprobed(struct object *object, const char *why)
{
	vec_foreach(&object->unprobed, row)
		if (row->why == why)
			return 0;
	return vec_push(&object->unprobed, (struct unprobed){ "all functions", why });
}

/* One file that cannot be probed must not end the tracing of all others. */
int objects_attach(struct objects *objects, struct object *object, uint32_t owner, pid_t pid)
{
	int r;

	if (counts_calls(objects, object) && programs_load_calls(objects->opts.programs))
		return list_unprobed(object, not_loaded);
	r = attach(objects, object, owner, pid);
	if (r == 0 || r == -ENOMEM)
		return r;
	/* The kernel refuses sites that a file does not have any more. */
	if ((r == -EINVAL || r == -EIO || r == -EFAULT) && object_has_changed(object))
		return list_unprobed(object, changed);
	if (owner)
		return r;
	object->refused = true;
	return vec_push(&object->unprobed, (struct unprobed){ "all functions", strerror(-r) });
}
