# SPDX-License-Identifier: GPL-2.0-or-later
#
# One flat build: objects mirror the source tree under $(O), the compiler writes the header
# dependencies, and a change of compiler or flags rebuilds what it concerns ($(O)/.flags).
#
#   O=dir    where everything that is built goes (default: build)
#   V=1      show the commands
#   ASAN=1   address and undefined-behaviour sanitizers, in the product and in the unit tests
#   WERROR=1 a warning of a compiler is an error (the checks set it; WERROR= unsets it)
#   CC=clang another compiler for the user side; CLANG= the compiler for BPF
#   CROSS_COMPILE=aarch64-linux-gnu-
#            for another architecture (default O: build-arm64), with the libraries in SYSROOT=;
#            given to deps and deps-kernels, too, they fetch compiler and libraries
#   KERNELS= which kernels check-kernels shall be limited to (5.10 6.1 6.12 6.18 newest);
#            MEMTRACED_NEED_KERNELS=1: one that is not there is a failure, not a skip
#   PREFIX=/usr/local SYSCONFDIR=/etc DESTDIR= UNITDIR=PREFIX/lib/systemd/system GENERATORDIR=
#            where install and uninstall find their places; VERSION= what the program says of itself
#   TESTS=   what check-unit (test_*.c files) or check-live (name patterns) shall be limited to
#   MEMTRACED_TURN=1a2b3c4d
#            another choice of the arguments of live tests in check, which the commit decides: a note says it
#   FUZZ_RUNS= FUZZ_LONG_SECONDS=
#            when each fuzz program of check-long ends: after so many inputs (10^8), with those of earlier
#            runs, or seconds (600)
#   QUICK=1  bench in three minutes; RESULTS=path: copies of its path.md and path.json;
#            ROWS=patterns: only rows whose names contain one of these words

# The machine that is built for, and its name in the kernel's source and in packages.
MACHINE := $(or $(firstword $(subst -, ,$(CROSS_COMPILE))),$(shell uname -m))
ARCH := $(patsubst aarch64,arm64,$(patsubst x86_64,x86,$(MACHINE)))

O ?= build$(if $(CROSS_COMPILE),-$(ARCH))
PREFIX ?= /usr/local
SYSCONFDIR ?= /etc
# Below PREFIX/bin/.., where the program looks for what --sample preloads.
LIBDIR = $(PREFIX)/lib/memtraced
UNITDIR ?= $(PREFIX)/lib/systemd/system
GENERATORDIR ?= $(PREFIX)/lib/systemd/system-generators
FUZZ_SECONDS ?= 10
FUZZ_RUNS ?= 100000000
FUZZ_LONG_SECONDS ?= 600

# Asked once, and only when it is used: the first of its names that has this version (or a later one).
find_tool = $(eval $(1) := $$(shell scripts/find-tool $(2)))$($(1))
CLANG ?= $(call find_tool,CLANG,clang 14)
# Debian has it where only root's PATH leads, Ubuntu beside its kernel's tools.
BPFTOOL ?= $(call find_tool,BPFTOOL,bpftool 5.13 /usr/sbin $(wildcard /usr/lib/linux-tools/*))
CLANG_FORMAT ?= $(call find_tool,CLANG_FORMAT,clang-format 14)
PROTOC ?= protoc
PKG_CONFIG ?= pkg-config
PYTHON ?= /usr/bin/python3

# What scripts/deps-kernels --arch has unpacked.
ifneq ($(CROSS_COMPILE),)
CC := $(CROSS_COMPILE)gcc
CXX := $(CROSS_COMPILE)g++
AR := $(CROSS_COMPILE)ar
STRIP := $(CROSS_COMPILE)strip
SYSROOT ?= $(shell scripts/run-kernel --arch $(ARCH:x86=amd64) --cache)/sysroot
CROSS_FLAGS := --sysroot=$(SYSROOT)
PKG_CONFIG := PKG_CONFIG_SYSROOT_DIR=$(SYSROOT) \
	PKG_CONFIG_LIBDIR=$(SYSROOT)/usr/lib/$(MACHINE)-linux-gnu/pkgconfig:$(SYSROOT)/usr/share/pkgconfig \
	$(PKG_CONFIG)
# Without them each file would fail, and for another reason.
ifneq ($(filter-out deps deps-kernels help clean,$(or $(MAKECMDGOALS),all)),)
ifeq ($(and $(shell command -v $(CC)),$(wildcard $(SYSROOT)/usr)),)
$(error no $(CC), or no libraries in $(SYSROOT): make CROSS_COMPILE=$(CROSS_COMPILE) deps deps-kernels)
endif
endif
endif
STRIP ?= strip

# Whose kernels and libraries the scripts shall take, where it is not this machine's.
ARCH_OPTION := $(if $(CROSS_COMPILE),--arch $(ARCH:x86=amd64))

VERSION := 0.2.0
# The program has its own idea of where the configuration is; one that is elsewhere must be there.
SERVICE_COMMAND = $(PREFIX)/bin/memtraced --service$(if $(filter-out /etc,$(SYSCONFDIR)), \
	--config=$(SYSCONFDIR)/memtraced/memtraced.conf)
PACKAGES := libbpf libelf libdw liblzma libzstd zlib json-c libprotobuf-c capstone ncursesw \
	libmicrohttpd inih libsystemd libseccomp libcap

# Without them each file would fail, and for another reason. What installs them first goes on.
NO_TOOLS_NEEDED := help lint format clean uninstall deb demo bench check check-clients check-distros deps deps-%
ifeq ($(CROSS_COMPILE)$(filter-out 0,$(MAKELEVEL)),)
ifneq ($(filter-out $(NO_TOOLS_NEEDED),$(or $(MAKECMDGOALS),all)),)
MISSING := $(shell for tool in $(firstword $(CC)) $(firstword $(CXX)) $(CLANG) $(BPFTOOL) $(PROTOC) protoc-gen-c $(PKG_CONFIG); do \
	command -v $$tool > /dev/null || echo $$tool; done; $(PKG_CONFIG) --print-errors --exists $(PACKAGES) 2>&1 | \
	sed -n "s/.*[Pp]ackage '\([^']*\)'.*found.*/\1/p" | sort -u)
ifneq ($(MISSING),)
$(shell scripts/deps --show --for build >&2)
$(error not found: $(MISSING); `make deps` as root installs what memtraced needs)
endif
endif
endif

# Asked once, and only when something is compiled: `make deps` must work before pkg-config is there.
PACKAGE_CFLAGS = $(eval PACKAGE_CFLAGS := $$(shell $(PKG_CONFIG) --cflags $(PACKAGES)))$(PACKAGE_CFLAGS)
PACKAGE_LIBS = $(eval PACKAGE_LIBS := $$(shell $(PKG_CONFIG) --libs $(PACKAGES)))$(PACKAGE_LIBS)

comma := ,
CFLAGS ?= -O2 -g
# The checks have WERROR: a compiler newer than the source must not stop those who only build it.
# What a newer library calls deprecated (cmocka 2.0) is none.
ERRORS = $(if $(WERROR),-Werror -Wno-error=deprecated-declarations)
WARNINGS = -Wall -Wextra $(ERRORS)
# With what sanitizers put in, gcc warns of paths that the code does not have: these stop no build.
SANITIZE := $(if $(filter 1,$(ASAN)),-fsanitize=address$(comma)undefined -fno-omit-frame-pointer -Wno-error)
# Fuzz programs: coverage and sanitizers; an undefined operation ends the program like a bad access.
FUZZ_SANITIZE := address$(comma)undefined
FUZZ_INSTRUMENT := $(if $(filter 1,$(FUZZ)),-fsanitize=fuzzer-no-link$(comma)$(FUZZ_SANITIZE) \
	-fno-sanitize-recover=undefined)
ALL_CFLAGS = -std=gnu11 $(CROSS_FLAGS) $(CPPFLAGS) $(CFLAGS) $(WARNINGS) $(SANITIZE) $(FUZZ_INSTRUMENT) \
	-D_GNU_SOURCE -Iuser -I. -I$(O) $(PACKAGE_CFLAGS)
ALL_LDFLAGS = $(CROSS_FLAGS) $(LDFLAGS) $(SANITIZE) $(FUZZ_INSTRUMENT)
ALL_LIBS = $(PACKAGE_LIBS) -liberty -lm $(LDLIBS)
# The product has an allocator of its own, inside its file: probes that all processes share stand in
# the C library's, and each call of ours would trap there (docs/hacking/decisions.md).
ALLOCATOR = $(if $(SANITIZE),,-l:libjemalloc.a -lstdc++ -lm)

# Where it was built is no part of what lines of source are called in it.
BPF_CFLAGS = -target bpf -g -O2 -mcpu=v3 -Wall $(ERRORS) -D__TARGET_ARCH_$(ARCH) \
	-ffile-prefix-map=$(CURDIR)=. -Ivmlinux -Ivmlinux/$(ARCH) -Ibpf

# Targets are ordinary programs: unoptimised enough that no malloc/free pair is optimised away.
TARGET_CFLAGS = $(CROSS_FLAGS) -O1 -g -fno-builtin -fno-omit-frame-pointer $(WARNINGS) -D_GNU_SOURCE -I.

# --- what there is -----------------------------------------------------------------------------

USER_SRCS := $(sort $(shell find user -name '*.c'))
USER_OBJS := $(USER_SRCS:%.c=$(O)/%.o)
# What protobuf's compiler makes of user/report/*.proto.
MESSAGES := $(patsubst %.proto,$(O)/%.pb-c,$(notdir $(wildcard user/report/*/*.proto)))
# What goes into reports as it is.
PAGES := user/report/*/ user/service/daemon/*/
SCRIPTS := $(patsubst %.js,$(O)/%_js.h,$(notdir $(wildcard $(PAGES:%=%*.js))))
STYLES := $(patsubst %.css,$(O)/%_css.h,$(notdir $(wildcard $(PAGES:%=%*.css))))
LIB_OBJS := $(filter-out $(O)/user/main.o,$(USER_OBJS)) $(MESSAGES:%=%.o)
# What these folders hold no fuzz program links, so it is not compiled for them: BPF, the terminal, the
# session and the service's loop.
NOT_FUZZED := $(patsubst %.c,$(O)/%.o,$(wildcard $(addsuffix /*.c,$(addprefix user/,service \
	service/session service/output service/leak tui trace/bpf trace/jobs trace/live trace/live/* \
	trace/unwind \
	$(addprefix service/daemon,/. /growth /page /reports /trace /watch)))))
ifeq ($(FUZZ),1)
LIB_OBJS := $(filter-out $(NOT_FUZZED),$(LIB_OBJS))
endif
LIB := $(O)/libmemtraced.a

# Jobs are objects of their own, loaded once for each that is asked for; the rest is linked into one.
JOBS := hist event syscalls
BPF_SRCS := $(filter-out $(JOBS:%=bpf/%.bpf.c),$(sort $(wildcard bpf/*.bpf.c)))
BPF_OBJS := $(BPF_SRCS:%.bpf.c=$(O)/%.o)
JOB_OBJS := $(JOBS:%=$(O)/bpf/%.o)
# All of it once more for kernels before 5.15: bpf/old_kernel.bpf.h.
OLD_OBJS := $(BPF_SRCS:bpf/%.bpf.c=$(O)/bpf/old/%.o)
SKELETONS := $(foreach name,memtraced $(JOBS),$(O)/$(name).skel.h $(O)/$(name)_old.skel.h)
BPF_OBJECTS := $(SKELETONS:%.skel.h=%.bpf.o)
OTHER_MACHINE := $(if $(filter arm64,$(ARCH)),x86_64,aarch64)
OTHER_O := $(O)/$(OTHER_MACHINE)
GENERATED := $(O)/syscall_names.h $(O)/version.h

UNIT_SRCS := $(sort $(wildcard tests/unit/test_*.c tests/replay/test_*.c))
UNIT_RUN := $(patsubst %.c,$(O)/%,$(filter $(or $(filter %.c,$(TESTS)),%),$(UNIT_SRCS)))
# The other .c files of these folders are helpers that each test of the folder links.
HELPER_OBJS := $(patsubst %.c,$(O)/%.o,\
	$(filter-out $(UNIT_SRCS),$(wildcard tests/unit/*.c tests/replay/*.c)))

FUZZ_SRCS := $(sort $(wildcard tests/fuzz/fuzz_*.c))
FUZZ_NAMES := $(FUZZ_SRCS:tests/fuzz/%.c=%)
# Tests that the build of the fuzz programs has once more, for its sanitizers.
SANITIZED_TESTS := tests/replay/test_hostile_recording

C_FILES = $(shell find user sample bpf include tests bench demo -name '*.[ch]' -o -name '*.cc')
SHELL_SCRIPTS := scripts/check-arm64 scripts/check-models scripts/deps scripts/deps-bench scripts/deps-kernels scripts/deps-machine scripts/make-deb \
	scripts/check-package scripts/check-skeletons scripts/demo scripts/check-spdx scripts/check-format scripts/find-tool \
	scripts/check-distros scripts/deps-distro tests/distros/steps tests/package/steps systemd/memtraced-generator .ci/run $(wildcard docs/memtraced.bash)

Q := $(if $(filter 1,$(V)),,@)
say = $(if $(filter 1,$(V)),,@printf '  %-8s %s\n' '$(1)' '$(2)')

.DELETE_ON_ERROR:
.SECONDARY:
MAKEFLAGS += --no-builtin-rules

# --- targets to name ---------------------------------------------------------------------------

.PHONY: help
help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' Makefile
	@sed -n 's/^#   /  /p' Makefile

.PHONY: all
all: $(O)/memtraced $(O)/libmemtraced-sample.so ## the product, $(O)/memtraced
.DEFAULT_GOAL := all

.PHONY: deps
deps: ## install what is missing to build (Debian packages, root)
	$(Q)scripts/deps --for build
	$(if $(CROSS_COMPILE),$(Q)scripts/deps $(CROSS_COMPILE:%-=gcc-%) $(CROSS_COMPILE:%-=g++-%))

.PHONY: deps-test
deps-test: deps ## the same, and what make check needs
	$(Q)scripts/deps --for test

.PHONY: deps-clients
deps-clients: deps-test ## the same, and viewers and browsers, for make check-clients
	$(Q)scripts/deps --for clients
	$(Q)scripts/deps-viewers || true # a skip says so

.PHONY: deps-kernels
deps-kernels: ## fetch qemu and other kernels for check-kernels, into a cache outside the tree
	$(Q)scripts/deps-kernels $(ARCH_OPTION)

# For who says `make demo` or `make check` without -j.
ALL_CPUS = $(if $(filter -j%,$(MAKEFLAGS)),,-j$(shell nproc))

.PHONY: demo
demo: deps ## install, build, and find the leak of a program that runs (root)
	$(Q)$(MAKE) $(ALL_CPUS) --no-print-directory all $(O)/demo/visitors
	$(Q)scripts/demo $(O)

# Other kernels are fetched meanwhile; what cannot be had is skipped, with the reason. So many seconds
# after the beginning no live tests but attacks are begun, so that all takes twelve minutes: earlier on
# a slow machine, which needs longer for the rest, too, by this share of what building took it.
LIVE_UNTIL = 570
LIVE_UNTIL_AT_ONCE = 640
SLOWER_BY = 0.6

.PHONY: check
check: deps-test ## everything that CI runs: lint, unit, replay and live tests, other kernels (root)
	$(Q)mkdir -p $(O); began=$$(cut -d. -f1 /proc/uptime); \
		scripts/deps-kernels > $(O)/deps-kernels.log 2>&1 & \
		$(MAKE) $(ALL_CPUS) --no-print-directory all check-programs targets quick-fuzz-programs; result=$$?; \
		awk -v began=$$began '{ until = $(LIVE_UNTIL_AT_ONCE) - $(SLOWER_BY) * ($$1 - began); \
			print int(began + (until < $(LIVE_UNTIL) ? until : $(LIVE_UNTIL))) }' \
			/proc/uptime > $(O)/live-until; \
		wait; cat $(O)/deps-kernels.log; exit $$result
	$(Q)scripts/run-tests --together $(RUN_FUZZ) $(RUN_LINT) $(RUN_UNIT) \
		--alone $(call RUN_LIVE,4,--until-uptime $$(cat $(O)/live-until)) $(RUN_KERNELS_SOON) $(RUN_PACKAGE)

.PHONY: check-unit
check-unit: check-programs ## unit and replay tests; no root needed
	$(Q)scripts/run-tests --together $(RUN_UNIT)

# Two minutes: live tests, one of each area first, have what the others leave.
.PHONY: check-fast
check-fast: all check-programs targets ## before a commit: lint, unit tests, live tests of what changed (BASE=; root)
	$(Q)areas=$$(scripts/changed-areas $(BASE)) && until=$$(awk '{ print $$1 + 110 }' /proc/uptime) && \
		scripts/run-tests --together $(RUN_LINT) $(RUN_UNIT) --alone \
			$${areas:+--tap "$(PYTHON) tests/live/run.py --build $(O) --until-uptime $$until --areas $$areas"}

.PHONY: check-live
check-live: all targets ## the daemon against real programs on this kernel (root)
	$(Q)scripts/run-tests $(RUN_LIVE)

# What shows our formats: these tests alone need viewers and browsers, and are skipped without them.
CLIENT_AREAS = $(patsubst tests/live/test_%.py,%,$(shell \
	grep -l -E '^(import|from) (browser|clients|window)' tests/live/test_*.py))

.PHONY: check-clients
check-clients: deps-clients ## what viewers and browsers show of our formats (root)
	$(Q)$(MAKE) $(ALL_CPUS) --no-print-directory all check-programs targets
	$(Q)scripts/run-tests --tap '$(PYTHON) tests/live/run.py --build $(O) --areas $(CLIENT_AREAS)'

.PHONY: check-attacks
check-attacks: all targets ## attacks by hostile users and hostile targets, a part of check-live (root)
	$(Q)scripts/run-tests $(RUN_ATTACKS)

.PHONY: check-package
check-package: targets ## the Debian package on a machine with systemd, in qemu; make check-long has it
	$(Q)MEMTRACED_LONG=1 scripts/run-tests $(RUN_PACKAGE)

.PHONY: check-distros
check-distros: ## build, tests and package in root file systems of Debian 12, 13 and testing (RELEASES= STEPS=; root)
	$(Q)MEMTRACED_LONG=1 scripts/run-tests $(RUN_DISTROS)

# Programs of more kinds, whose stacks are looked at.
PROGRAM_PACKAGES := clang default-jdk-headless erlang-base ffmpeg ghc nodejs ocaml-nox perl php-cli ruby sbcl

.PHONY: check-long
check-long: all targets fuzz-programs fast-fuzz-programs ## live tests at full size (100 kills), all on all kernels; on arm64; fuzzing (root)
	$(Q)scripts/deps-kernels || true # as in check
	$(Q)scripts/deps --for test,clients && scripts/deps-viewers || true # a skip says so
	$(Q)scripts/deps $(PROGRAM_PACKAGES) || true # the same
	$(Q)$(MAKE) --no-print-directory ASAN=1 O=$(ASAN_O) check-programs
	$(Q)MEMTRACED_LONG=1 scripts/run-tests $(RUN_ASAN) $(call RUN_LIVE,2) $(RUN_PACKAGE) $(RUN_DISTROS) $(RUN_KERNELS_LONG) $(RUN_SUSPEND) \
		$(RUN_ARM64) $(RUN_FUZZ_LONG)

# The product is built when its tools are there, so that a fresh machine can bench.
.PHONY: bench
bench: deps ## what memtraced costs, beside the floor and other tools (root)
	$(Q)scripts/deps-bench
	$(Q)$(MAKE) --no-print-directory all bench-programs
	$(Q)$(PYTHON) bench/run.py --build $(O) $(if $(filter 1,$(QUICK)),--quick) \
		$(if $(RESULTS),--copy '$(RESULTS)') $(ROWS)
.PHONY: check-kernels
check-kernels: all targets ## the live tests on other kernels (KERNELS=)
	$(Q)scripts/deps-kernels $(ARCH_OPTION) || true # as in check
	$(Q)scripts/run-tests $(RUN_KERNELS)

.PHONY: lint
lint: ## layers, sizes, licences, formatting, wording, man pages, shell scripts
	$(Q)scripts/run-tests --together $(RUN_LINT)

.PHONY: format
format: ## clang-format everything in place
	$(Q)$(CLANG_FORMAT) -i $(C_FILES)

.PHONY: fuzz
fuzz: ## run each fuzz target for FUZZ_SECONDS (default 10)
	+$(FUZZ_MAKE) FUZZ_SECONDS=$(FUZZ_SECONDS) $(FUZZ_NAMES:%=run-%)

# A build of its own. -O1 compiles in half the time of -O2 and runs as fast under the sanitizers. For
# the few inputs of make check it is -O0, which compiles in a third of that and runs half as fast.
FUZZ_O = $(O)/fuzz
FUZZ_LEVEL = -O1
FUZZ_MAKE = $(Q)$(MAKE) --no-print-directory FUZZ=1 CC=$(CLANG) O=$(FUZZ_O) CFLAGS='$(FUZZ_LEVEL) -gline-tables-only'

# For most of 10^8 inputs: the calls at each comparison and AddressSanitizer cost more than the rest.
FAST_FUZZ_O = $(O)/fuzz-fast

.PHONY: fuzz-programs quick-fuzz-programs fast-fuzz-programs
fuzz-programs: ## build all fuzz programs, in $(O)/fuzz
quick-fuzz-programs: FUZZ_O = $(QUICK_FUZZ_O)
quick-fuzz-programs: FUZZ_LEVEL = -O0
fast-fuzz-programs: FUZZ_O = $(FAST_FUZZ_O)
fast-fuzz-programs: FUZZ_LEVEL = -O2 -fno-sanitize-coverage=trace-cmp,indirect-calls -fsanitize-trap=undefined
fast-fuzz-programs: FUZZ_MAKE += FUZZ_SANITIZE=undefined
fuzz-programs quick-fuzz-programs fast-fuzz-programs:
	+$(FUZZ_MAKE) $(FUZZ_NAMES:%=$(FUZZ_O)/tests/fuzz/%) \
		$(if $(filter fast-%,$@),,$(SANITIZED_TESTS:%=$(FUZZ_O)/%))

MAN_PAGES := $(notdir $(wildcard docs/man/*.[158]))
MANDIR = $(PREFIX)/share/man
GUIDEDIR = $(PREFIX)/share/doc/memtraced/guide

.PHONY: install
install: all ## to DESTDIR and PREFIX (default /usr/local); a configuration that is there stays
	rm -f $(DESTDIR)$(PREFIX)/sbin/memtraced # of an earlier version; root's PATH has sbin first
	install -D -m 755 $(O)/memtraced $(DESTDIR)$(PREFIX)/bin/memtraced
	ln -sf memtraced $(DESTDIR)$(PREFIX)/bin/valgrind-memtraced
	install -D -m 644 $(SAMPLE_LIB) $(DESTDIR)$(LIBDIR)/$(notdir $(SAMPLE_LIB))
	rm -f $(DESTDIR)$(MANDIR)/man8/memtraced.8 # of an earlier version
	for page in $(MAN_PAGES); do \
		install -D -m 644 docs/man/$$page $(DESTDIR)$(MANDIR)/man$${page##*.}/$$page || exit 1; \
	done
	install -d $(DESTDIR)$(PREFIX)/include
	install -m 644 include/memtraced.h include/memtraced_pools.h $(DESTDIR)$(PREFIX)/include/
	install -d $(DESTDIR)$(GUIDEDIR)
	install -m 644 docs/guide/*.md $(DESTDIR)$(GUIDEDIR)/
	install -D -m 644 docs/memtraced.bash \
		$(DESTDIR)$(PREFIX)/share/bash-completion/completions/memtraced
	install -d $(DESTDIR)$(UNITDIR)
	sed 's|@COMMAND@|$(SERVICE_COMMAND)|' systemd/memtraced.service.in \
		> $(DESTDIR)$(UNITDIR)/memtraced.service
	chmod 644 $(DESTDIR)$(UNITDIR)/memtraced.service
	install -m 644 systemd/memtraced.socket $(DESTDIR)$(UNITDIR)/
	install -D -m 755 systemd/memtraced-generator $(DESTDIR)$(GENERATORDIR)/memtraced-generator
	install -D -m 644 systemd/memtraced.conf $(DESTDIR)$(PREFIX)/share/doc/memtraced/memtraced.conf
	[ -e $(DESTDIR)$(SYSCONFDIR)/memtraced/memtraced.conf ] || install -D -m 644 \
		systemd/memtraced.conf $(DESTDIR)$(SYSCONFDIR)/memtraced/memtraced.conf

.PHONY: uninstall
uninstall: ## what install wrote, but for the configuration and what the service has kept
	rm -f $(DESTDIR)$(LIBDIR)/$(notdir $(SAMPLE_LIB))
	[ ! -d $(DESTDIR)$(LIBDIR) ] || rmdir --ignore-fail-on-non-empty $(DESTDIR)$(LIBDIR)
	rm -f $(DESTDIR)$(PREFIX)/bin/memtraced $(DESTDIR)$(PREFIX)/bin/valgrind-memtraced \
		$(DESTDIR)$(PREFIX)/include/memtraced.h $(DESTDIR)$(PREFIX)/include/memtraced_pools.h \
		$(addprefix $(DESTDIR)$(MANDIR)/man?/,$(MAN_PAGES)) \
		$(DESTDIR)$(PREFIX)/share/bash-completion/completions/memtraced \
		$(DESTDIR)$(UNITDIR)/memtraced.service $(DESTDIR)$(UNITDIR)/memtraced.socket \
		$(DESTDIR)$(GENERATORDIR)/memtraced-generator \
		$(DESTDIR)$(PREFIX)/share/doc/memtraced/memtraced.conf $(DESTDIR)$(GUIDEDIR)/*.md
	[ ! -d $(DESTDIR)$(GUIDEDIR) ] || rmdir --ignore-fail-on-non-empty $(DESTDIR)$(GUIDEDIR)
	[ ! -d $(DESTDIR)$(PREFIX)/share/doc/memtraced ] || \
		rmdir --ignore-fail-on-non-empty $(DESTDIR)$(PREFIX)/share/doc/memtraced

.PHONY: deb
deb: ## the Debian package, in $(O)/deb; no root needed where debhelper is installed
	$(Q)scripts/make-deb $(abspath $(O)) $(VERSION)

.PHONY: clean
clean: ## remove $(O)
	rm -rf $(O)

# --- how the checks build ----------------------------------------------------------------------

check check-unit check-fast check-live check-attacks check-clients check-package check-long \
check-kernels check-programs targets fuzz-programs quick-fuzz-programs fast-fuzz-programs: export WERROR ?= 1

# --- how the checks run ------------------------------------------------------------------------

# SC2329 is the name that SC2317, which files disable, has in part since shellcheck 0.11.
RUN_LINT = --status 'lint: layers' scripts/check-layers \
	--status 'lint: sizes' scripts/check-sizes \
	--status 'lint: licences' scripts/check-spdx \
	--status 'lint: references' scripts/check-references \
	--status 'lint: words' scripts/check-words \
	--status 'lint: writers' scripts/check-writers \
	--status 'lint: man pages' 'scripts/check-man docs/man/*' \
	--tap 'scripts/check-format $(CLANG_FORMAT)' \
	--status 'lint: shell' 'shellcheck --exclude=SC2329 $(SHELL_SCRIPTS)'
RUN_UNIT = $(foreach test,$(UNIT_RUN),--tap '$(test)') \
	--tap scripts/check-models \
	--status 'lint: calls' 'scripts/check-calls $(O)/user $(O)/sample' \
	--status 'bpf: stacks' 'scripts/check-bpf-stacks $(BPF_OBJECTS)' \
	--status 'bpf: stacks on $(OTHER_MACHINE)' \
		'scripts/check-bpf-stacks $(BPF_OBJECTS:$(O)/%=$(OTHER_O)/%)' \
	--status 'tests: of the scripts' '$(PYTHON) -B -m unittest discover -s tests/scripts' \
	--status 'bench: arithmetic and tables' '$(PYTHON) -B -m unittest discover -s bench'
# At full size, in check-long, fewer areas at a time.
RUN_LIVE = --tap "$(PYTHON) tests/live/run.py --build $(O) --lanes $(or $(1),4) $(filter-out %.c,$(TESTS)) $(2)"
RUN_ATTACKS = --tap '$(PYTHON) tests/live/run.py --build $(O) attacks'
# A few inputs and always the same: what can break is the build, and an input that was mended.
QUICK_FUZZ_O = $(O)/fuzz-quick
RUN_FUZZ = $(SANITIZED_TESTS:%=--tap 'env ASAN_OPTIONS=quarantine_size_mb=8 $(QUICK_FUZZ_O)/%') \
	--tap '$(call FUZZ_RUN,$(QUICK_FUZZ_O)) --runs 2000 --seconds 20 --seed 1 $(FUZZ_NAMES)'
# All tests of functions once more, with sanitizers: a build of its own (make check-long).
ASAN_O = $(O)/asan
RUN_ASAN = $(foreach test,$(UNIT_RUN),--tap 'env ASAN_OPTIONS=quarantine_size_mb=32 \
	UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1 $(test:$(O)/%=$(ASAN_O)/%)')
RUN_FUZZ_LONG = $(SANITIZED_TESTS:%=--tap '$(O)/fuzz/%') \
	--tap '$(call FUZZ_RUN,$(O)/fuzz) --fast $(FAST_FUZZ_O) --runs $(FUZZ_RUNS) \
		--seconds $(FUZZ_LONG_SECONDS) $(FUZZ_NAMES)'
FUZZ_RUN = scripts/run-fuzz --build $(1) --corpus tests/fuzz/corpus
RUN_ARM64 = --tap 'scripts/check-arm64 $(O)-arm64 $(filter-out %.c,$(TESTS))'
CHECK_KERNELS = scripts/check-kernels $(ARCH_OPTION) --build $(O) $(filter-out %.c,$(TESTS)) \
	$(addprefix --kernel ,$(or $(KERNELS),$(1)))
RUN_KERNELS = --tap '$(call CHECK_KERNELS)'
# The oldest that there is code for, the one of Debian 12, and the newest. What there is no time for is
# skipped, and says so: make check has its time, too.
RUN_KERNELS_SOON = --tap '$(call CHECK_KERNELS,5.10 6.1 newest) --within 90'
RUN_DISTROS = --tap 'scripts/check-distros $(STEPS:%=--step %) $(VERSION) $(RELEASES)'
RUN_PACKAGE = --tap 'scripts/check-package $(abspath $(O)) $(VERSION)'
RUN_KERNELS_LONG = --tap '$(call CHECK_KERNELS) --all'
# No machine of arm64 that qemu has suspends to memory.
RUN_SUSPEND = $(if $(filter x86,$(ARCH)),--tap '$(call CHECK_KERNELS) --suspend')

.PHONY: check-programs
check-programs: $(UNIT_RUN) other-bpf

# The BPF side of the machine that is not built for: its programs differ, and clang makes both.
.PHONY: other-bpf bpf-objects
other-bpf:
	$(Q)$(MAKE) --no-print-directory CROSS_COMPILE= MACHINE=$(OTHER_MACHINE) O=$(OTHER_O) bpf-objects

bpf-objects: $(BPF_OBJECTS)

# --- the user side -----------------------------------------------------------------------------

$(O)/memtraced: $(O)/user/main.o $(LIB_OBJS)
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(ALLOCATOR) $(ALL_LIBS)

$(LIB): $(LIB_OBJS)
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcsD $@ $^

$(O)/%.o: %.c $(O)/.flags
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

$(USER_OBJS): | $(GENERATED)

$(filter $(O)/user/trace/%,$(if $(filter 1,$(FUZZ)),,$(USER_OBJS))): | $(SKELETONS)

$(filter $(O)/user/report/% $(O)/user/service/%,$(USER_OBJS)): | $(MESSAGES:%=%.h) $(SCRIPTS) $(STYLES)

vpath %.js $(wildcard $(PAGES))
vpath %.css $(wildcard $(PAGES))
vpath %.proto $(wildcard user/report/*/)

# What goes into reports and pages as string literals, one a line.
define literals
$(call say,GEN,$@)
$(Q)mkdir -p $(O)
$(Q)sed 's/[\\"]/\\&/g; s/.*/"&\\n"/' $< > $@
endef

$(SCRIPTS): $(O)/%_js.h: %.js
	$(literals)

$(STYLES): $(O)/%_css.h: %.css
	$(literals)

$(MESSAGES:%=%.c): $(O)/%.pb-c.c: %.proto
	$(call say,PROTO,$<)
	$(Q)mkdir -p $(O)
	$(Q)$(PROTOC) --c_out=$(O) -I$(<D) $<

$(MESSAGES:%=%.h): %.h: %.c ;

$(MESSAGES:%=%.o): %.o: %.c $(O)/.flags
	$(call say,CC,$<)
	$(Q)$(CC) $(ALL_CFLAGS) -c -o $@ $<

# The system calls' names as the headers have them; which number each has is the compiler's matter.
$(O)/syscall_names.h: $(O)/.flags
	$(call say,GEN,$@)
	$(Q)echo '#include <asm/unistd.h>' | $(CC) $(CROSS_FLAGS) -E -dM - | sort | awk ' \
		BEGIN { print "#include <asm/unistd.h>"; \
			print "static const char *const syscall_names[] = {" } \
		$$2 ~ /^__NR_[a-z0-9_]+$$/ && $$2 !~ /^__NR_(syscalls|arch_specific_syscall)$$/ { \
			printf "\t[%s] = \"%s\",\n", $$2, substr($$2, 6); n++ } \
		END { print "};"; exit !n }' > $@

# Rewritten only when it says something else, so that what depends on it is rebuilt then. Whether a
# warning is an error makes no other object.
define write_if_changed
@mkdir -p $(O)
@printf '%s\n' '$(subst ','\'',$(1))' | cmp -s - $@ || printf '%s\n' '$(subst ','\'',$(1))' > $@
endef

$(O)/.flags: FORCE
	$(call write_if_changed,$(CC) $(filter-out -Werror,$(ALL_CFLAGS)))

# No flag: another version concerns the few files that say it.
hash := \#
$(O)/version.h: FORCE
	$(call write_if_changed,$(hash)define MEMTRACED_VERSION "$(VERSION)")

.PHONY: FORCE
FORCE:

# --- the BPF side ------------------------------------------------------------------------------

$(O)/bpf/%.o: bpf/%.bpf.c
	$(call say,BPF,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CLANG) $(BPF_CFLAGS) -MMD -MP -c -o $@ $<

$(O)/memtraced.bpf.o: $(BPF_OBJS)
	$(call say,BPFLD,$@)
	$(Q)$(BPFTOOL) gen object $@ $^

$(O)/memtraced.skel.h: $(O)/memtraced.bpf.o
	$(call say,SKEL,$@)
	$(Q)$(BPFTOOL) gen skeleton $< name memtraced_bpf > $@

# Linked although alone: that leaves out what the compiler wrote down for debuggers only.
$(JOBS:%=$(O)/%.bpf.o): $(O)/%.bpf.o: $(O)/bpf/%.o
	$(call say,BPFLD,$@)
	$(Q)$(BPFTOOL) gen object $@ $<

$(JOBS:%=$(O)/%.skel.h): $(O)/%.skel.h: $(O)/%.bpf.o
	$(call say,SKEL,$@)
	$(Q)$(BPFTOOL) gen skeleton $< name $*_bpf > $@

# -mcpu=v2 has no atomic operations that give a value: the compiler refuses what slips in.
$(O)/bpf/old/%.o: bpf/%.bpf.c
	$(call say,BPF,$< (old kernels))
	$(Q)mkdir -p $(@D)
	$(Q)$(CLANG) $(BPF_CFLAGS) -mcpu=v2 -DOLD_KERNEL -MMD -MP -c -o $@ $<

$(O)/memtraced_old.bpf.o: $(OLD_OBJS)
	$(call say,BPFLD,$@)
	$(Q)$(BPFTOOL) gen object $@ $^

$(JOBS:%=$(O)/%_old.bpf.o): $(O)/%_old.bpf.o: $(O)/bpf/old/%.o
	$(call say,BPFLD,$@)
	$(Q)$(BPFTOOL) gen object $@ $<

# It is opened as if it were the newer one: maps, programs and data must be the same.
$(O)/%_old.skel.h: $(O)/%_old.bpf.o $(O)/%.skel.h
	$(call say,SKEL,$@)
	$(Q)$(BPFTOOL) gen skeleton $< name $*_old_bpf > $@
	$(Q)scripts/check-skeletons $* $(O)/$*.skel.h $@

# --- what make demo traces -----------------------------------------------------------------------

$(O)/demo/visitors: demo/visitors.c
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CROSS_FLAGS) -O2 -g $(WARNINGS) -o $@ $<

# --- what --sample preloads ----------------------------------------------------------------------

include sample/sample.mk

# --- unit, replay and fuzz programs ------------------------------------------------------------

# Nothing of the product: it compiles in half the time. Private, as .flags is not theirs.
$(UNIT_SRCS:%.c=$(O)/%.o) $(HELPER_OBJS): private CFLAGS = -O0 -g

# Allocations fail when the test says so.
$(O)/tests/unit/test_hold_memory: TEST_LDFLAGS := -Wl,--wrap=calloc,--wrap=reallocarray
# PAGEMAP_SCAN is there when the test says so.
$(O)/tests/unit/test_memory: TEST_LDFLAGS := -Wl,--wrap=ioctl
# A process lets us wait when the test says so.
$(O)/tests/unit/test_unread: TEST_LDFLAGS := -Wl,--wrap=file_helper_read_thread \
	-Wl,--wrap=file_helper_read_link,--wrap=file_helper_open_proc
# Threads are those that the test says.
$(O)/tests/unit/test_thread_exit: TEST_LDFLAGS := -Wl,--wrap=process_threads
# Its map of pids is the test's.
$(O)/tests/unit/test_live_follow: TEST_LDFLAGS := -Wl,--wrap=urgent_lookup,--wrap=bpf_map_update_elem
# It makes no maps.
$(O)/tests/unit/test_beside_loop: TEST_LDFLAGS := -Wl,--wrap=bpf_map_create
# The rules by which the library walks are the test's: linked as one unit, it would call its own.
$(O)/tests/unit/test_unwind_steps: TEST_LDFLAGS := -Wl,--wrap=walk_rule
# Files, and whether a translator runs, are what the test says.
$(O)/tests/unit/test_live_links: TEST_LDFLAGS := -Wl,--wrap=translator_find,--wrap=objects_count \
	-Wl,--wrap=objects_probe,--wrap=object_attached,--wrap=object_unprobed \
	-Wl,--wrap=object_is_probed,--wrap=objects_attach,--wrap=programs_walk_waits
# So are blocks.
$(O)/tests/unit/test_live_fault: TEST_LDFLAGS := -Wl,--wrap=live_blocks,--wrap=live_book_freed \
	-Wl,--wrap=live_book_read_stacks
# There are no maps of losses to read.
$(O)/tests/unit/test_live_jobs: TEST_LDFLAGS := -Wl,--wrap=programs_refused
$(UNIT_SRCS:%.c=$(O)/%): $(O)/%: $(O)/%.o $(HELPER_OBJS) $(SAMPLE_PURE_OBJS) $(LIB)
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) -fno-lto $(TEST_LDFLAGS) -o $@ $< $(filter $(dir $<)%,$(HELPER_OBJS)) \
		$(SAMPLE_PURE_OBJS) $(LIB) -lcmocka $(ALL_LIBS)

$(O)/tests/fuzz/fuzz_%: $(O)/tests/fuzz/fuzz_%.o $(LIB)
	$(call say,LD,$@)
	$(Q)$(CC) $(LDFLAGS) -fsanitize=fuzzer$(comma)$(FUZZ_SANITIZE) -o $@ $< $(LIB) $(ALL_LIBS)

# Seeds are checked in under tests/fuzz/corpus/; what the fuzzer finds stays under $(O).
.PHONY: $(FUZZ_NAMES:%=run-%)
$(FUZZ_NAMES:%=run-%): run-%: $(O)/tests/fuzz/%
	$(call say,FUZZ,$*)
	$(Q)mkdir -p $(O)/corpus/$*
	$(Q)$< -max_total_time=$(FUZZ_SECONDS) -print_final_stats=1 \
		-artifact_prefix=$(O)/corpus/$*- $(O)/corpus/$* $(wildcard tests/fuzz/corpus/$*)

-include tests/targets/targets.mk
-include bench/bench.mk
-include $(FUZZ_SRCS:%.c=$(O)/%.d) $(USER_OBJS:.o=.d) $(BPF_OBJS:.o=.d) $(JOB_OBJS:.o=.d) $(wildcard $(O)/bpf/old/*.d) $(UNIT_SRCS:%.c=$(O)/%.d) $(HELPER_OBJS:.o=.d)
