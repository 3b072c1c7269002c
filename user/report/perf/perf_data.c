/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * perf.data as `perf record` writes it (Linux, tools/perf/Documentation/perf.data-file-format.txt
 * and include/uapi/linux/perf_event.h), for perf report, perf script and what else reads it: of
 * allocations an event for each of their quantities, a sample a stack whose period is the value.
 * Readers look symbols up themselves, by the build IDs of the mappings that are written with them.
 *
 * Sizes stand before what they are of, so that all is made twice: to be counted, then written.
 */
#include "base/interns.h"
#include "base/strbuf.h"
#include "config/words.h"
#include "model/mappings.h"
#include "report/samples.h"
#include "report/text/text.h"
#include "report/writers.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/mman.h>

#define MAGIC 0x32454c4946524550ULL /* "PERFILE2" */
#define SAMPLE_TYPE                                                                                \
	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |            \
	 PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN)
#define MISC_MMAP_BUILD_ID (1 << 14) /* PERF_RECORD_MISC_MMAP_BUILD_ID, since Linux 5.12 */
#define MISC_COMM_EXEC (1 << 13)

/* Bits of the header, and the order of what they say is there: tools/perf/util/header.h. */
enum {
	FEATURE_HOSTNAME = 3,
	FEATURE_OSRELEASE = 4,
	FEATURE_VERSION = 5,
	FEATURE_CMDLINE = 11,
	FEATURE_EVENT_DESC = 12,
};

struct section {
	uint64_t offset, size;
};

struct file_header {
	uint64_t magic, size, attr_size;
	struct section attrs, data, event_types;
	uint64_t features[4];
};

struct file_attr {
	struct perf_event_attr attr;
	struct section ids;
};

/* What stands behind each record that is no sample. */
struct trailer {
	uint32_t pid, tid;
	uint64_t time_ns, id;
};

struct perf_data {
	const struct view *view;
	const struct view_event *event; /* NULL: allocations */
	struct sample_cost_list list;	/* an event of the file for each; their ids are from 1 on */
	FILE *file;			/* NULL: only counted */
	uint64_t size;
	struct interns images;		   /* that have samples */
	const struct model_process *image; /* whose records come now */
	struct interns mappings;	   /* of the image that were written */
	bool maps;			   /* they are collected, samples come later */
	VEC(uint64_t) chain;
};

struct mapping_key {
	uint64_t start, end, file_offset;
	const struct model_object *object;
};

static void put_bytes(struct perf_data *data, const void *bytes, size_t len)
{
	if (data->file && len > 0)
		fwrite(bytes, 1, len, data->file);
	data->size += len;
}

/* Text with its end, filled up to eight bytes. */
static void put_text(struct perf_data *data, const char *text, size_t len)
{
	static const char zeros[8];

	put_bytes(data, text, len);
	put_bytes(data, zeros, 8 - len % 8);
}

static void put_header(struct perf_data *data, uint32_t type, uint16_t misc, size_t len)
{
	const struct perf_event_header header = { type, misc, (uint16_t)(sizeof(header) + len) };

	put_bytes(data, &header, sizeof(header));
}

static void put_trailer(struct perf_data *data)
{
	const struct model_process *image = data->image;
	const struct trailer trailer = { image->pid, image->pid, image->start_ns, 1 };

	put_bytes(data, &trailer, sizeof(trailer));
}

/* An exec drops what was mapped before. */
static int put_comm(struct perf_data *data)
{
	const uint32_t ids[2] = { data->image->pid, data->image->pid };
	_cleanup_strbuf_ struct strbuf comm = { 0 };
	size_t len;

	escape_text(&comm, *data->image->comm ? data->image->comm : "unknown");
	if (strbuf_error(&comm) < 0)
		return strbuf_error(&comm);
	len = comm.len < 15 ? comm.len : 15;
	put_header(data, PERF_RECORD_COMM, MISC_COMM_EXEC,
		   sizeof(ids) + len + 8 - len % 8 + sizeof(struct trailer));
	put_bytes(data, ids, sizeof(ids));
	put_text(data, strbuf_str(&comm), len);
	put_trailer(data);
	return 0;
}

/* Paths longer than this are none that the kernel takes. */
#define PATH_LEN 4000

static int put_mapping(struct perf_data *data, const struct mapping *mapping)
{
	const struct mapping_key key = { mapping->start, mapping->end, mapping->file_offset,
					 mapping->object };
	const struct model_object *object = mapping->object;
	struct {
		uint32_t pid, tid;
		uint64_t addr, len, pgoff;
		uint8_t build_id_size, reserved[3], build_id[20];
		uint32_t prot, flags;
	} record = { data->image->pid,
		     data->image->pid,
		     key.start,
		     key.end - key.start,
		     key.file_offset,
		     0,
		     { 0 },
		     { 0 },
		     PROT_READ | PROT_EXEC,
		     MAP_PRIVATE };
	uint16_t misc = PERF_RECORD_MISC_USER;
	size_t len = text_path_length(object->path), index;
	int r = interns_add(&data->mappings, &key, sizeof(key), &index);

	if (r != 1)
		return r;
	if (len > PATH_LEN)
		len = PATH_LEN;
	if (object->build_id_len > 0 && object->build_id_len <= sizeof(record.build_id)) {
		record.build_id_size = object->build_id_len;
		memcpy(record.build_id, object->build_id, object->build_id_len);
		misc |= MISC_MMAP_BUILD_ID;
	}
	put_header(data, PERF_RECORD_MMAP2, misc,
		   sizeof(record) + len + 8 - len % 8 + sizeof(struct trailer));
	put_bytes(data, &record, sizeof(record));
	put_text(data, object->path, len);
	put_trailer(data);
	return 0;
}

static int put_mappings(struct perf_data *data, const struct view_stack *stack)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < stack->n_places; i++) {
		const struct view_place *place = view_stack_place(stack, i);

		if (place->mapping && place->mapping->object &&
		    !model_object_is_kernel(place->mapping->object))
			r = put_mapping(data, place->mapping);
	}
	return r;
}

/*
 * Addresses, innermost first, behind words that say whose they are; a call's is its last byte. Of a
 * site the first is the function that names it: readers show what a sample costs there.
 */
static int fill_chain(struct perf_data *data, const struct sample *sample)
{
	const struct view_stack *stack = sample->stack;
	uint64_t context = 0;
	int r = 0;

	data->chain.len = 0;
	for (size_t i = stack->name.place; r == 0 && i < stack->n_places; i++) {
		const struct view_place *place = view_stack_place(stack, i);
		bool is_kernel = place->mapped && model_object_is_kernel(place->mapped);
		uint64_t whose =
			is_kernel ? (uint64_t)PERF_CONTEXT_KERNEL : (uint64_t)PERF_CONTEXT_USER;

		if (!place->has_addr)
			continue;
		if (whose != context)
			r = vec_push(&data->chain, whose);
		context = whose;
		if (r == 0)
			r = vec_push(&data->chain, place->addr - place->is_call);
	}
	return r;
}

static void put_sample(struct perf_data *data, uint64_t id, uint64_t period)
{
	const struct model_process *image = data->image;
	uint64_t end_ns = image->ended ? image->end_ns : view_now_ns(data->view);
	const struct {
		uint64_t id, ip;
		uint32_t pid, tid;
		uint64_t time_ns, period, n;
	} record = {
		.id = id,
		.ip = data->chain.len > 1 ? data->chain.data[1] : 0,
		.pid = image->pid,
		.tid = image->pid,
		.time_ns = end_ns > image->start_ns ? end_ns : image->start_ns + 1,
		.period = period,
		.n = data->chain.len,
	};
	bool is_kernel =
		data->chain.len > 0 && data->chain.data[0] == (uint64_t)PERF_CONTEXT_KERNEL;
	size_t len = data->chain.len * sizeof(*data->chain.data);

	put_header(data, PERF_RECORD_SAMPLE,
		   is_kernel ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER,
		   sizeof(record) + len);
	put_bytes(data, &record, sizeof(record));
	put_bytes(data, data->chain.data, len);
}

static int add_sample(const struct sample *sample, void *userdata)
{
	struct perf_data *data = userdata;
	uint64_t costs[SAMPLE_COSTS];
	int r;

	if (sample->image != data->image || sample_costs(sample, costs) == 0)
		return 0;
	if (data->maps)
		return put_mappings(data, sample->stack);
	r = fill_chain(data, sample);
	for (size_t i = 0; r == 0 && i < data->list.n; i++)
		if (costs[data->list.costs[i]] > 0)
			put_sample(data, i + 1, costs[data->list.costs[i]]);
	return r;
}

static int put_image(struct perf_data *data)
{
	int r = put_comm(data);

	interns_done(&data->mappings);
	data->maps = true;
	if (r == 0)
		r = samples_of_classes(data->view, add_sample, data);
	data->maps = false;
	return r < 0 ? r : samples_of_classes(data->view, add_sample, data);
}

static int add_image(const struct sample *sample, void *userdata)
{
	struct perf_data *data = userdata;
	size_t index;
	int r = interns_add(&data->images, &sample->image, sizeof(sample->image), &index);

	return r < 0 ? r : 0;
}

static int compare_starts(const void *a, const void *b)
{
	const struct model_process *x = *(const struct model_process *const *)a;
	const struct model_process *y = *(const struct model_process *const *)b;

	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	return (x->id.n > y->id.n) - (x->id.n < y->id.n);
}

/* Images that had one pid after the other come as they ran. */
static int put_images(struct perf_data *data)
{
	size_t n = interns_count(&data->images);
	_cleanup_free_ const struct model_process **images = calloc(n + 1, sizeof(*images));
	int r = images ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && i < n; i++)
		memcpy(&images[i], interns_get(&data->images, i), sizeof(*images));
	if (r == 0)
		qsort(images, n, sizeof(*images), compare_starts);
	for (size_t i = 0; r == 0 && i < n; i++) {
		data->image = images[i];
		r = put_image(data);
	}
	return r;
}

static struct perf_event_attr attr_of(void)
{
	return (struct perf_event_attr){
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(struct perf_event_attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = 1,
		.sample_type = SAMPLE_TYPE,
		.sample_id_all = 1,
		.mmap = 1,
		.mmap2 = 1,
		.comm = 1,
		.comm_exec = 1,
		.build_id = 1,
	};
}

static void put_u32(struct perf_data *data, uint32_t value)
{
	put_bytes(data, &value, sizeof(value));
}

/* As perf has strings in its header: how long, with the filling. */
static void put_string(struct perf_data *data, const char *text)
{
	size_t len = strlen(text);

	put_u32(data, (uint32_t)(len + 8 - len % 8));
	put_text(data, text, len);
}

static int put_event_names(struct perf_data *data)
{
	const struct perf_event_attr attr = attr_of();

	put_u32(data, (uint32_t)data->list.n);
	put_u32(data, sizeof(attr));
	for (size_t i = 0; i < data->list.n; i++) {
		_cleanup_strbuf_ struct strbuf name = { 0 };
		const uint64_t id = i + 1;

		if (data->event)
			escape_text(&name, data->event->asked->name);
		else
			strbuf_addf(&name, "memtraced-%s",
				    sample_cost_id(data->view, data->list.costs[i]));
		if (strbuf_error(&name) < 0)
			return strbuf_error(&name);
		put_bytes(data, &attr, sizeof(attr));
		put_u32(data, 1);
		put_string(data, strbuf_str(&name));
		put_bytes(data, &id, sizeof(id));
	}
	return 0;
}

/* Counts what `part` makes, or writes it. */
static int measure(struct perf_data *data, int (*part)(struct perf_data *data), uint64_t *ret_size)
{
	FILE *file = data->file;
	int r;

	data->file = NULL;
	data->size = 0;
	r = part(data);
	data->file = file;
	*ret_size = data->size;
	return r;
}

/*
 * Files of perf always have it, and hotspot's reader (perfparser) takes one without for one from
 * before there were features, whose only section are build IDs. It is not recorded.
 */
static int put_host(struct perf_data *data)
{
	put_string(data, "unknown");
	return 0;
}

static int put_release(struct perf_data *data)
{
	const struct record_run *run = model_run(view_model(data->view));

	put_string(data, run && run->kernel ? run->kernel : "unknown");
	return 0;
}

static int put_version(struct perf_data *data)
{
	const struct record_run *run = model_run(view_model(data->view));

	put_string(data, run ? run->tool : "memtraced");
	return 0;
}

static int put_clean(struct perf_data *data, const char *text)
{
	_cleanup_strbuf_ struct strbuf clean = { 0 };

	escape_text(&clean, text);
	put_string(data, strbuf_str(&clean));
	return strbuf_error(&clean);
}

/* Of the program that the run was of; NULL when it was of none, or of several. */
static const char *root_command(const struct view *view)
{
	const struct model_process *root = NULL;

	for (size_t i = 0; i < view_n_processes(view); i++) {
		const struct model_process *image = view_process(view, i)->image;

		if (image->root && root && image->pid != root->pid)
			return NULL;
		if (image->root && !root)
			root = image;
	}
	return root ? model_command(view_model(view), root->id) : NULL;
}

/*
 * Perf's own command there has the program's at its end, which is what readers look for. A run of
 * many processes has the tool's name.
 */
static int put_command(struct perf_data *data)
{
	const struct record_run *run = model_run(view_model(data->view));
	const char *command = root_command(data->view);
	char **words = NULL;
	uint32_t n = 0;
	int r;

	r = command ? words_split(command, &words) : 0;
	/* What the process has made of its command need not be one. */
	if (r == -EINVAL)
		r = 0;
	if (r < 0)
		return r;
	while (words && words[n])
		n++;
	put_u32(data, n > 0 ? n : 1);
	for (uint32_t i = 0; r == 0 && i < n; i++)
		r = put_clean(data, words[i]);
	if (n == 0)
		r = put_clean(data, command ? command : run ? run->tool : "memtraced");
	words_free(words);
	return r;
}

static int put_file(struct perf_data *data)
{
	static int (*const features[])(struct perf_data * data) = {
		put_host, put_release, put_version, put_command, put_event_names,
	};
	const size_t n = data->list.n, n_features = sizeof(features) / sizeof(features[0]);
	struct file_header header = {
		.magic = MAGIC,
		.size = sizeof(header),
		.attr_size = sizeof(struct file_attr),
		.attrs = { sizeof(header) + n * sizeof(uint64_t), n * sizeof(struct file_attr) },
		.features = { 1 << FEATURE_HOSTNAME | 1 << FEATURE_OSRELEASE |
			      1 << FEATURE_VERSION | 1 << FEATURE_CMDLINE |
			      1 << FEATURE_EVENT_DESC },
	};
	struct section section;
	int r;

	header.data.offset = header.attrs.offset + header.attrs.size;
	r = measure(data, put_images, &header.data.size);
	if (r < 0)
		return r;
	put_bytes(data, &header, sizeof(header));
	for (uint64_t id = 1; id <= n; id++)
		put_bytes(data, &id, sizeof(id));
	for (size_t i = 0; i < n; i++) {
		const struct file_attr attr = {
			attr_of(), { sizeof(header) + i * sizeof(uint64_t), sizeof(uint64_t) }
		};

		put_bytes(data, &attr, sizeof(attr));
	}
	r = put_images(data);
	section.offset = header.data.offset + header.data.size + n_features * sizeof(section);
	for (size_t i = 0; r == 0 && i < n_features; i++) {
		r = measure(data, features[i], &section.size);
		put_bytes(data, &section, sizeof(section));
		section.offset += section.size;
	}
	for (size_t i = 0; r == 0 && i < n_features; i++)
		r = features[i](data);
	return r;
}

int perf_data_write(const struct view *view, FILE *file)
{
	struct perf_data data = { .view = view, .file = file };
	int r;

	if (!view_job(view, &data.event))
		return 0;
	data.list = sample_cost_list(view);
	r = samples_of_classes(view, add_image, &data);
	if (r == 0)
		r = put_file(&data);
	interns_done(&data.images);
	interns_done(&data.mappings);
	vec_done(&data.chain);
	return r == 0 && ferror(file) ? -EIO : r;
}
