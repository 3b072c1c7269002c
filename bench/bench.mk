# SPDX-License-Identifier: GPL-2.0-or-later
#
# What `make bench` measures memtraced on. Optimised, as what users run is, and without frame
# pointers where the compiler leaves them out.

BENCH_DIR := $(O)/bench/workloads
BENCH_CFLAGS := -O2 -g -Wall -Wextra -Werror -D_GNU_SOURCE
BENCH_PROGRAMS := $(patsubst %,$(BENCH_DIR)/%,timed pairs stress)
# A row that cannot be built is left out of the table, which says so.
BENCH_PROGRAMS += $(if $(shell command -v rustc),$(BENCH_DIR)/trees)

.PHONY: bench-programs
bench-programs: $(BENCH_PROGRAMS)

$(BENCH_DIR)/timed: bench/workloads/timed.c
	$(call say,BENCH,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(BENCH_CFLAGS) -static -s -o $@ $<

$(BENCH_DIR)/%: bench/workloads/%.c
	$(call say,BENCH,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(BENCH_CFLAGS) -o $@ $< -pthread -ldl

$(BENCH_DIR)/%: bench/workloads/%.cc
	$(call say,BENCH,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX) $(BENCH_CFLAGS) -std=gnu++17 -o $@ $<

$(BENCH_DIR)/%: bench/workloads/%.rs
	$(call say,BENCH,$@)
	$(Q)mkdir -p $(@D)
	$(Q)rustc -C opt-level=2 -o $@ $<
