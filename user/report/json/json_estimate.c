/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/json/json_estimate.h"

void json_add_estimate(struct json_out *out, struct json_object *json,
		       const struct view_estimate *estimate, bool of_process)
{
	struct json_object *of = estimate->interval ? json_out_new(out) : NULL;

	if (!of) {
		json_out_null(out, json, "estimate");
		return;
	}
	json_out_u64(out, of, "interval", estimate->interval);
	json_out_u64(out, of, "ci95_bytes", estimate->ci95_bytes);
	json_out_u64(out, of, "ci95_blocks", estimate->ci95_blocks);
	json_out_u64(out, of, "samples", estimate->samples);
	json_out_u64(out, of, "ci95_peak_bytes", estimate->ci95_peak_bytes);
	json_out_u64(out, of, "ci95_allocated_bytes", estimate->ci95_allocated_bytes);
	json_out_u64(out, of, "ci95_allocs", estimate->ci95_allocs);
	if (of_process) {
		json_out_u64(out, of, "ci95_frees", estimate->ci95_frees);
		json_out_u64(out, of, "shown_interval", estimate->shown_interval);
	}
	json_out_add(out, json, "estimate", of);
}
