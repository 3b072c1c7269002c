/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads a BPF hash map that changes meanwhile: batch look-ups, which take a bucket at a time, so
 * that no entry that is there all along is lost or repeated (Linux 5.6).
 */
#ifndef MEMTRACED_TRACE_BPF_BPF_BATCH_H
#define MEMTRACED_TRACE_BPF_BPF_BATCH_H

#include <stdbool.h>
#include <stddef.h>

/* Called with n entries; keys and values as arrays. A non-zero return value ends the reading. */
typedef int (*bpf_batch_fn)(const void *keys, const void *values, size_t n, void *userdata);

/* 0, what fn returned, or negative errno. */
int bpf_batch_read(int map_fd, size_t key_size, size_t value_size, bpf_batch_fn fn, void *userdata);

/* Is the entry one of those? */
typedef bool (*bpf_batch_choose_fn)(const void *key, const void *userdata);

/*
 * Deletes those that `choose` says yes to. With ret_keys: their keys, an array of *ret_len bytes
 * for the caller to free. 0 or negative errno.
 */
int bpf_batch_purge(int map_fd, size_t key_size, size_t value_size, bpf_batch_choose_fn choose,
		    const void *userdata, void **ret_keys, size_t *ret_len);

/* Deletes the entries of an array of keys, `len` bytes; passes over those that are gone already. */
void bpf_batch_delete(int map_fd, size_t key_size, const void *keys, size_t len);

#endif
