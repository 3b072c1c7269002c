/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/daemon/watch/episodes.h"

#include "base/hashmap.h"
#include "base/vec.h"

#include <errno.h>
#include <string.h>

struct episode {
	const char *key; /* its own, behind the struct */
	uint64_t since_ns, last_ns;
	uint64_t settled_until_ns; /* 0: nothing was done */
	bool refused;
	bool holds, held; /* in this look, in the last one */
};

/* The map owns what is in the list, too. */
struct episodes {
	struct hashmap by_key;
	VEC(struct episode *) list;
};

static uint64_t episode_hash(const void *item)
{
	const struct episode *episode = item;

	return hash_bytes(episode->key, strlen(episode->key), 0);
}

static bool episode_equal(const void *a, const void *b)
{
	const struct episode *x = a, *y = b;

	return strcmp(x->key, y->key) == 0;
}

int episodes_new(struct episodes **ret_episodes)
{
	static const struct hashmap_ops ops = { episode_hash, episode_equal, free };
	struct episodes *episodes = calloc(1, sizeof(*episodes));

	if (!episodes)
		return -ENOMEM;
	episodes->by_key.ops = &ops;
	*ret_episodes = episodes;
	return 0;
}

void episodes_free(struct episodes *episodes)
{
	if (!episodes)
		return;
	hashmap_done(&episodes->by_key);
	vec_done(&episodes->list);
	free(episodes);
}

void episodes_clear(struct episodes *episodes)
{
	vec_foreach(&episodes->list, episode)
		free(hashmap_remove(&episodes->by_key, *episode));
	episodes->list.len = 0;
}

static struct episode *find_episode(const struct episodes *episodes, const char *key)
{
	return hashmap_find(&episodes->by_key, &(struct episode){ .key = key });
}

static int add_episode(struct episodes *episodes, const char *key, struct episode **ret_episode)
{
	_cleanup_free_ struct episode *episode = malloc(sizeof(*episode) + strlen(key) + 1);
	char *copy = (char *)(episode + 1);
	int r = episode ? vec_reserve(&episodes->list, episodes->list.len + 1) : -ENOMEM;

	if (r < 0)
		return r;
	*episode = (struct episode){ .key = strcpy(copy, key) };
	r = hashmap_insert(&episodes->by_key, episode);
	if (r < 0)
		return r;
	*ret_episode = TAKE_PTR(episode);
	return vec_push(&episodes->list, *ret_episode);
}

int episodes_hold(struct episodes *episodes, const char *key, uint64_t for_ns, uint64_t gap_ns,
		  uint64_t now_ns)
{
	struct episode *episode = find_episode(episodes, key);
	int r = episode ? 0 : add_episode(episodes, key, &episode);

	if (r < 0)
		return r;
	if (!episode->held || now_ns < episode->last_ns || now_ns - episode->last_ns > gap_ns) {
		episode->since_ns = now_ns;
		episode->refused = false;
	}
	episode->last_ns = now_ns;
	episode->holds = true;
	return now_ns - episode->since_ns >= for_ns && now_ns >= episode->settled_until_ns;
}

void episodes_settle(struct episodes *episodes, const char *key, uint64_t until_ns)
{
	struct episode *episode = find_episode(episodes, key);

	if (episode)
		episode->settled_until_ns = until_ns;
}

bool episodes_refuse(struct episodes *episodes, const char *key)
{
	struct episode *episode = find_episode(episodes, key);
	bool is_first = episode && !episode->refused;

	if (episode)
		episode->refused = true;
	return is_first;
}

void episodes_end(struct episodes *episodes, uint64_t now_ns)
{
	size_t n = 0;

	vec_foreach(&episodes->list, at) {
		struct episode *episode = *at;

		if (!episode->holds && now_ns >= episode->settled_until_ns) {
			free(hashmap_remove(&episodes->by_key, episode));
			continue;
		}
		episode->held = episode->holds;
		episode->holds = false;
		episodes->list.data[n++] = episode;
	}
	episodes->list.len = n;
}

size_t episodes_held(const struct episodes *episodes, uint64_t *ret_since_ns)
{
	uint64_t since_ns = UINT64_MAX;
	size_t n = 0;

	vec_foreach(&episodes->list, episode) {
		if (!(*episode)->held)
			continue;
		n++;
		if ((*episode)->since_ns < since_ns)
			since_ns = (*episode)->since_ns;
	}
	*ret_since_ns = n ? since_ns : 0;
	return n;
}

size_t episodes_count(const struct episodes *episodes)
{
	return episodes->list.len;
}
