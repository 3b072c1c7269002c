/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/daemon/push/push_subjects.h"

#include "base/hashmap.h"
#include "service/daemon/push/push_body.h"

#include <errno.h>
#include <sys/utsname.h>

/* A process image. */
struct subject {
	image_t image;
	uint64_t round;	      /* the last one that saw it */
	struct strbuf cgroup; /* "" is not known */
};

/* A trace. */
struct push_told {
	uint64_t trace;
	/* The owner's. */
	size_t holders;
	bool is_forgotten;
	/* The session's thread's while somebody holds it. */
	uint64_t round;
	struct baseline *base; /* NULL: nothing yet */
	struct hashmap subjects;
};

struct push_subjects {
	VEC(struct push_told *) list;
};

static void subject_free(void *item)
{
	struct subject *subject = item;

	strbuf_done(&subject->cgroup);
	free(subject);
}

DEFINE_HASHMAP_OPS(subject_ops, struct subject, subject_free, image.n);

int push_subjects_new(struct push_subjects **ret_subjects)
{
	struct push_subjects *subjects = calloc(1, sizeof(*subjects));

	if (!subjects)
		return -ENOMEM;
	*ret_subjects = subjects;
	return 0;
}

static void told_free(struct push_told *told)
{
	baseline_free(told->base);
	hashmap_done(&told->subjects);
	free(told);
}

static void forget_told(struct push_told *told)
{
	told->is_forgotten = true;
	if (told->holders == 0)
		told_free(told);
}

void push_told_release(struct push_told *told)
{
	told->holders--;
	if (told->is_forgotten && told->holders == 0)
		told_free(told);
}

void push_subjects_free(struct push_subjects *subjects)
{
	if (!subjects)
		return;
	vec_foreach(&subjects->list, told)
		forget_told(*told);
	vec_done(&subjects->list);
	free(subjects);
}

void push_subjects_forget(struct push_subjects *subjects, uint64_t trace)
{
	for (size_t i = 0; i < subjects->list.len; i++) {
		if (subjects->list.data[i]->trace != trace)
			continue;
		forget_told(subjects->list.data[i]);
		subjects->list.data[i] = subjects->list.data[--subjects->list.len];
		return;
	}
}

static int told_new(uint64_t trace, struct push_told **ret_told)
{
	struct push_told *told = calloc(1, sizeof(*told));

	if (!told)
		return -ENOMEM;
	told->subjects.ops = &subject_ops;
	told->trace = trace;
	*ret_told = told;
	return 0;
}

int push_subjects_hold(struct push_subjects *subjects, uint64_t trace, struct push_told **ret_told)
{
	struct push_told *told;
	int r;

	vec_foreach(&subjects->list, it)
		if ((*it)->trace == trace) {
			(*it)->holders++;
			*ret_told = *it;
			return 0;
		}
	r = told_new(trace, &told);
	if (r < 0)
		return r;
	r = vec_push(&subjects->list, told);
	if (r < 0) {
		told_free(told);
		return r;
	}
	told->holders++;
	*ret_told = told;
	return 0;
}

/* --- processes ------------------------------------------------------------------------------- */

static int find_subject(struct push_told *told, const struct model_process *image,
			struct subject **ret_subject)
{
	const struct subject added = { .image = image->id };
	struct subject *subject = hashmap_intern(&told->subjects, &added, sizeof(added), NULL);
	_cleanup_strbuf_ struct strbuf cgroup = {};
	struct cgroup_place place;

	if (!subject)
		return -ENOMEM;
	subject->round = told->round;
	*ret_subject = subject;
	/* It may move while it runs; where it ended is where it was. */
	if (!image->ended && cgroup_place_of_process((pid_t)image->pid, &cgroup, &place) == 0) {
		strbuf_done(&subject->cgroup);
		subject->cgroup = cgroup;
		cgroup = (struct strbuf){};
	}
	return 0;
}

static void forget_gone(struct push_told *told)
{
	struct subject *subject, *gone;
	size_t pos;

	do {
		pos = 0;
		gone = NULL;
		while (!gone && (subject = hashmap_next(&told->subjects, &pos)))
			gone = subject->round != told->round ? subject : NULL;
		if (gone)
			subject_free(hashmap_remove(&told->subjects, gone));
	} while (gone);
}

/* --- profiles -------------------------------------------------------------------------------- */

struct round {
	const char *host; /* the name of this machine */
	struct push_told *told;
	const struct view *view;
	const struct push_target *target;
	unsigned int kinds; /* PUSH_BIT: those that the view has */
	push_item_fn fn;
	void *userdata;
};

static int make_item(const struct round *round, enum push_profile kind,
		     const struct view_process *process, const struct push_labels *labels)
{
	const struct profile_part part = { kind, process, round->told->base };
	struct push_item *item;
	int r = push_body_make(round->target->to, round->view, &part, labels, &item);

	if (r == 1)
		round->fn(item, round->userdata);
	return r < 0 ? r : 0;
}

/* Of who has ended nothing is held any more, and nothing new comes. */
static bool is_due(const struct round *round, enum push_profile kind,
		   const struct model_process *image)
{
	const struct baseline *base = round->told->base;

	if (!(round->target->profiles & round->kinds & PUSH_BIT(kind)))
		return false;
	if (!image->ended)
		return true;
	return kind != PUSH_HEAP && (!base || image->end_ns >= baseline_time_ns(base));
}

static int make_items_of_process(const struct round *round, const struct view_process *process)
{
	const struct model_process *image = process->image;
	struct cgroup_place place = { .runtime = "" };
	struct push_process about = {
		.pid = (pid_t)image->pid,
		.comm = image->comm,
		.exe = image->exe,
		.host = round->host,
		.place = &place,
		.depth = view_image_is_sampled(view_model(round->view), image) ? "sampled" : NULL,
	};
	struct push_labels labels = {};
	struct subject *subject;
	int r = find_subject(round->told, image, &subject), first = 0;

	if (r < 0)
		return r;
	about.cgroup = strbuf_str(&subject->cgroup);
	cgroup_place_find(about.cgroup, &place);
	first = push_labels_make(&about, round->target, &labels);
	for (int kind = 0; first == 0 && kind < PUSH_PROFILES; kind++)
		if (is_due(round, (enum push_profile)kind, image))
			first = make_item(round, (enum push_profile)kind, process, &labels);
	push_labels_done(&labels);
	return first;
}

int push_told_take(struct push_told *told, const struct view *view,
		   const struct push_target *target, push_item_fn fn, void *userdata)
{
	const struct view_event *event = NULL;
	struct utsname machine;
	struct round round = {
		.host = machine.nodename,
		.told = told,
		.view = view,
		.target = target,
		.fn = fn,
		.userdata = userdata,
	};
	struct baseline *base;
	int r = 0, first = 0;

	(void)uname(&machine); /* fails for a bad pointer alone */
	if (!view_job(view, &event))
		return 0;
	round.kinds = !event		   ? PUSH_BIT(PUSH_HEAP) | PUSH_BIT(PUSH_ALLOCS) :
		      event->asked->period ? PUSH_BIT(PUSH_GROWTH) :
					     PUSH_BIT(PUSH_CPU);
	round.told->round++;
	for (size_t i = 0; i < view_n_processes(view); i++) {
		const struct view_process *process = view_process(view, i);

		r = process->image->known ? make_items_of_process(&round, process) : 0;
		first = first ? first : r;
	}
	forget_gone(round.told);
	/* Without it the next profiles would hold what these do. */
	r = baseline_new(view, &base);
	if (r < 0)
		return r;
	baseline_free(round.told->base);
	round.told->base = base;
	return first;
}
