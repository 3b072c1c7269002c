/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Programs that test_hold and its kin run under target/hold: each does something that ptrace is
 * prone to disturb, checks for itself that nothing was disturbed, and exits with 0 only then.
 */
#ifndef MEMTRACED_TESTS_UNIT_HOLD_TARGETS_H
#define MEMTRACED_TESTS_UNIT_HOLD_TARGETS_H

/* How much the targets do; the tests expect as many events. */
#define TARGET_CHILDREN 20
#define TARGET_THREADS 50
#define TARGET_SIGNALS 300
#define TARGET_STORM_PARENTS 4
#define TARGET_STORM_CHILDREN 500

/*
 * Runs the target argv[1] and exits, or returns when there is none. Its exit status is 99 for a
 * name that it does not know, and from 100 on for what went wrong. It ends by _exit: the leak check
 * of sanitized builds cannot run under ptrace.
 */
void hold_target_main(int argc, char **argv);

#endif
