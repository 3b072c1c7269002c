/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One of the 200 libraries of a large process, named by -DNUMBER=: functions with frames of their
 * own, so that it has unwind tables.
 */
#define JOINED(a, b) a##b
#define NAMED(a, b) JOINED(a, b)

int NAMED(library_leaf_, NUMBER)(volatile char *bytes, int n);
int NAMED(library_entry_, NUMBER)(int n);

int __attribute__((noinline)) NAMED(library_leaf_, NUMBER)(volatile char *bytes, int n)
{
	return bytes[n & 63] + NUMBER;
}

int NAMED(library_entry_, NUMBER)(int n)
{
	volatile char bytes[64] = { (char)n };

	return NAMED(library_leaf_, NUMBER)(bytes, n) + bytes[n & 31];
}
