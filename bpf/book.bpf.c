// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The probe memtraced:book, by which a process says that it keeps a book of its own (abi_book.h).
 */
#include "vmlinux.h"

#include "kernel_stack.bpf.h"
#include "process.bpf.h"
#include "ring.bpf.h"
#include "usdt.bpf.h"

#include "abi_event.h"

/*
 * Where the probe's argument is: a struct abi_usdt_arg, as words, which all who include the
 * skeleton know. With a value, as of knob_free_stacks.
 */
__weak const volatile __u64 knob_book_fd[2] = { 0, 0 };

SEC("uprobe")
int on_book(struct pt_regs *ctx)
{
	union {
		struct abi_usdt_arg arg;
		__u64 words[2];
	} where;
	struct abi_ev_book ev;
	__u64 fd;

	keep_kernel_stack(ctx);
	where.words[0] = knob_book_fd[0];
	where.words[1] = knob_book_fd[1];
	/* By hand: an initialiser may become data that one of the two builds lacks. */
	ev.pid = current_tgid();
	ev.head.type = ABI_EV_BOOK;
	ev.head.slot = slot_of_pid(ev.pid);
	/* Not one of ours: whoever traces it answers. */
	if (ev.head.slot == ABI_NO_SLOT || !usdt_argument(ctx, &where.arg, &fd))
		return 0;
	ev.head.time_ns = bpf_ktime_get_ns();
	ev.fd = (__s32)fd;
	if (ring_send_now(&ev, sizeof(ev)))
		count_loss(ABI_LOST_RING_FULL);
	return 0;
}
