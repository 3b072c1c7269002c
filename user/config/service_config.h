/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The configuration file of `memtraced --service`: INI, one table of keys. What is not understood
 * is refused with file and line; nothing is guessed. Pure but for service_config_read.
 *
 * A configuration is a snapshot: nothing changes it, and it is freed with its last reference. Each
 * module that keeps a pointer to it, or into it, holds a reference for that time. References may be
 * taken and given back on any thread.
 */
#ifndef MEMTRACED_CONFIG_SERVICE_CONFIG_H
#define MEMTRACED_CONFIG_SERVICE_CONFIG_H

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "config/key.h"
#include "config/options.h"
#include "config/push_targets.h"
#include "config/service_rules.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

#define SERVICE_CONFIG_PATH "/etc/memtraced/memtraced.conf"
#define SERVICE_SOCKET_PATH "/run/memtraced/http.sock"
#define SERVICE_MOST_TRACED 32 /* patterns of [post_mortem] trace */
#define SERVICE_STATE_PATH "/var/lib/memtraced"
#define SERVICE_MAX_ALLOCATORS 64
#define SERVICE_MAX_WRAPPERS 64

/* "unix PATH", "127.0.0.1:19090", "[::1]:19090"; names are not looked up. */
struct service_listen {
	char *text;			 /* as in the file, for people */
	struct sockaddr_storage address; /* AF_UNIX, AF_INET or AF_INET6 */
	socklen_t address_len;
	bool is_loopback; /* of the two latter */
};

/* The keys of all sections but [rule NAME] and [push NAME]. */
extern const struct key_table service_keys;

struct service_config {
	char *path;			/* of the file, for messages */
	struct service_listen *listens; /* [http]; at least one */
	size_t n_listens;
	char **hosts; /* further names that Host may have; NULL-terminated; NULL: none */
	char *token_file;
	bool remote; /* other addresses than those of loopback may be listened on */
	uint64_t socket_mode;
	char *socket_group; /* NULL: the service's own */
	uint64_t max_connections, max_connections_of_user;
	uint64_t timeout_ns; /* for a request to be sent, and for its answer to be taken */
	uint64_t max_answer; /* bytes */
	char *target;	     /* [trace]: a pid or a name pattern; NULL: none */
	uint64_t seconds_ns, max_seconds_ns;
	uint64_t max_traces, max_traces_of_user;
	uint64_t reserved_traces;    /* of max_traces: root and rules alone have them */
	uint64_t trace_memory;	     /* bytes, as --memory-limit; 0: none */
	char **allocators;	     /* as --allocator; NULL-terminated; NULL: none */
	char **wrappers;	     /* as --wrapper; NULL-terminated; NULL: none */
	uint64_t max_overhead;	     /* hundredths of a percent; 0: no limit */
	bool watches;		     /* [watch] */
	uint64_t watch_interval_ns;  /* at least: sweeps that cost much come more rarely */
	uint64_t pss_interval_ns;    /* 0: PSS is not read */
	uint64_t growth_window_ns;   /* over which growth is shown */
	bool grows;		     /* [growth]: page faults of the host are sampled, */
	uint64_t growth_period;	     /* one in so many */
	bool growth_mappings;	     /* what is mapped is told apart, too */
	uint64_t growth_stacks;	     /* so many are kept before it is begun anew */
	char *cgroup_root;	     /* NULL: found among the mounts */
	uint64_t processes, cgroups; /* [metrics]: so many are shown */
	struct service_rules rules;  /* [rule NAME] */
	struct push_targets pushes;  /* [push NAME] */
	char *state_directory;	     /* [state] */
	uint64_t max_reports;	     /* files of a user */
	uint64_t max_state_size;     /* their bytes */
	uint64_t max_age_ns;
	bool post_mortems;	  /* [post_mortem]: reports of processes that are killed */
	char *post_mortem_format; /* of these reports; not checked here */
	char **standing;	  /* names to be traced, as --comm; NULL-terminated; NULL: none */
	enum heap_depth standing_depth; /* how they are */
};

/*
 * 0 with a reference in *ret_config; -EINVAL with one line in *error, "PATH:LINE: what is wrong;
 * what to do"; or -ENOMEM. `path` is for the message.
 */
int service_config_parse(const char *text, size_t len, const char *path,
			 const struct service_config **ret_config, struct strbuf *error);

/*
 * The same of a file; NULL: SERVICE_CONFIG_PATH, or the defaults where that is not there. Also what
 * reading it gave, with *error set.
 */
int service_config_read(const char *path, const struct service_config **ret_config,
			struct strbuf *error);

/* Another reference to what these two made; NULL gives NULL. */
const struct service_config *service_config_ref(const struct service_config *config);
void service_config_unref(const struct service_config *config); /* NULL is legal */
DEFINE_CLEANUP(const struct service_config, service_config_unref)

/* *at lets go of its configuration, and holds a reference to this one from now on. */
void service_config_set(const struct service_config **at, const struct service_config *config);

#endif
