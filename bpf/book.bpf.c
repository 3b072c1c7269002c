// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The probe memtraced:book, by which a process says that it keeps a book of its own (abi_book.h).
 */
#include "vmlinux.h"

#include "hold.bpf.h"
#include "kernel_stack.bpf.h"
#include "process.bpf.h"
#include "ring.bpf.h"
#include "unwind_find.bpf.h"
#include "usdt.bpf.h"

#include "abi_book.h"
#include "abi_event.h"

/*
 * Where the probe's arguments are: two struct abi_usdt_arg, as words, which all who include the
 * skeleton know. With a value, as of knob_free_stacks.
 */
__weak const volatile __u64 knob_book_args[4] = { 0, 0, 0, 0 };

/* As a number, struct abi_unwind_rule; 0: none. */
VERIFIED_ONCE_NUMBERS __u64 book_rule(__u32 slot, __u64 address)
{
	struct abi_unwind_mapping mapping;
	const struct abi_unwind_object *object = find_object(slot, address, &mapping);
	__u32 number = object ? rule_in_object(object, &mapping, address) : 0;
	const __u64 *rule = bpf_map_lookup_elem(&unwind_rules, &number);

	return number && rule ? *rule : 0;
}

static __always_inline bool book_argument(const struct pt_regs *ctx, __u32 first, __u64 *ret)
{
	union {
		struct abi_usdt_arg arg;
		__u64 words[2];
	} where;

	where.words[0] = knob_book_args[first];
	where.words[1] = knob_book_args[first + 1];
	return usdt_argument(ctx, &where.arg, ret);
}

SEC("uprobe")
int on_book(struct pt_regs *ctx)
{
	struct abi_ev_book ev;
	__u64 fd, value;

	keep_kernel_stack(ctx);
	/* By hand: an initialiser may become data that one of the two builds lacks. */
	ev.pid = current_tgid();
	ev.tid = bpf_get_current_pid_tgid();
	ev.head.type = ABI_EV_BOOK;
	ev.head.slot = slot_of_pid(ev.pid);
	/* Not one of ours: whoever traces it answers. */
	if (ev.head.slot == ABI_NO_SLOT || !book_argument(ctx, 0, &fd) ||
	    !book_argument(ctx, 2, &value))
		return 0;
	ev.fd = (__s32)fd;
	ev.rule = ev.fd == ABI_BOOK_ASKS ? book_rule(ev.head.slot, value) : 0;
	ev.held = ev.fd < 0 && control.hold && hold_thread();
	ev.head.time_ns = bpf_ktime_get_ns();
	if (ring_send_now(&ev, sizeof(ev)))
		count_loss(ABI_LOST_RING_FULL);
	return 0;
}
