# SPDX-License-Identifier: GPL-2.0-or-later
#
# libmemtraced-sample.so, which is preloaded into programs. Never built with sanitizers: it must not
# need what the program does not have.

SAMPLE_LIB := $(O)/libmemtraced-sample.so
SAMPLE_SRCS := $(sort $(wildcard sample/*.c))
# The parser of call frame information, built once more for this library.
SAMPLE_CFI := $(addprefix user/elf/cfi/,cfi_entry.c cfi_program.c cfi_rule.c)
SAMPLE_OBJS := $(SAMPLE_SRCS:%.c=$(O)/%.o) $(SAMPLE_CFI:user/%.c=$(O)/sample/%.o)
# What is pure, for unit tests.
SAMPLE_PURE_OBJS := $(addprefix $(O)/sample/,sampled_set.o sampler.o walk.o walk_rules.o book_blocks.o \
	book_forms.o book_frees.o book_index.o book_totals.o book_memory.o)

# -fno-builtin: a compiler that knows what malloc is makes calls of malloc in malloc. -fexceptions:
# operators new throw through ours. initial-exec: threads' variables are reached without a call, and
# without memory.
SAMPLE_CFLAGS = -std=gnu11 $(CROSS_FLAGS) $(CPPFLAGS) $(CFLAGS) $(WARNINGS) -D_GNU_SOURCE -Iuser -I. -fPIC \
	-fvisibility=hidden -fno-builtin -fexceptions -ftls-model=initial-exec
# What stands between a program and the probes of samples, which --unwind=fp passes.
SAMPLE_FRAMED := $(addprefix $(O)/sample/,malloc.o operators.o jemalloc.o process.o probes.o)
$(SAMPLE_FRAMED): SAMPLE_CFLAGS += -fno-omit-frame-pointer
# What each call of exact depth runs: 3 ns less a pair of malloc and free of 40, and 3 to 10 less as one
# unit, in which blocks and frames stay in registers (not by clang, whose linker may lack the plugin).
SAMPLE_EXACT := $(patsubst %.c,$(O)/%.o,$(wildcard sample/book*.c sample/exact.c sample/walk*.c))
$(SAMPLE_EXACT): SAMPLE_CFLAGS += $(patsubst -O2,-O3,$(filter -O2,$(CFLAGS))) $(SAMPLE_LTO)
SAMPLE_LTO := $(if $(findstring clang,$(CC)),,-flto -flto-partition=one -ffat-lto-objects)
SAMPLE_LDFLAGS = $(CROSS_FLAGS) $(LDFLAGS) -shared -Wl,--no-undefined -Wl,-z,now -Wl,-z,nodelete \
	-Wl,-soname,$(notdir $(SAMPLE_LIB)) -Wl,--version-script=sample/sample.map

# By these names for programs, whose calls they see (sample/limits.c).
ifeq ($(ARCH),x86)
SAMPLE_LIMITS := -Wl,--defsym=syscall=limit_syscall -Wl,--defsym=prctl=limit_prctl
endif

# What glibc before 2.34 has there (sample/libdl.h), and newer ones have an empty file for.
SAMPLE_LIBDL := -Wl,--push-state,--no-as-needed -l:libdl.so.2 -Wl,--pop-state

$(SAMPLE_SRCS:%.c=$(O)/%.o): $(O)/sample/%.o: sample/%.c $(O)/.flags
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(SAMPLE_CFLAGS) -MMD -MP -c -o $@ $<

$(SAMPLE_CFI:user/%.c=$(O)/sample/%.o): $(O)/sample/%.o: user/%.c $(O)/.flags
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(SAMPLE_CFLAGS) -MMD -MP -c -o $@ $<

$(SAMPLE_LIB): $(SAMPLE_OBJS) sample/sample.map
	$(call say,LD,$@)
	$(Q)$(CC) $(SAMPLE_LDFLAGS) $(SAMPLE_LTO) $(SAMPLE_LIMITS) -o $@ $(SAMPLE_OBJS) $(SAMPLE_LIBDL)

-include $(SAMPLE_OBJS:.o=.d)
