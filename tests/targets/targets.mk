# SPDX-License-Identifier: GPL-2.0-or-later
#
# The targets of the live tests. Each C target is linked with wrap.o by ld's --wrap, which counts the
# program's own calls; libcounter.so counts all of a process's when it is preloaded.

TARGETS_DIR := $(O)/tests/targets
WRAPPED := malloc free calloc realloc reallocarray memalign aligned_alloc posix_memalign valloc pvalloc
WRAP_FLAGS := $(foreach name,$(WRAPPED),-Wl,--wrap=$(name))
WRAP_SRC := tests/targets/wrap.c
TARGET_HEADERS := $(wildcard tests/targets/*.h) $(wildcard bpf/abi*.h)

TARGET_PROGRAMS := $(patsubst tests/targets/%.c,$(TARGETS_DIR)/%,\
	$(filter-out $(patsubst %,tests/targets/%.c,counter wrap plugin killer fast_clock stepped_clock static noheap \
	older mallinfo families foreign frames frames_large frames_plugin heap_errors unchecked bounds crashes deaths \
	nesting nesting_malloc pools samples sampler slices pyblocks touch_plugin unwinding),\
	$(wildcard tests/targets/*.c)))
TARGET_OTHERS := $(patsubst %,$(TARGETS_DIR)/%,\
	libcounter.so libcounter-next.so libkiller.so libfast_clock.so libstepped_clock.so libplug_a.so libplug_b.so libtouch_a.so libtouch_b.so static static-stripped noheap bad_alloc exceptions medley own_operators throwing \
	ctor_thread-cc libctor_thread.so \
	nesting nesting-behind libnesting.so heap_errors unchecked bounds crashes deaths \
	frames frames-static frames-static-pie libframes_a.so libframes_b.so \
	libframes_large.so libframes_rows.so libframes_many.so \
	older older-static libmallinfo.so)

GLIB_FLAGS := $(if $(CROSS_COMPILE),,$(shell pkg-config --cflags --libs glib-2.0 2>/dev/null))

RUSTC := $(if $(CROSS_COMPILE),,$(shell command -v rustc))

# One of families.c for each allocator that is installed: its flags. A second word of jemalloc's
# static library is renamed to: as Rust's crate and others build it, beside the C library's malloc.
has_lib = $(filter /%,$(shell $(CC) -print-file-name=$(1) 2>/dev/null))
FAMILIES := glibc glibc-static glibc-static-pie \
	$(if $(CROSS_COMPILE),,$(if $(shell command -v musl-gcc),musl musl-static)) \
	$(if $(call has_lib,libjemalloc.a),jemalloc jemalloc-static jemalloc-je jemalloc-rjem) \
	$(if $(call has_lib,libtcmalloc_minimal.so),tcmalloc tcmalloc-names tcmalloc-static) \
	$(if $(call has_lib,libmimalloc.so),mimalloc mimalloc-names)
FAMILIES_glibc-static := -static
FAMILIES_glibc-static-pie := -static-pie -fPIE
FAMILIES_musl-static := -static
FAMILIES_jemalloc := -DJEMALLOC -ljemalloc
FAMILIES_jemalloc-static := -DJEMALLOC -static -l:libjemalloc.a -lstdc++ -lm
FAMILIES_jemalloc-je = -DJEMALLOC -DPREFIX=je_ $(TARGETS_DIR)/jemalloc-je.a -lstdc++ -lm
FAMILIES_jemalloc-rjem = -DJEMALLOC -DPREFIX=_rjem_ $(TARGETS_DIR)/jemalloc-rjem.a -lstdc++ -lm
FAMILIES_tcmalloc := -ltcmalloc_minimal
FAMILIES_tcmalloc-names := -DTCMALLOC -DPREFIX=tc_ -ltcmalloc_minimal
FAMILIES_tcmalloc-static := -DTCMALLOC -DPREFIX=tc_ -l:libtcmalloc_minimal.a -lstdc++ -lm
FAMILIES_mimalloc := -lmimalloc
FAMILIES_mimalloc-names := -DMIMALLOC -DPREFIX=mi_ -lmimalloc

TARGET_POOLS := $(addprefix $(TARGETS_DIR)/,pools pools-static pools-stripped libpyblocks.so \
	operators mismatches $(if $(GLIB_FLAGS),slices) $(if $(RUSTC),arena arena-plain))

TARGET_OTHERS += $(if $(filter jemalloc-rjem,$(FAMILIES)),$(TARGETS_DIR)/foreign \
	$(if $(RUSTC),$(TARGETS_DIR)/arena-rjem))

TARGET_FAMILIES := $(FAMILIES:%=$(TARGETS_DIR)/families-%)

# One program by several options of the compiler, none of which may change what its stacks are.
UNWINDING := $(if $(filter x86,$(ARCH)),unwinding unwinding-o0 unwinding-o3 unwinding-lto \
	unwinding-realign unwinding-avx unwinding-static)
UNWINDING_MUSL := $(if $(filter x86,$(ARCH)),unwinding-musl)
UNWINDING_CFLAGS = $(filter-out -O1 -fno-omit-frame-pointer,$(TARGET_CFLAGS))
TARGET_OTHERS += $(patsubst %,$(TARGETS_DIR)/%,$(UNWINDING) $(UNWINDING_MUSL))

# What memcheck and memtraced must agree on. Not optimised, so that words are where they are written
# to be, and without another count of the program's own.
LEAKS_DIR := $(TARGETS_DIR)/leaks
LEAKS := $(patsubst tests/targets/leaks/%,$(LEAKS_DIR)/%,$(basename \
	$(filter-out %/library_plugin.c,$(wildcard tests/targets/leaks/*.c tests/targets/leaks/*.cc)))) \
	$(LEAKS_DIR)/libleaks_a.so $(LEAKS_DIR)/libleaks_b.so
LEAKS_CFLAGS = $(filter-out -O1 -fno-builtin,$(TARGET_CFLAGS)) -O0 -fno-builtin -Wno-unused-function
# Not among those: memcheck does not see the allocator of what is linked statically.
LEAKS_STATIC := $(if $(CROSS_COMPILE),,$(TARGETS_DIR)/shapes-static $(TARGETS_DIR)/shapes-static-pie)
TARGET_OTHERS += $(LEAKS) $(LEAKS_STATIC)

# The probes of otel_memory in the program, however it is linked, or in a library that it loads.
SAMPLES := $(addprefix $(TARGETS_DIR)/,samples samples-static samples-static-pie samples-dlopen)
TARGET_OTHERS += $(SAMPLES) $(TARGETS_DIR)/libsampler.so $(TARGETS_DIR)/crowding-samples \
	$(TARGETS_DIR)/waves-static

.PHONY: targets
targets: $(O)/demo/visitors $(TARGET_PROGRAMS) $(TARGET_OTHERS) $(TARGET_FAMILIES) $(TARGET_POOLS)

$(TARGET_FAMILIES): $(TARGETS_DIR)/families-%: tests/targets/families.c $(TARGET_HEADERS)
	$(call say,TARGET,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(if $(filter musl%,$*),musl-gcc,$(CC)) $(TARGET_CFLAGS) -o $@ $< -Wl,--no-as-needed \
		$(FAMILIES_$*) -pthread -ldl

$(LEAKS_DIR)/libleaks_%.so: tests/targets/leaks/library_plugin.c tests/targets/leaks/leaks.h
	$(call say,TARGET,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(LEAKS_CFLAGS) -fPIC -shared -o $@ $<

$(LEAKS_STATIC): $(TARGETS_DIR)/shapes-%: tests/targets/leaks/shapes.c tests/targets/leaks/leaks.h
	$(call say,TARGET,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(LEAKS_CFLAGS) -fPIE -$* -o $@ $<

$(LEAKS_DIR)/%: tests/targets/leaks/%.c tests/targets/leaks/leaks.h
	$(call say,TARGET,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(LEAKS_CFLAGS) -o $@ $< -pthread -ldl

$(LEAKS_DIR)/%: tests/targets/leaks/%.cc tests/targets/leaks/leaks.h
	$(call say,TARGET,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX) $(LEAKS_CFLAGS) -std=gnu++17 -o $@ $<

$(TARGETS_DIR)/older $(TARGETS_DIR)/older-static: tests/targets/older.c $(TARGET_HEADERS)
	$(call say,TARGET,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(TARGET_CFLAGS) $(if $(filter %-static,$@),-static -DSTATIC) -o $@ $< -pthread

# Without frame pointers, but where stacks are walked by them alone.
SAMPLES_OPTIONS := -O2 $(if $(filter arm64,$(ARCH)),-fno-omit-frame-pointer,-fomit-frame-pointer)

$(SAMPLES): $(TARGETS_DIR)/samples%: tests/targets/samples.c tests/targets/sampler.c $(TARGET_HEADERS)
	$(call say,TARGET,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(TARGET_CFLAGS) $(SAMPLES_OPTIONS) -o $@ $(if $(filter -dlopen,$*),\
		-DDLOPEN $< -ldl,$(filter -static%,$*) $(filter %.c,$^) -lm)

$(TARGETS_DIR)/waves-static: tests/targets/waves.c $(TARGET_HEADERS)
	$(call say,TARGET,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(TARGET_CFLAGS) -static -o $@ $<

$(TARGETS_DIR)/crowding-samples: tests/targets/crowding.c tests/targets/sampler.c $(TARGET_HEADERS)
	$(call say,TARGET,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(TARGET_CFLAGS) $(SAMPLES_OPTIONS) -DSAMPLED -o $@ $(filter %.c,$^) -lm

$(TARGETS_DIR)/libsampler.so: tests/targets/sampler.c $(TARGET_HEADERS)
	$(call say,TARGET,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(TARGET_CFLAGS) $(SAMPLES_OPTIONS) -fPIC -shared -o $@ $< -lm

$(TARGETS_DIR)/libmallinfo.so: tests/targets/mallinfo.c $(TARGET_HEADERS)
	$(call say,TARGET,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(TARGET_CFLAGS) -fPIC -shared -o $@ $<

$(TARGETS_DIR)/pools $(TARGETS_DIR)/pools-static: tests/targets/pools.c $(TARGET_HEADERS)
	$(call say,TARGET,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(TARGET_CFLAGS) $(if $(filter %-static,$@),-static) -o $@ $<

$(TARGETS_DIR)/pools-stripped: $(TARGETS_DIR)/pools-static
	$(call say,STRIP,$@)
	$(Q)$(STRIP) -o $@ $<

$(TARGETS_DIR)/slices: tests/targets/slices.c $(TARGET_HEADERS)
	$(call say,TARGET,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(TARGET_CFLAGS) -o $@ $< $(GLIB_FLAGS)

$(TARGETS_DIR)/operators: tests/targets/operators.cc $(TARGET_HEADERS)
	$(call say,TARGET,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX) $(TARGET_CFLAGS) -std=gnu++17 -fsized-deallocation -o $@ $<

$(TARGETS_DIR)/mismatches: tests/targets/mismatches.cc $(TARGET_HEADERS)
	$(call say,TARGET,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX) $(TARGET_CFLAGS) -std=gnu++17 -fsized-deallocation -fno-builtin \
		-Wno-mismatched-new-delete -pthread -o $@ $<

# Not optimised: rustc 1.95 inlines __rust_alloc into the crate that has the allocator.
$(TARGETS_DIR)/arena: tests/targets/arena.rs
	$(call say,TARGET,$@)
	$(Q)mkdir -p $(@D)
	$(Q)+$(RUSTC) --edition 2018 -o $@ $<

# The same with Rust's usual allocator, which is the C library's.
$(TARGETS_DIR)/arena-plain: tests/targets/arena.rs
	$(call say,TARGET,$@)
	$(Q)mkdir -p $(@D)
	$(Q)+sed '/^#.global_allocator/d' $< > $@.rs && $(RUSTC) --edition 2018 -O -A dead_code -o $@ $@.rs

# jemalloc under its own names, as crates bring it. What it needs stands behind it: older
# compilers name the C library before the objects of link-arg.
$(TARGETS_DIR)/arena-rjem: tests/targets/arena_rjem.rs $(TARGETS_DIR)/jemalloc-rjem.a
	$(call say,TARGET,$@)
	$(Q)mkdir -p $(@D)
	$(Q)+$(RUSTC) --edition 2021 -O -o $@ $< -C link-arg=$(TARGETS_DIR)/jemalloc-rjem.a \
		-C link-arg=-lstdc++ -C link-arg=-lm -C link-arg=-lc

$(TARGETS_DIR)/libpyblocks.so: tests/targets/pyblocks.c $(TARGET_HEADERS)
	$(call say,TARGET,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(TARGET_CFLAGS) -fPIC -shared -o $@ $<

$(TARGETS_DIR)/families-jemalloc-je: $(TARGETS_DIR)/jemalloc-je.a
$(TARGETS_DIR)/families-jemalloc-rjem: $(TARGETS_DIR)/jemalloc-rjem.a

$(TARGETS_DIR)/foreign: tests/targets/foreign.c $(TARGETS_DIR)/jemalloc-rjem.a $(TARGET_HEADERS)
	$(call say,TARGET,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(TARGET_CFLAGS) -o $@ $< $(TARGETS_DIR)/jemalloc-rjem.a -lstdc++ -lm -pthread -ldl

JEMALLOC_NAMES := malloc calloc realloc free posix_memalign aligned_alloc memalign valloc mallocx \
	rallocx xallocx sallocx dallocx sdallocx nallocx mallctl mallctlnametomib mallctlbymib \
	malloc_stats_print malloc_usable_size malloc_message malloc_conf

# jemalloc under names of its own; what it takes the place of otherwise becomes local.
$(TARGETS_DIR)/jemalloc-%.a:
	$(call say,OBJCOPY,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(LD) -r --whole-archive -o $@.o $(call has_lib,libjemalloc_pic.a)
	$(Q)objcopy --wildcard --localize-symbol='__libc_*' --localize-symbol='__posix_memalign' \
		--localize-symbol='_Zn[aw]*' --localize-symbol='_Zd[al]*' \
		$(foreach name,$(JEMALLOC_NAMES),--redefine-sym \
		$(name)=$(if $(filter je,$*),je_,_rjem_)$(name)) $@.o
	$(Q)rm -f $@
	$(Q)$(AR) rcs $@ $@.o

$(TARGET_PROGRAMS): $(TARGETS_DIR)/%: tests/targets/%.c $(WRAP_SRC) $(TARGET_HEADERS)
	$(call say,TARGET,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(TARGET_CFLAGS) $(WRAP_FLAGS) -o $@ $< $(WRAP_SRC) -pthread -ldl

# Without wrap.o, whose books end the program at what is wrong.
$(patsubst %,$(TARGETS_DIR)/%,heap_errors unchecked bounds crashes deaths): $(TARGETS_DIR)/%: tests/targets/%.c \
		$(TARGET_HEADERS)
	$(call say,TARGET,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(TARGET_CFLAGS) -o $@ $< -pthread

# Its calloc must not become a call of itself.
$(TARGETS_DIR)/unchecked: TARGET_CFLAGS += -fno-builtin

$(TARGETS_DIR)/nesting: tests/targets/nesting.c tests/targets/nesting_malloc.c $(WRAP_SRC) \
		$(TARGET_HEADERS)
	$(call say,TARGET,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(TARGET_CFLAGS) $(WRAP_FLAGS) -o $@ $(filter %.c,$^)

$(TARGETS_DIR)/libnesting.so: tests/targets/nesting_malloc.c $(TARGET_HEADERS)
	$(call say,TARGET,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(TARGET_CFLAGS) -fPIC -shared -o $@ $<

# The same with that allocator in a library, behind one that is preloaded.
$(TARGETS_DIR)/nesting-behind: tests/targets/nesting.c $(WRAP_SRC) $(TARGETS_DIR)/libnesting.so $(TARGET_HEADERS)
	$(call say,TARGET,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(TARGET_CFLAGS) $(WRAP_FLAGS) -o $@ $(filter %.c,$^) -L$(@D) -Wl,-rpath,'$$ORIGIN' -l:libnesting.so

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

$(TARGETS_DIR)/lib%_clock.so: tests/targets/%_clock.c
	$(call say,TARGET,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(TARGET_CFLAGS) -fPIC -shared -o $@ $<

$(TARGETS_DIR)/libtouch_%.so: tests/targets/touch_plugin.c
	$(call say,TARGET,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(TARGET_CFLAGS) -DPLUGIN_NAME=touch_$* -DPADDING=$(if $(filter a,$*),4,65536) \
		-Wl,-e,touch_$* -fPIC -shared -o $@ $<

$(TARGETS_DIR)/libplug_%.so: tests/targets/plugin.c
	$(call say,TARGET,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(TARGET_CFLAGS) -DPLUGIN_NAME=leak_from_$* \
		-DPLUGIN_SIZE=$(if $(filter a,$*),1111,2222) -fPIC -shared -o $@ $<

$(patsubst %,$(TARGETS_DIR)/%,bad_alloc exceptions medley own_operators throwing): $(TARGETS_DIR)/%: \
		tests/targets/%.cc $(TARGET_HEADERS)
	$(call say,TARGET,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX) $(TARGET_CFLAGS) -std=gnu++17 -o $@ $< -pthread

$(TARGETS_DIR)/ctor_thread-cc: tests/targets/ctor_thread.c $(TARGET_HEADERS)
	$(call say,TARGET,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(TARGET_CFLAGS) -o $@ $< -Wl,--no-as-needed -lstdc++ -ldl

$(TARGETS_DIR)/libctor_thread.so: tests/targets/ctor_thread_plugin.cc
	$(call say,TARGET,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX) $(TARGET_CFLAGS) -std=gnu++17 -fPIC -shared -o $@ $< -pthread

# As distributions build: optimised, without frame pointers.
FRAMES_CFLAGS = -O2 -g -fno-builtin -fomit-frame-pointer $(WARNINGS) -D_GNU_SOURCE -I.

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

$(TARGETS_DIR)/libframes_large.so: tests/targets/frames_large.c
	$(call say,TARGET,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(FRAMES_CFLAGS) -fPIC -shared -o $@ $<

# The latter stays mapped, has more of them than a chunk has, and so much code that some may be left out.
$(TARGETS_DIR)/libframes_rows.so: ROWS_CFLAGS := -DROWS=250000 -DSTEP=1
$(TARGETS_DIR)/libframes_many.so: ROWS_CFLAGS := -DROWS=1100000 -DSTEP=5 -Wl,-z,nodelete
$(TARGETS_DIR)/libframes_rows.so $(TARGETS_DIR)/libframes_many.so: tests/targets/frames_plugin.c
	$(call say,TARGET,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(FRAMES_CFLAGS) -g0 -DINNER=inner_rows -DSIZE=1010 -DROOM=300 $(ROWS_CFLAGS) -fPIC \
		-shared -o $@ $<

$(TARGETS_DIR)/libframes_%.so: tests/targets/frames_plugin.c
	$(call say,TARGET,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(FRAMES_CFLAGS) -DINNER=inner_$* -DSIZE=$(if $(filter a,$*),1006,1007) \
		-DROOM=$(if $(filter a,$*),300,2000) -fPIC -shared -o $@ $<

$(TARGETS_DIR)/unwinding: UNWINDING_OPTIONS := -O1 -fno-omit-frame-pointer
$(TARGETS_DIR)/unwinding-o0: UNWINDING_OPTIONS := -O0
$(TARGETS_DIR)/unwinding-o3: UNWINDING_OPTIONS := -O3 -fomit-frame-pointer
$(TARGETS_DIR)/unwinding-lto: UNWINDING_OPTIONS := -O2 -flto
$(TARGETS_DIR)/unwinding-realign: UNWINDING_OPTIONS := -O2 -mstackrealign
$(TARGETS_DIR)/unwinding-avx: UNWINDING_OPTIONS := -O3 -mavx2 -mfma
$(TARGETS_DIR)/unwinding-static: UNWINDING_OPTIONS := -O2 -static
$(UNWINDING:%=$(TARGETS_DIR)/%): tests/targets/unwinding.c $(TARGET_HEADERS)
	$(call say,TARGET,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(UNWINDING_CFLAGS) $(UNWINDING_OPTIONS) -o $@ $< -pthread

# Debian's musl has neither frame pointers nor call frame information.
$(UNWINDING_MUSL:%=$(TARGETS_DIR)/%): tests/targets/unwinding.c $(TARGET_HEADERS)
	$(call say,TARGET,$@)
	$(Q)mkdir -p $(@D)
	$(Q)musl-gcc $(UNWINDING_CFLAGS) -O2 -static -o $@ $<
