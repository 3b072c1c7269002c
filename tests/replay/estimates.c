/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/replay/estimates.h"

#include "tests/record_script.h"

#define APP "/opt/demo/server"
#define INO_APP 11
#define SECOND 1000000000ull

enum { AT_MAKE = 0x71, AT_LOOP };

#define INTERVAL 524288
#define FUNCTION 4

/* What so many live samples of blocks of this size stand for, and seven that are gone. */
static struct record_site estimated_site(uint32_t image, uint64_t stack, int64_t samples,
					 int64_t size)
{
	const int64_t bytes = samples * INTERVAL;
	const int64_t all = bytes + 7 * INTERVAL;

	return (struct record_site){
		.image = { image },
		.fn = FUNCTION,
		.stack = stack,
		.live_bytes = bytes,
		.live_blocks = bytes / size,
		.allocs = (uint64_t)(all / size),
		.bytes = (uint64_t)all,
		.peak_bytes = bytes,
		.oldest_ns = samples > 0 ? 5000000000 : UINT64_MAX,
		.newest_ns = samples > 0 ? 500000000 : UINT64_MAX,
		.blocks_variance = (uint64_t)(bytes / size * INTERVAL / size),
		.allocs_variance = (uint64_t)(all / size * INTERVAL / size),
	};
}

/* A process with these sites, all of one image. */
static void emit_estimated(const struct script *s, const struct record_site *sites, size_t n)
{
	struct record_totals t = { .image = sites->image,
				   .sample_interval = INTERVAL,
				   .sample_shown = INTERVAL };

	for (size_t i = 0; i < n; i++) {
		t.allocs += sites[i].allocs;
		t.bytes += sites[i].bytes;
		t.live_bytes += sites[i].live_bytes;
		t.live_blocks += sites[i].live_blocks;
		t.blocks_variance += sites[i].blocks_variance;
		t.allocs_variance += sites[i].allocs_variance;
	}
	t.frees_variance = t.allocs_variance - t.blocks_variance;
	t.peak_bytes = t.live_bytes;
	t.frees = t.allocs - (uint64_t)t.live_blocks;
	emit_totals(s, t);
	for (size_t i = 0; i < n; i++)
		emit_site(s, sites[i]);
}

static void emit_code(const struct script *s)
{
	emit_map(s, 0, 0x401000, 0x405000, 0x1000, SECOND, APP, INO_APP);
	emit_stack(s, AT_MAKE, 0, SECOND, 0x401189, 0x4011c0);
	emit_stack(s, AT_LOOP, 0, SECOND, 0x401300, 0x4011c0);
	emit_symbol(s, APP, INO_APP, 0x1189, { "make_buf", 0x19, "/src/demo/server.c", 42, false });
	emit_symbol(s, APP, INO_APP, 0x11c0, { "main", 0x20, "/src/demo/server.c", 80, false });
	emit_symbol(s, APP, INO_APP, 0x1300, { "loop", 0x40, NULL, 0, false });
}

static void emit_sampled_run(const struct script *s)
{
	emit(s, &(struct record){ .type = RECORD_RUN,
				  .run = { .tool = "memtraced 0.1.0",
					   .attach_path = "multi",
					   .start_realtime_ns = 1767323045006000000,
					   .start_ns = 1000,
					   .unwinder = "cfi",
					   .sampled = true } });
	emit_function(s, FUNCTION, RECORD_SAMPLED_NAME, "", 0);
	emit_begin(s, 0, 4242, RECORD_NO_IMAGE.n, SCRIPT_ROOT, SECOND, "server");
	emit_code(s);
	emit_begin(s, 1, 4243, 0, SCRIPT_INHERITS, 2 * SECOND, "worker");
	emit_cut(s, 3 * SECOND);
}

void estimated(record_fn fn, void *userdata)
{
	const struct script s = { fn, userdata };
	const struct record_site many[] = { estimated_site(0, AT_MAKE, 400, 1024),
					    estimated_site(0, AT_LOOP, 9, 1048576) };
	const struct record_site gone = estimated_site(1, AT_MAKE, 0, 64);

	emit_sampled_run(&s);
	emit_estimated(&s, many, 2);
	emit_estimated(&s, &gone, 1);
	emit_coverage(&s, false, 1234, NULL, 0);
	emit_cut_end(&s);
}

void estimated_later(record_fn fn, void *userdata)
{
	const struct script s = { fn, userdata };
	const struct record_site more = estimated_site(0, AT_MAKE, 500, 1024);
	const struct record_site few = estimated_site(1, AT_MAKE, 2, 64);

	emit_sampled_run(&s);
	emit_estimated(&s, &more, 1);
	emit_estimated(&s, &few, 1);
	emit_coverage(&s, false, 1400, NULL, 0);
	emit_cut_end(&s);
}
