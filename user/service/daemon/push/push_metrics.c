/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/daemon/push/push_metrics.h"

/* Names of servers are the administrator's. */
static void put_pushed(const struct push *push, struct metrics_out *out)
{
	static const struct metrics_family family = {
		"memtraced_push_profiles", METRICS_COUNTER, "",
		"Profiles for a server, by what became of them: sent, rejected by the server, or "
		"dropped as it took none in time."
	};
	static const char *const results[] = { "sent", "rejected", "dropped" };
	struct push_info info;

	metrics_out_family(out, &family);
	for (size_t i = 0; push_at(push, i, &info); i++) {
		const uint64_t values[] = { info.counts.sent, info.counts.rejected,
					    info.counts.dropped };

		for (size_t j = 0; j < sizeof(values) / sizeof(values[0]); j++) {
			metrics_out_label(out, "target", info.name);
			metrics_out_label(out, "result", results[j]);
			metrics_out_u64(out, "", values[j]);
		}
	}
}

static void put_number(const struct push *push, const struct metrics_family *family,
		       uint64_t (*value)(const struct push_info *info), struct metrics_out *out)
{
	struct push_info info;

	metrics_out_family(out, family);
	for (size_t i = 0; push_at(push, i, &info); i++) {
		metrics_out_label(out, "target", info.name);
		metrics_out_u64(out, "", value(&info));
	}
}

static uint64_t get_failed(const struct push_info *info)
{
	return info->counts.failed;
}

static uint64_t get_untaken(const struct push_info *info)
{
	return info->untaken;
}

static uint64_t get_waiting(const struct push_info *info)
{
	return info->waiting;
}

static uint64_t get_waiting_bytes(const struct push_info *info)
{
	return info->waiting_bytes;
}

void push_metrics_put(const struct push *push, struct metrics_out *out)
{
	static const struct metrics_family failed = {
		"memtraced_push_failures", METRICS_COUNTER, "",
		"Tries to send a profile that were or will be repeated."
	};
	static const struct metrics_family untaken = {
		"memtraced_push_untaken", METRICS_COUNTER, "",
		"Times that profiles of a trace could not be made."
	};
	static const struct metrics_family waiting = { "memtraced_push_waiting_profiles",
						       METRICS_GAUGE, "",
						       "Profiles that wait to be sent." };
	static const struct metrics_family bytes = { "memtraced_push_waiting_bytes", METRICS_GAUGE,
						     "bytes", "Memory that they take." };

	put_pushed(push, out);
	put_number(push, &failed, get_failed, out);
	put_number(push, &untaken, get_untaken, out);
	put_number(push, &waiting, get_waiting, out);
	put_number(push, &bytes, get_waiting_bytes, out);
}
