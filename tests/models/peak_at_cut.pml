/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The peak of a process at a cut: proc_enter_cut() in bpf/process.bpf.h and shared_peak_at_cut() in
 * trace/live/slots/shared_state.c, all interleavings. docs/hacking/accounting.md has the argument in
 * words.
 *
 * Two programs that run after the cut each save the peak, unless it is saved, and raise it. A report
 * reads it at any time: it must find what it was at the cut. Values of a saved peak before the cut
 * are 0.
 *
 * READ_LATE: a program reads the peak after it has claimed the cut. NO_BUSY: readers take a claimed
 * cut for a saved one. EPOCH_FIRST: a report looks whether the peak is saved before it reads it.
 * With each of them the checker must find a fault.
 */
#define AT_CUT 1
#define CUT 2
#define BUSY 1

byte peak = AT_CUT;
byte cut_epoch = 0;
byte cut_peak = 0;

proctype program()
{
	byte seen, read;
	bool claimed = false;

	seen = cut_epoch;
	if
	:: seen == 0 ->
#ifndef READ_LATE
		read = peak;
#endif
		atomic {
			if
			:: cut_epoch == seen ->
#ifdef NO_BUSY
				cut_epoch = CUT;
#else
				cut_epoch = CUT + BUSY;
#endif
				claimed = true
			:: else
			fi
		}
		if
		:: claimed ->
#ifdef READ_LATE
			read = peak;
#endif
			cut_peak = read;
			cut_epoch = CUT
		:: else
		fi
	:: else
	fi;
	atomic { peak = peak + 1 }
}

proctype report()
{
	byte now, epoch;

	do
	::
#ifdef EPOCH_FIRST
		epoch = cut_epoch;
		now = peak;
#else
		now = peak;
		epoch = cut_epoch;
#endif
		if
		:: epoch == CUT -> now = cut_peak; break
		:: epoch == 0 -> break
		:: else /* busy: again */
		fi
	od;
	assert(now == AT_CUT)
}

init
{
	atomic { run program(); run program(); run report() }
}
