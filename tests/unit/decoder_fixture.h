/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A decoder of x86-64 code as the state of a group of tests, for cmocka_run_group_tests. */
#ifndef MEMTRACED_TESTS_UNIT_DECODER_FIXTURE_H
#define MEMTRACED_TESTS_UNIT_DECODER_FIXTURE_H

int decoder_setup(void **state);
int decoder_teardown(void **state);

#endif
