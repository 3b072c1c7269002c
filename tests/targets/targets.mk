# SPDX-License-Identifier: GPL-2.0-or-later
#
# The targets of the live tests. Each C target is linked with wrap.o by ld's --wrap, which counts the
# program's own calls; libcounter.so counts all of a process's when it is preloaded.

TARGETS_DIR := $(O)/tests/targets
WRAPPED := malloc free calloc realloc reallocarray memalign aligned_alloc posix_memalign valloc pvalloc
WRAP_FLAGS := $(foreach name,$(WRAPPED),-Wl,--wrap=$(name))
WRAP_SRC := tests/targets/wrap.c
TARGET_HEADERS := $(wildcard tests/targets/*.h)

TARGET_PROGRAMS := $(patsubst tests/targets/%.c,$(TARGETS_DIR)/%,\
	$(filter-out $(patsubst %,tests/targets/%.c,counter wrap plugin killer static noheap \
	frames frames_plugin),\
	$(wildcard tests/targets/*.c)))
TARGET_OTHERS := $(patsubst %,$(TARGETS_DIR)/%,\
	libcounter.so libcounter-next.so libkiller.so libplug_a.so libplug_b.so static static-stripped noheap exceptions \
	frames frames-static frames-static-pie libframes_a.so libframes_b.so)

.PHONY: targets
targets: $(TARGET_PROGRAMS) $(TARGET_OTHERS)

$(TARGET_PROGRAMS): $(TARGETS_DIR)/%: tests/targets/%.c $(WRAP_SRC) $(TARGET_HEADERS)
	$(call say,TARGET,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(TARGET_CFLAGS) $(WRAP_FLAGS) -o $@ $< $(WRAP_SRC) -pthread -ldl

$(TARGETS_DIR)/static: tests/targets/static.c $(WRAP_SRC) $(TARGET_HEADERS)
	$(call say,TARGET,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(TARGET_CFLAGS) $(WRAP_FLAGS) -static -o $@ $< $(WRAP_SRC)

$(TARGETS_DIR)/static-stripped: $(TARGETS_DIR)/static
	$(call say,STRIP,$@)
	$(Q)$(STRIP) -o $@ $<

$(TARGETS_DIR)/noheap: tests/targets/noheap.c
	$(call say,TARGET,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(TARGET_CFLAGS) -static -nostdlib -ffreestanding -fno-stack-protector -o $@ $<

# -O2: its functions jump to glibc's instead of calling them, as other interposers do.
$(TARGETS_DIR)/libcounter.so: tests/targets/counter.c $(TARGET_HEADERS)
	$(call say,TARGET,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(TARGET_CFLAGS) -O2 -fPIC -shared -o $@ $< -ldl

$(TARGETS_DIR)/libcounter-next.so: tests/targets/counter.c $(TARGET_HEADERS)
	$(call say,TARGET,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(TARGET_CFLAGS) -O2 -DCOUNT_NEXT -fPIC -shared -o $@ $< -ldl

$(TARGETS_DIR)/libkiller.so: tests/targets/killer.c
	$(call say,TARGET,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(TARGET_CFLAGS) -fPIC -shared -o $@ $<

$(TARGETS_DIR)/libplug_%.so: tests/targets/plugin.c
	$(call say,TARGET,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(TARGET_CFLAGS) -DPLUGIN_NAME=leak_from_$* \
		-DPLUGIN_SIZE=$(if $(filter a,$*),1111,2222) -fPIC -shared -o $@ $<

$(TARGETS_DIR)/exceptions: tests/targets/exceptions.cc $(TARGET_HEADERS)
	$(call say,TARGET,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX) $(TARGET_CFLAGS) -std=gnu++17 -o $@ $<

# As distributions build: optimised, without frame pointers.
FRAMES_CFLAGS := -O2 -g -fno-builtin -fomit-frame-pointer -Wall -Wextra -Werror -D_GNU_SOURCE -I.

$(TARGETS_DIR)/frames: tests/targets/frames.c $(TARGET_HEADERS)
	$(call say,TARGET,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(FRAMES_CFLAGS) -o $@ $< -pthread -ldl

$(TARGETS_DIR)/frames-static: tests/targets/frames.c $(TARGET_HEADERS)
	$(call say,TARGET,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(FRAMES_CFLAGS) -DSTATIC -static -o $@ $< -pthread

$(TARGETS_DIR)/frames-static-pie: tests/targets/frames.c $(TARGET_HEADERS)
	$(call say,TARGET,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(FRAMES_CFLAGS) -DSTATIC -fPIE -static-pie -o $@ $< -pthread

$(TARGETS_DIR)/libframes_%.so: tests/targets/frames_plugin.c
	$(call say,TARGET,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(FRAMES_CFLAGS) -DINNER=inner_$* -DSIZE=$(if $(filter a,$*),1006,1007) \
		-DROOM=$(if $(filter a,$*),300,2000) -fPIC -shared -o $@ $<
