/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What pushing profiles reads of others: servers' answers, and cgroups' names, which whoever may
 * make a cgroup chooses. The first byte says which.
 */
#include "service/daemon/push/push_body.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int condition)
{
	if (!condition)
		abort();
}

static void try_answer(const uint8_t *data, size_t size, long status)
{
	_cleanup_strbuf_ struct strbuf answer = {}, why = {};
	enum push_result result;

	strbuf_add(&answer, data, size);
	result = push_answer_read(PUSH_OTLP, status, &answer, &why);
	check(result == PUSH_SENT || result == PUSH_REJECTED);
	check(why.len < 1024);
	for (size_t i = 0; i < why.len; i++)
		check((unsigned char)why.data[i] >= 0x20 && why.data[i] != 0x7f);
}

static void try_cgroup(const char *text)
{
	_cleanup_strbuf_ struct strbuf path = {};
	struct cgroup_place place;

	if (cgroup_place_path(text, &path) == 0)
		check(!strchr(strbuf_str(&path), '\n'));
	cgroup_place_find(text, &place);
	check(place.runtime && (*place.container || *place.runtime == '\0'));
	check(!strchr(place.unit, '/') && !strchr(place.container, '/'));
	check(*place.pod == '\0' || strlen(place.pod) == 32 || strlen(place.pod) == 36);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_free_ char *text = size > 0 ? strndup((const char *)data + 1, size - 1) : NULL;

	if (!text)
		return 0;
	if (data[0] % 2)
		try_answer(data + 1, size - 1, data[0] & 2 ? 200 : 400);
	else
		try_cgroup(text);
	return 0;
}
