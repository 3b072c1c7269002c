/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * OTLP's profiles, for who pushes them: the request of a ProfilesService, and its answer. Of
 * opentelemetry-proto 1.10.0, whose profiles are in development: no other version has their fields.
 */
#ifndef MEMTRACED_REPORT_OTLP_OTLP_H
#define MEMTRACED_REPORT_OTLP_OTLP_H

#include "report/profile_part.h"

/* Of the resource: the process. */
struct otlp_attribute {
	const char *key, *value;
	bool is_number;
};

/*
 * An ExportProfilesServiceRequest, gzipped: of each value of the profile's samples a profile of its
 * own, as they have one there. Results as of pprof_write_part.
 */
int otlp_write_part(const struct view *view, const struct profile_part *part,
		    const struct otlp_attribute *attributes, size_t n_attributes, FILE *file);

/*
 * An ExportProfilesServiceResponse: how many profiles were rejected, with the server's words
 * appended as they are. What is none says nothing of the kind: 0.
 */
uint64_t otlp_answer_rejected(const struct strbuf *answer, struct strbuf *words);

#endif
