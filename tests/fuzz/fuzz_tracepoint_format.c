/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Texts of tracepoints' formats, which modules of the kernel and users of user_events write. */
#include "trace/kernel/tracepoint_format.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int condition)
{
	if (!condition)
		abort();
}

/* What probes will read lies in a record of bounded size. */
static void check_field(const struct tp_format *format, const struct tp_field *field)
{
	check(field->name[0] != '\0' && strspn(field->name, " \t;:[]*") == 0);
	check(tp_format_find(format, field->name) <= field);
	check(field->offset <= 65536 && field->size <= 65536 - field->offset);
	check(field->value_size <= field->size);
	if (field->kind == TP_FIELD_INT)
		check(field->value_size == 1 || field->value_size == 2 || field->value_size == 4 ||
		      field->value_size == 8);
	else
		check(!field->is_pointer && field->value_size == field->size);
	if (field->kind == TP_FIELD_DYNAMIC)
		check(field->size == 4);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_strbuf_ struct strbuf list = { 0 };
	struct tp_format format;

	if (tp_format_parse((const char *)data, size, &format) < 0)
		return 0;
	check(format.name[0] != '\0' && format.n_fields <= 256);
	for (size_t i = 0; i < format.n_fields; i++)
		check_field(&format, &format.fields[i]);
	tp_format_list(&format, TP_FIELD_INT, &list);
	tp_format_done(&format);
	return 0;
}
