/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Allocates until a timer's signal has come N times; its handler makes one system call, getppid.
 * Many of these signals interrupt the return from a function that is probed.
 */
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>
#include <unistd.h>

static volatile sig_atomic_t handled;

static void handle(int number)
{
	(void)number;
	(void)getppid();
	handled++;
}

int main(int argc, char **argv)
{
	const struct itimerval timer = { { 0, 500 }, { 0, 500 } };
	const struct sigaction action = { .sa_handler = handle };
	int n = argc > 1 ? atoi(argv[1]) : 1;

	if (sigaction(SIGALRM, &action, NULL) < 0 || setitimer(ITIMER_REAL, &timer, NULL) < 0)
		return 1;
	while (handled < n)
		free(realloc(malloc(10), 20000));
	return 0;
}
