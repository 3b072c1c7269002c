/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calls C++'s operator new where a preloaded library has one, though this program has no run-time
 * library of C++, and prints the error that dlerror() then has.
 */
#include "target.h"

#include <dlfcn.h>
#include <stdio.h>

/* operator new(std::size_t) and operator delete(void *), by the Itanium ABI's names. */
extern void *_Znwm(size_t size) __attribute__((weak));
extern void _ZdlPv(void *block) __attribute__((weak));

int main(void)
{
	const char *error;

	if (_Znwm && _ZdlPv)
		_ZdlPv(_Znwm(8));
	error = dlerror();
	printf("operators %s, error %s\n", _Znwm ? "called" : "absent", error ? error : "none");
	return 0;
}
