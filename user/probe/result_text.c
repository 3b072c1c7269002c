/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/result_text.h"

#include "base/strbuf.h"
#include "bpf/abi.h"
#include "probe/plan.h"

#include <inttypes.h>

/* By the word of struct pt_regs. */
static const char *register_name(uint16_t offset)
{
	static const char *const names[] = { "r15", "r14", "r13", "r12", "rbp", "rbx", "r11",
					     "r10", "r9",  "r8",  "rax", "rcx", "rdx", "rsi",
					     "rdi", "-",   "rip", "cs",	 "-",	"rsp" };

	return offset / 8 < sizeof(names) / sizeof(names[0]) ? names[offset / 8] : "-";
}

static void add_place(const char *what, const struct abi_usdt_arg *arg, struct strbuf *out)
{
	switch (arg->place) {
	case ABI_USDT_CONSTANT:
		strbuf_addf(out, ", %s %" PRId64, what, (int64_t)arg->value);
		break;
	case ABI_USDT_REGISTER:
		strbuf_addf(out, ", %s in %s", what, register_name(arg->reg));
		break;
	case ABI_USDT_MEMORY:
		strbuf_addf(out, ", %s at [%s+%" PRId64 "]", what, register_name(arg->reg),
			    (int64_t)arg->value);
		break;
	default:
		break;
	}
}

static void add_site(const struct result_site *site, struct strbuf *out)
{
	static const char *const kinds[] = {
		[ABI_RESULT_BEGINS] = "begins",
		[ABI_RESULT_ENDS] = "ends",
		[ABI_RESULT_WHOLE] = "whole",
		[ABI_RESULT_LEAVES] = "leaves",
	};

	strbuf_addf(out, "  0x%-8" PRIx64 " %s", site->addr, kinds[site->see.kind]);
	if (site->see.condition != ABI_RESULT_ALWAYS)
		strbuf_addf(out, " on condition %x", site->see.condition);
	if (site->see.link)
		strbuf_addf(out, " if called before 0x%" PRIx64,
			    site->addr + (uint64_t)(int64_t)site->see.link);
	add_place("size", &site->see.size, out);
	add_place("times", &site->see.factor, out);
	add_place("result", &site->see.result, out);
	add_place("frame pointer", &site->see.fp, out);
	if (site->see.kind != ABI_RESULT_LEAVES)
		strbuf_addf(out, ", %u bytes of stack", site->see.sp_distance);
	strbuf_adds(out, site->is_rare ? ", single-stepped\n" : "\n");
}

static void add_function(const struct plan_probe *probe, struct strbuf *out)
{
	if ((probe->kind & ABI_KIND_MASK) == ABI_FREE)
		strbuf_addf(out, "%s: one, %s%s\n", probe->function,
			    ABI_FRAME_WORDS(probe->args) ? "when it has its frame" : "at its entry",
			    probe->entry_emulated ? "" : ", single-stepped");
	else if (!probe->n_results)
		strbuf_addf(out, "%s: no: %s\n", probe->function,
			    probe->why_no_results ? probe->why_no_results : "not looked for");
	else
		strbuf_addf(out, "%s: yes\n", probe->function);
	for (size_t k = 0; k < probe->n_results; k++)
		add_site(&probe->results[k], out);
	for (size_t k = 0; k < probe->n_left_exits; k++)
		strbuf_addf(out, "  0x%-8" PRIx64 " ends after it has left, single-stepped\n",
			    probe->left_exits[k]);
}

void result_text(const struct plan *plan, const char *path, struct strbuf *out)
{
	strbuf_addf(out, "one trap for an allocation, in %s:\n", path);
	for (size_t i = 0; i < plan->n_probes; i++)
		add_function(&plan->probes[i], out);
}
