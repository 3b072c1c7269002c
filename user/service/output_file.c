/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/output_file.h"

#include "base/outfile.h"
#include "report/packed_out.h"

#include <errno.h>
#include <stdlib.h>

struct output_file {
	struct outfile *file;
	FILE *packed; /* NULL: as it is */
};

int output_file_new(const char *path, uid_t uid, gid_t gid, const struct report_format *format,
		    struct output_file **ret_file)
{
	_cleanup_(output_file_free_p) struct output_file *file = calloc(1, sizeof(*file));
	int r = file ? outfile_new(path, uid, gid, &file->file) : -ENOMEM;

	if (r == 0 && !format->packed)
		r = packed_out_open(path, outfile_stream(file->file), &file->packed);
	if (r < 0)
		return r;
	*ret_file = TAKE_PTR(file);
	return 0;
}

FILE *output_file_stream(struct output_file *file)
{
	return file->packed ? file->packed : outfile_stream(file->file);
}

int output_file_error(struct output_file *file)
{
	int r = outfile_flush(file->file);

	return r < 0 ? r : -EIO;
}

static int end_packing(struct output_file *file)
{
	FILE *packed = TAKE_PTR(file->packed);

	return packed && fclose(packed) != 0 ? -EIO : 0;
}

int output_file_commit(struct output_file *file)
{
	return end_packing(file) < 0 ? output_file_error(file) : outfile_commit(file->file);
}

void output_file_free(struct output_file *file)
{
	if (!file)
		return;
	(void)end_packing(file); /* what is thrown away may be incomplete */
	outfile_free(file->file);
	free(file);
}
