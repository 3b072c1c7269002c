# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of other areas with commands that are counted by the library in place of probes: their
numbers are the same. What the library does not have is a skip."""

import zlib

import test_accounting
import test_allocators
import test_crashes
import test_cuts
import test_follow
import test_free_stacks
import test_heap_errors
import test_leak_check
import test_nesting
from lib import ATTACH_PATHS, TESTS, as_users_do, need_root, test, variable

BESIDE_OTHERS = True
TRANSLATES = True  # as leak_check's

AREAS = [module.__name__.removeprefix("test_") for module in
         (test_accounting, test_allocators, test_crashes, test_cuts, test_follow, test_free_stacks,
          test_heap_errors, test_leak_check, test_nesting)]
# By the library all paths are one.
OTHER_PATHS = tuple(f" {path}]" for path in ATTACH_PATHS if path != "multi")
OTHERS = {one.name: one for one in TESTS if one.area in AREAS and
          not one.name.replace("[", " ").endswith(OTHER_PATHS)}


# Those whose turn it is are of several areas.
SHUFFLED = sorted(OTHERS, key=lambda name: zlib.crc32(name.encode()))


@test(need_root, each=SHUFFLED, in_turn=4, timeout=max(one.timeout for one in OTHERS.values()))
def by_the_library(name):
    with variable("MEMTRACED_TEST_EXACT", "library"), as_users_do():
        OTHERS[name].run()
