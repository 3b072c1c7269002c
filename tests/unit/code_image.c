/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "code_image.h"

#include <string.h>

static const char *const slot_names[] = { "malloc", "free",   "realloc", "_Znwm",
					  "abort",  "memset", NULL };

static size_t image_read(void *ctx, uint64_t addr, void *buf, size_t len)
{
	const struct code_image *image = ctx;

	if (addr < BASE || addr >= BASE + image->len)
		return 0;
	if (len > BASE + image->len - addr)
		len = BASE + image->len - addr;
	memcpy(buf, image->bytes + (addr - BASE), len);
	return len;
}

static const char *image_slot_name(void *ctx, uint64_t slot)
{
	(void)ctx;
	if (slot < SLOTS || (slot - SLOTS) / 8 >= sizeof(slot_names) / sizeof(slot_names[0]))
		return NULL;
	return slot_names[(slot - SLOTS) / 8];
}

static const char *image_function_name(void *ctx, uint64_t addr)
{
	(void)ctx;
	switch (addr - BASE) {
	case LOCAL_MALLOC:
		return "malloc";
	case LOCAL_NEW:
		return "_Znwm";
	case LOCAL_HELPER:
		return "helper";
	case LOCAL_ABORT:
		return "abort";
	default:
		return NULL;
	}
}

static bool image_starts_function(void *ctx, uint64_t addr)
{
	const struct code_image *image = ctx;

	return addr == BASE || (image->starts && addr == BASE + image->starts) ||
	       image_function_name(ctx, addr);
}

static uint64_t image_landing_pad(void *ctx, uint64_t addr)
{
	const struct code_image *image = ctx;

	return image->pad && addr == BASE + image->pad_of ? BASE + image->pad : 0;
}

void code_image_finish(struct code_image *image)
{
	static const uint8_t stubs[] = {
		[STUB_MALLOC] = SLOT_JMP(STUB_MALLOC, 0),
		[STUB_FREE] = SLOT_JMP(STUB_FREE, 1),
		[STUB_REALLOC] = 0xf3,
		0x0f,
		0x1e,
		0xfa,
		SLOT_JMP(STUB_REALLOC + 4, 2),
		[STUB_NEW] = SLOT_JMP(STUB_NEW, 3),
		[STUB_ABORT] = SLOT_JMP(STUB_ABORT, 4),
		[STUB_MEMSET] = SLOT_JMP(STUB_MEMSET, 5),
		[STUB_NAMELESS] = SLOT_JMP(STUB_NAMELESS, 6),
		[LOCAL_MALLOC] = RET,
		[LOCAL_NEW] = RET,
		[LOCAL_HELPER] = RET,
		[LOCAL_ABORT] = RET,
	};

	memcpy(image->bytes + STUB_MALLOC, stubs + STUB_MALLOC, sizeof(stubs) - STUB_MALLOC);
	image->len = IMAGE_BYTES;
}

struct sites_code code_image_view(struct code_image *image)
{
	return (struct sites_code){
		.ctx = image,
		.read = image_read,
		.slot_name = image_slot_name,
		.function_name = image_function_name,
		.starts_function = image_starts_function,
		.landing_pad = image_landing_pad,
	};
}
