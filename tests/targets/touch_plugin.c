/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A library for loads.c and swaps.c, built twice with another PLUGIN_NAME each, and with PADDING
 * bytes more of code behind the function, by which the two differ in executable pages, as two files
 * mostly do.
 */
#include <stddef.h>

void PLUGIN_NAME(volatile char *at, size_t pages);

void PLUGIN_NAME(volatile char *at, size_t pages)
{
	for (size_t i = 0; i < pages; i++)
		at[i * 4096] = 1;
}

#define TEXT(x) #x
#define PAD(bytes) __asm__(".section .padding, \"ax\"\n.space " TEXT(bytes) "\n.text\n")
PAD(PADDING);
