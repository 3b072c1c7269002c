/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rules and the budget in the data of the page of the host. They are about all users' processes, so
 * for root's eyes alone: who else asks is given none.
 */
#ifndef MEMTRACED_SERVICE_DAEMON_PAGE_HOST_BUDGET_H
#define MEMTRACED_SERVICE_DAEMON_PAGE_HOST_BUDGET_H

struct json_object;
struct json_out;
struct service;

/* Errors stay in `out`. */
void host_add_rules(struct json_out *out, const struct service *service, struct json_object *to);
void host_add_budget(struct json_out *out, const struct service *service, struct json_object *to);

#endif
