/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A loop of one cheap system call: syscalls read|getppid COUNT. read takes a byte of /dev/zero.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	long count = argc == 3 ? atol(argv[2]) : 0;
	int zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	char byte;

	if (count <= 0 || zero < 0)
		return 2;
	if (strcmp(argv[1], "read") == 0) {
		for (long i = 0; i < count; i++) {
			if (read(zero, &byte, 1) != 1)
				return 1;
		}
	} else if (strcmp(argv[1], "getppid") == 0) {
		for (long i = 0; i < count; i++)
			(void)syscall(SYS_getppid); /* cannot fail */
	} else {
		return 2;
	}
	return 0;
}
