/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Joins the terminal of a command's own (target/launch/launch.h: launch_pty) to memtraced's, so
 * that the command has there what a job of the shell has: keys and their signals, output, size,
 * job control. Works on the session's loop without blocking: each direction has a buffer of fixed
 * size, and what does not fit waits where it comes from.
 *
 * While memtraced is in the foreground, its terminal is raw and what is typed goes to the command.
 * In the background, and in a pipeline until the command wants it, memtraced's terminal is as it
 * was, and the command is in the background of its own: its reads stop it (SIGTTIN), and memtraced.
 */
#ifndef MEMTRACED_SERVICE_SESSION_TERMINAL_RELAY_H
#define MEMTRACED_SERVICE_SESSION_TERMINAL_RELAY_H

#include "base/cleanup.h"
#include "base/loop.h"

#include <stdbool.h>

struct launch;
struct terminal_relay;

/*
 * For a launch with a launch_pty. The loop gets SIGCONT, SIGQUIT and SIGTSTP; it does not run any
 * more after the relay's end.
 */
int terminal_relay_new(struct loop *loop, struct launch *launch, struct terminal_relay **ret_relay);
/* Gives memtraced's terminal back as it was. NULL is legal. */
void terminal_relay_free(struct terminal_relay *relay);
DEFINE_CLEANUP(struct terminal_relay, terminal_relay_free)

/* memtraced's terminal has another size (SIGWINCH). */
void terminal_relay_resize(struct terminal_relay *relay);
/*
 * A signal has come to memtraced: one that its terminal sent is also for the command. True when it
 * is for the command alone, which gets the key: it was typed just before the terminal was raw.
 */
bool terminal_relay_pass_signal(struct terminal_relay *relay, const siginfo_t *info);
/* A signal of job control has stopped the command. Returns when memtraced is continued. */
void terminal_relay_command_stopped(struct terminal_relay *relay, int sig);
/*
 * The command has ended: true when what it has written is on memtraced's terminal. Else the loop
 * goes on with it.
 */
bool terminal_relay_drain(struct terminal_relay *relay);

#endif
