/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Servers of the service's configuration that profiles are pushed to, [push NAME]. The parser of
 * their keys; service_config.c reads the file. Pure functions.
 */
#ifndef MEMTRACED_CONFIG_PUSH_TARGETS_H
#define MEMTRACED_CONFIG_PUSH_TARGETS_H

#include "config/key.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PUSH_TARGETS_MOST 8
#define PUSH_LABELS_MOST 32
#define PUSH_HEADERS_MOST 16

enum push_to { PUSH_PYROSCOPE, PUSH_PARCA, PUSH_OTLP };

enum push_profile { PUSH_HEAP, PUSH_ALLOCS, PUSH_CPU, PUSH_GROWTH, PUSH_PROFILES };
#define PUSH_BIT(profile) (1U << (profile))

struct push_label {
	char *name, *value;
};

struct push_target {
	struct key_section section;
	enum push_to to;
	char *url; /* what the kind's path is added to: without a slash at its end */
	uint64_t every_ns;
	unsigned int profiles; /* PUSH_BIT */
	char *service;	       /* NULL: by the unit, or the program's name */
	struct push_label *labels;
	size_t n_labels;
	char **headers; /* "Name: value" */
	size_t n_headers;
	char *token_file; /* NULL: none */
	char *user;	  /* the token is this user's password; NULL: it is a bearer's */
	char *ca_file;	  /* in place of the system's; NULL: these */
	uint64_t timeout_ns;
	uint64_t queue_bytes;
};

extern const struct key_table push_keys;

struct push_targets {
	struct push_target *list;
	size_t n;
};

/* Is this section's header that of a target, well-formed or not? */
bool push_targets_has(const char *section);

/* A line of a target. 0; -EINVAL with one line without its place in *why; or -ENOMEM. */
int push_targets_set(struct push_targets *targets, const char *section, unsigned int line,
		     const char *name, const char *value, struct strbuf *why);

/* What only a whole target can say: as above, *ret_line is the place. */
int push_targets_check(const struct push_targets *targets, unsigned int *ret_line,
		       struct strbuf *why);

void push_targets_done(struct push_targets *targets);

#endif
