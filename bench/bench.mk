# SPDX-License-Identifier: GPL-2.0-or-later
#
# What `make bench` measures memtraced on. Optimised, as what users run is, and without frame
# pointers where the compiler leaves them out.

BENCH_DIR := $(O)/bench/workloads
BENCH_CFLAGS = -O2 -g $(WARNINGS) -D_GNU_SOURCE
BENCH_PROGRAMS := $(patsubst %,$(BENCH_DIR)/%,\
	timed timed-dynamic pairs stress stamp syscalls blocks processes sites libs rows large yardstick)
BENCH_PROGRAMS += $(BENCH_DIR)/interpose.so
# A row that cannot be built is left out of the table, which says so.
BENCH_PROGRAMS += $(if $(shell command -v rustc),$(BENCH_DIR)/trees)

BENCH_LIBRARIES := $(patsubst %,$(BENCH_DIR)/libraries/lib%.so,$(shell seq 200))

.PHONY: bench-programs
bench-programs: $(BENCH_PROGRAMS) $(BENCH_LIBRARIES)

$(BENCH_DIR)/timed: bench/workloads/timed.c
	$(call say,BENCH,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(BENCH_CFLAGS) -static -s -o $@ $<

$(BENCH_DIR)/timed-dynamic: bench/workloads/timed.c
	$(call say,BENCH,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(BENCH_CFLAGS) -s -o $@ $<

$(BENCH_LIBRARIES): $(BENCH_DIR)/libraries/lib%.so: bench/workloads/library.c
	$(call say,BENCH,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(BENCH_CFLAGS) -DNUMBER=$* -fPIC -shared -o $@ $<

$(BENCH_DIR)/interpose.so: bench/workloads/interpose.c
	$(call say,BENCH,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(BENCH_CFLAGS) -fno-builtin -fPIC -shared -o $@ $<

$(BENCH_DIR)/sites: bench/workloads/sites.c
	$(call say,BENCH,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(BENCH_CFLAGS) -fno-omit-frame-pointer -o $@ $<

$(O)/bench/yardstick.bpf.o: bench/workloads/yardstick.bpf.c
	$(call say,BPF,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CLANG) $(BPF_CFLAGS) -I/usr/include/$(shell $(CC) -dumpmachine) -c -o $@ $<

$(O)/bench/yardstick.skel.h: $(O)/bench/yardstick.bpf.o
	$(call say,SKEL,$@)
	$(Q)$(BPFTOOL) gen skeleton $< name yardstick_bpf > $@

# -fcf-protection would put endbr64, which is single-stepped, before the probed function's push.
$(BENCH_DIR)/pairs $(BENCH_DIR)/yardstick: bench/workloads/frames.h

$(BENCH_DIR)/yardstick: bench/workloads/yardstick.c $(O)/bench/yardstick.skel.h
	$(call say,BENCH,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(BENCH_CFLAGS) -fno-omit-frame-pointer -fno-optimize-sibling-calls \
		-fcf-protection=none -I$(O) -o $@ $< $(shell $(PKG_CONFIG) --cflags --libs libbpf)

# It measures the product's own code.
$(BENCH_DIR)/rows: $(O)/bench/workloads/rows.o $(LIB)
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(ALLOCATOR) $(ALL_LIBS)

$(BENCH_DIR)/large: $(O)/bench/workloads/large.o $(O)/tests/replay/many_sites.o $(LIB)
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(ALLOCATOR) $(ALL_LIBS) -lcmocka

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
	$(Q)MAKEFLAGS= rustc -C opt-level=2 -o $@ $<
