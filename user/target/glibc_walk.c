/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "target/glibc_walk.h"

#include "base/clock.h"

#include <string.h>

static bool is_late(struct glibc_walk *w)
{
	uint64_t deadline = w->source->deadline_ns;

	if (!w->heap->is_late && deadline && clock_monotonic_ns() >= deadline)
		w->heap->is_late = true;
	return w->heap->is_late;
}

/*
 * Chunks are mostly small and read in order: more and more of what is behind is read with them.
 * Lists lead anywhere.
 */
static size_t window_size(const struct glibc_walk *w, uint64_t addr)
{
	uint64_t end = w->window_addr + w->window_len;

	if (w->window_len < GLIBC_PAGE || addr < w->window_addr || addr > end + w->window_len)
		return GLIBC_PAGE;
	return 2 * w->window_len < GLIBC_WINDOW ? 2 * w->window_len : GLIBC_WINDOW;
}

static bool fill_window(struct glibc_walk *w, uint64_t addr, size_t len)
{
	size_t size = window_size(w, addr);
	ssize_t got;

	if (is_late(w))
		return false;
	if (size < len)
		size = len;
	got = w->source->read(w->source->ctx, addr, w->window, size);
	w->window_addr = addr;
	w->window_len = got > 0 ? (size_t)got : 0;
	return w->window_len >= len;
}

bool glibc_copy(struct glibc_walk *w, uint64_t addr, void *buf, size_t len)
{
	if (addr < w->window_addr || addr - w->window_addr > w->window_len ||
	    w->window_len - (addr - w->window_addr) < len)
		if (len > GLIBC_WINDOW || !fill_window(w, addr, len))
			return false;
	memcpy(buf, w->window + (addr - w->window_addr), len);
	return true;
}

bool glibc_word(struct glibc_walk *w, uint64_t addr, uint64_t *ret_word)
{
	return glibc_copy(w, addr, ret_word, sizeof(*ret_word));
}

const struct memory_map *glibc_map_at(const struct glibc_walk *w, uint64_t addr)
{
	size_t low = 0, high = w->source->n_maps;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (w->source->maps[mid].end <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	if (low == w->source->n_maps || w->source->maps[low].start > addr)
		return NULL;
	return &w->source->maps[low];
}

struct glibc_block *glibc_block_at(struct glibc_walk *w, uint64_t addr)
{
	size_t low = 0, high = w->blocks.len;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (w->blocks.data[mid].addr < addr)
			low = mid + 1;
		else
			high = mid;
	}
	if (low == w->blocks.len || w->blocks.data[low].addr != addr)
		return NULL;
	return &w->blocks.data[low];
}
