# Cresset: one non-recursive Makefile. `make help` lists what it can do.
MAKEFLAGS += --no-builtin-rules
.SUFFIXES:
.DELETE_ON_ERROR:
.SECONDARY:
.DEFAULT_GOAL := all

VERSION := $(shell tools/version)
# Of the manual pages: the day of the release.
DATED   := 2026-11-21
ifeq ($(origin CC),default)
CC      := gcc
endif
CLANG   ?= clang-14
BPF_CC  ?= $(CLANG)
BPFTOOL ?= $(firstword $(wildcard /usr/sbin/bpftool) bpftool)
ESBUILD ?= esbuild
PREFIX  ?= /usr/local

# A build of another kind (sanitizers, another compiler) lives in its own directory and shares nothing.
BUILD ?= build

# CPPFLAGS, CFLAGS and LDFLAGS are the builder's, on the command line or in the environment; they come last and win.
CFLAGS   ?= -O2 -g
cppflags := -Isrc -I$(BUILD)/gen -D_GNU_SOURCE $(CPPFLAGS)
cflags   := -std=gnu11 -Wall -Wextra -Werror -Wvla -Wmissing-prototypes -Wstrict-prototypes -Wpointer-arith \
            -fno-strict-aliasing -fno-omit-frame-pointer -fstack-protector-strong $(CFLAGS)
ldflags  := -Wl,-z,relro,-z,now $(LDFLAGS)
# Debug information, and BTF, name files from the project's directory on, wherever it is.
prefix_map := -ffile-prefix-map=$(CURDIR)=. $(if $(filter /%,$(BUILD)),-ffile-prefix-map=$(BUILD)=./build)
cflags   += $(prefix_map)
libs     := -lbpf -lsqlite3 -lseccomp -lyaml -lncursesw -lelf -liberty -lxxhash -ldeflate -lzstd -llz4 -llzma -lz -lpthread -lm

# --- what there is ---------------------------------------------------------------------------------------------------
BPF_SRC   := $(wildcard src/bpf/*.bpf.c)
SRC       := $(filter-out $(BPF_SRC) src/gpu/inject/% src/mem/inject/%,$(wildcard src/*/*.c src/*/*/*.c))
LIB_OBJ   := $(patsubst %.c,$(BUILD)/%.o,$(filter-out src/cmd/main.c,$(SRC)))
SKEL      := $(BPF_SRC:src/bpf/%.bpf.c=$(BUILD)/gen/%.skel.h)
# What pictures and reports embed; the files of the page that esbuild makes, and those that are served as they are; all they are made of.
SVG_FILES  := $(wildcard web/svg/*) web/report/start.js web/report/report.css web/flame.css
PAGE_ENTRY := $(addprefix web/,page/app.js page/later.js page/overlays.js page/timeline.js page/compare.js page/targets.js page/line_graph.js \
              report/import.js page/index.css page/timeline.css report/report.css)
PAGE_FILES := web/page/index.html web/page/icon.svg
WEB_FILES  := $(wildcard $(foreach dir,web web/* web/*/*,$(dir)/*.js $(dir)/*.css $(dir)/*.html $(dir)/*.svg))
# Directories below tests/unit are those of src; a program's name is its file's.
UNIT_SRC  := $(wildcard tests/unit/*/t_*.c tests/unit/*/*/t_*.c)
UNIT_BIN  := $(patsubst %.c,$(BUILD)/unit/%,$(notdir $(UNIT_SRC)))
FUZZ_SRC  := $(wildcard tests/fuzz/fuzz_*.c)
FUZZ_BIN  := $(FUZZ_SRC:tests/fuzz/%.c=$(BUILD)/fuzz/%)
REPLAY    := $(FUZZ_SRC:tests/fuzz/fuzz_%.c=$(BUILD)/unit/replay_%)
LIVE_BIN  := $(patsubst tests/live/prog/%.c,$(BUILD)/live/%,$(wildcard tests/live/prog/*.c)) \
             $(patsubst tests/live/prog/%.cc,$(BUILD)/live/%,$(wildcard tests/live/prog/*.cc))
DOUBLES   := $(patsubst tests/doubles/%.c,$(BUILD)/doubles/%,$(wildcard tests/doubles/lib*.c))
FIXTURES  := $(patsubst tests/fixture/%.c,$(BUILD)/fixture/%,$(wildcard tests/fixture/*.c))
SOAK_BIN  := $(patsubst tests/soak/%.c,$(BUILD)/soak/%,$(wildcard tests/soak/*.c))
BENCH_BIN := $(patsubst bench/%.c,$(BUILD)/bench/%,$(wildcard bench/*.c)) \
             $(patsubst bench/bpf/%.c,$(BUILD)/bench/%.o,$(wildcard bench/bpf/*.c))

.PHONY: all help test test-bin test-live test-full test-unit test-kernels asan fuzz fuzz-many fuzz-bin bench bench-store bench-ui man completions install clean \
        check check-all check-limits check-layers check-reads check-words setup-hooks check-fmt check-sh check-web check-cc check-web-weight ui pictures fmt limits \
        dist dist-archive dist-deb dist-rpm dist-image sign FORCE
all: $(BUILD)/cresset $(BUILD)/libcresset-cuda.so $(BUILD)/libcresset-mem.so ## build/cresset: the one binary (default), and what it puts into programs

# --- the binary ------------------------------------------------------------------------------------------------------
$(BUILD)/cresset: $(BUILD)/src/cmd/main.o $(BUILD)/libcresset.a
	$(CC) $(cflags) $(ldflags) -o $@ $^ $(libs)

# The same for a release: with every library but the C library, for any glibc since 2.28.
portable_libs := $(filter-out -lpthread -lm,$(libs)) -lmicrohttpd -ltinfo
portable_obj := $(patsubst deploy/portable/%.c,$(BUILD)/portable/%.o,$(wildcard deploy/portable/*.c))
$(BUILD)/portable/%.o: deploy/portable/%.c $(BUILD)/stamp/flags
	@mkdir -p $(@D)
	$(CC) $(cppflags) $(cflags) -MMD -MP -c -o $@ $<
$(BUILD)/portable/cresset: $(BUILD)/src/cmd/main.o $(BUILD)/libcresset.a $(portable_obj) tools/check-glibc
	$(CC) $(cflags) $(ldflags) -o $@ -Wl,-Map=$@.map $(filter %.o %.a,$^) -Wl,-u,MHD_start_daemon \
	    $$(nm $(BUILD)/portable/old_glibc.o | sed -n 's/.* T __wrap_/-Wl,--wrap=/p') \
	    -Wl,-Bstatic $(portable_libs) -Wl,-Bdynamic -Wl,--no-as-needed -l:libpthread.so.0 -l:libdl.so.2 -lm
	tools/check-glibc 2.28 $@

$(BUILD)/libcresset.a: $(LIB_OBJ) $(BUILD)/gen/web.o $(BUILD)/stamp/objects
	@rm -f $@
	ar rcs $@ $(LIB_OBJ) $(BUILD)/gen/web.o

$(BUILD)/src/%.o: src/%.c $(BUILD)/stamp/flags | $(SKEL) $(BUILD)/gen/assets.h
	@mkdir -p $(@D)
	$(CC) $(cppflags) -include base/banned.h $(cflags) -MMD -MP -c -o $@ $<

# The version changes with each commit, so only the sources that name it are given it, and only these are compiled again.
VERSIONED := $(shell grep -lE 'CRESSET_(VERSION|DATE|COMMIT|BPF_COMPILER)' $(SRC) $(UNIT_SRC))
versioned := $(patsubst %.c,$(BUILD)/%.o,$(filter src/%,$(VERSIONED))) $(patsubst %.c,$(BUILD)/unit/%,$(notdir $(filter tests/%,$(VERSIONED))))
$(versioned): private cppflags += -include $(BUILD)/gen/version.h
$(versioned): $(BUILD)/gen/version.h
define version_h
printf '#define CRESSET_%s "%s"\n' VERSION '$(VERSION)' DATE '$(DATED)' COMMIT "$$(tools/version commit)" \
	    BPF_COMPILER "$$($(BPF_CC) --version | sed 's/["\\]//g; q')"
endef
$(BUILD)/gen/version.h: FORCE
	@mkdir -p $(@D)
	@$(version_h) >$@.tmp
	@cmp -s $@.tmp $@ && rm $@.tmp || mv $@.tmp $@

# Other flags rebuild every object; a source that came or went makes the archive again.
stamps = $(addprefix $(BUILD)/stamp/,flags objects bpf web)
$(BUILD)/stamp/web: stamp = $(esbuild) $(WEB_FILES)
$(BUILD)/stamp/flags: stamp := $(CC) $(cppflags) $(cflags)
$(BUILD)/stamp/objects: stamp := $(LIB_OBJ)
$(BUILD)/stamp/bpf: stamp = $(BPF_CC) $(bpf_flags)
$(stamps): FORCE
	@mkdir -p $(@D)
	@echo $(call quote,$(stamp)) | cmp -s - $@ || echo $(call quote,$(stamp)) >$@
quote = '$(subst ','\'',$(1))'

# The part that runs inside GPU programs: libc only, of any version since 2.17; only what the driver calls is seen from outside.
inject_src := $(wildcard src/gpu/inject/*.c) src/gpu/ring/ring_write.c src/gpu/ring/sampler.c
$(BUILD)/libcresset-cuda.so: $(inject_src) $(wildcard src/gpu/inject/*.h) src/gpu/ring/ring.h src/gpu/ring/ring_write.h src/gpu/ring/sampler.h \
                             src/gpu/ring/version_note.h $(BUILD)/gen/version.h $(BUILD)/stamp/flags
	@mkdir -p $(@D)
	$(CC) $(cppflags) $(poisoned) -include gpu/inject/old_libc.h \
	    $(filter-out -fsanitize% -fno-sanitize%,$(cflags)) -fno-stack-protector -fPIC -fvisibility=hidden \
	    -ftls-model=initial-exec -shared -Wl,-soname,libcresset-cuda.so -Wl,-z,nodelete -Wl,-z,defs $(filter-out -fsanitize%,$(ldflags)) -o $@ $(inject_src)

# The same for programs with sampled allocations: nothing of it is seen from outside.
mem_src := $(wildcard src/mem/inject/*.c) src/gpu/inject/version.c
$(BUILD)/libcresset-mem.so: $(mem_src) $(wildcard src/mem/inject/*.h) src/mem/live/live.h src/gpu/inject/old_libc.h \
                            src/gpu/ring/version_note.h $(BUILD)/gen/version.h $(BUILD)/stamp/flags
	@mkdir -p $(@D)
	$(CC) $(cppflags) -include gpu/inject/old_libc.h -include $(BUILD)/gen/version.h \
	    $(filter-out -fsanitize% -fno-sanitize%,$(cflags)) -fno-stack-protector -fno-omit-frame-pointer -fPIC -fvisibility=hidden \
	    -ftls-model=initial-exec -shared -Wl,-soname,libcresset-mem.so -Wl,-z,nodelete -Wl,-z,defs $(filter-out -fsanitize%,$(ldflags)) -o $@ $(mem_src)

# BPF: one object per source, compiled without any header of the running kernel, wrapped by its skeleton. bpftool's
# linker drops the DWARF and keeps the BTF.
bpf_arch := $(patsubst x86_64,x86,$(patsubst aarch64,arm64,$(shell uname -m)))
bpf_inc  := $(addprefix -I,$(wildcard /usr/include/$(shell uname -m)-linux-gnu))
bpf_flags := $(prefix_map) -g -O2 -target bpf -mcpu=v2 -D__TARGET_ARCH_$(bpf_arch) -Isrc $(bpf_inc) \
             -Wall -Wextra -Werror -Wno-unused-function -Wno-unused-parameter -Wno-gnu-variable-sized-type-not-at-end
$(BUILD)/bench/%.bpf.o: bench/bpf/%.bpf.c $(BUILD)/stamp/bpf
	$(bpf_object)
$(BUILD)/unit/%.bpf.o: tests/unit/bpf/%.bpf.c $(BUILD)/stamp/bpf
	$(bpf_object)
$(BUILD)/bpf/%.bpf.o: src/bpf/%.bpf.c $(BUILD)/stamp/bpf
	$(bpf_object)
# The same by each clang that is supported, whatever the build's own is: tests load and read these, also where there is no compiler.
clangs    := 14 19
clang_obj := $(foreach v,$(clangs),$(BPF_SRC:src/bpf/%.c=$(BUILD)/unit/bpf-$(v)/%.o))
define clang_rule
$(BUILD)/unit/bpf-$(1)/%.bpf.o: override BPF_CC := clang-$(1)
$(BUILD)/unit/bpf-$(1)/%.bpf.o: src/bpf/%.bpf.c $(BUILD)/stamp/bpf
	$$(bpf_object)
endef
$(foreach v,$(clangs),$(eval $(call clang_rule,$(v))))
define bpf_object
	@mkdir -p $(@D)
	$(BPF_CC) $(bpf_flags) -MMD -MP -MT $@ -MF $(@:.o=.d) -c -o $@.full $<
	$(BPFTOOL) gen object $@ $@.full
	@rm -f $@.full
endef

$(BUILD)/gen/%.skel.h: $(BUILD)/bpf/%.bpf.o
	@mkdir -p $(@D)
	$(BPFTOOL) gen skeleton $< name $*_bpf >$@

# Programs of one file that only the build and the tests run.
$(BUILD)/tools/%: tools/%.c
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -O1 -Wall -Wextra -Werror -D_GNU_SOURCE -o $@ $<

mkassets_src := $(wildcard tools/mkassets/*.c) src/base/buf.c src/base/mem.c src/base/content_type.c
$(BUILD)/tools/mkassets: $(mkassets_src) $(wildcard tools/mkassets/*.h) src/base/buf.h src/base/asset.h
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -O1 -Wall -Wextra -Werror -D_GNU_SOURCE -Isrc -o $@ $(mkassets_src) -ldeflate -lxxhash

# esbuild minifies what browsers get. Pictures are also opened by programs that know only old JavaScript.
esbuild = $(ESBUILD) --log-level=warning --minify --charset=utf8 --target=$(if $(filter web/svg/%,$(1)),es5,es2022) --outbase=web $(1)
define need_esbuild
@command -v $(ESBUILD) >/dev/null || { echo "$(ESBUILD): not found: it makes the page's scripts. Install Debian's package esbuild \
	(./quickstart does), or name the program: make ESBUILD=PATH" >&2; exit 1; }
endef

# What pictures embed, as C arrays.
$(BUILD)/gen/assets.h: $(BUILD)/tools/mkassets $(SVG_FILES)
	$(need_esbuild)
	@rm -rf $(@D)/pictures && mkdir -p $(@D)
	$(call esbuild,$(filter web/svg/%,$(SVG_FILES))) --outdir=$(@D)/pictures
	$(call esbuild,$(filter-out web/svg/%,$(SVG_FILES))) --outdir=$(@D)/pictures
	$(BUILD)/tools/mkassets header $(@D)/pictures $(SVG_FILES:web/%=%) >$@

# The page in few files: web/page/core.js says how modules get into them.
page = $(call esbuild,$(PAGE_ENTRY)) --bundle --splitting --format=esm --chunk-names=page/core

# What is served, compressed, as one object. The script of the one-file report has no address, so it cannot ask for its own.
$(BUILD)/gen/web.S: $(BUILD)/tools/mkassets $(WEB_FILES) $(BUILD)/stamp/web
	$(need_esbuild)
	@rm -rf $(@D)/page && mkdir -p $(@D)/web
	$(page) --outdir=$(@D)/page
	$(call esbuild,web/report/main.js) --bundle --format=iife --log-override:empty-import-meta=error --outfile=$(@D)/page/report/report.js
	@cp $(PAGE_FILES) $(@D)/page/page
	$(BUILD)/tools/mkassets embed $(@D) $(@D)/page $$(cd $(@D)/page && find * -type f | LC_ALL=C sort)
ui: ## the page with source maps, in build/ui, for cresset serve --ui-dir build/ui
	$(need_esbuild)
	@rm -rf $(BUILD)/ui
	$(page) --sourcemap=inline --outdir=$(BUILD)/ui
	@cp $(PAGE_FILES) $(BUILD)/ui/page
$(BUILD)/gen/web.o: $(BUILD)/gen/web.S
	$(CC) -c -o $@ $<

# --- tests -----------------------------------------------------------------------------------------------------------
# Everything below is one source linked with the library.
link = $(CC) $(cppflags) $(cflags) -MMD -MP -MT $@ -MF $@.d $(ldflags) -o $@ $<
vpath t_%.c $(sort $(dir $(UNIT_SRC)))
# The .d files of an earlier build may name a test where it no longer lies.
tests/unit/%.c: ;
$(BUILD)/unit/t_%: t_%.c $(BUILD)/libcresset.a
	@mkdir -p $(@D)
	$(link) -Itests/unit $(BUILD)/libcresset.a -lcheck -lsubunit -lrt $(libs)
$(BUILD)/unit/t_nvml: $(BUILD)/doubles/libnvidia-ml.so.1
$(BUILD)/unit/t_kernel_lookup: $(BUILD)/unit/lookup.bpf.o
$(BUILD)/unit/t_collect_groups: $(BUILD)/unit/refused.bpf.o
$(BUILD)/unit/t_bpf $(BUILD)/unit/t_bpf_locks $(BUILD)/unit/t_kernel_types: $(clang_obj)
$(BUILD)/unit/t_gpu_probes $(BUILD)/unit/t_collect_gpu: $(DOUBLES)
$(BUILD)/unit/replay_%: tests/fuzz/fuzz_%.c tests/fuzz/replay.c $(BUILD)/libcresset.a
	@mkdir -p $(@D)
	$(link) tests/fuzz/replay.c $(BUILD)/libcresset.a $(libs)
$(BUILD)/fuzz/fuzz_%: tests/fuzz/fuzz_%.c $(BUILD)/libcresset.a
	@mkdir -p $(@D)
	$(link) -fsanitize=fuzzer $(BUILD)/libcresset.a $(libs)
# Programs that write the files some tests read.
$(BUILD)/fixture/%: tests/fixture/%.c $(BUILD)/libcresset.a
	@mkdir -p $(@D)
	$(link) $(BUILD)/libcresset.a $(libs)
$(BUILD)/soak/%: tests/soak/%.c $(BUILD)/libcresset.a
	@mkdir -p $(@D)
	$(link) $(BUILD)/libcresset.a $(libs)
# Benches of several sources.
store_bench := bench/store.c $(wildcard bench/store/*.c)
$(BUILD)/bench/store: $(store_bench) $(wildcard bench/store/*.h) $(BUILD)/libcresset.a
	@mkdir -p $(@D)
	$(CC) $(cppflags) -Ibench/store $(cflags) $(ldflags) -o $@ $(store_bench) $(BUILD)/libcresset.a $(libs) -ldl
load_bench := bench/server_load.c $(wildcard bench/server/*.c)
$(BUILD)/bench/server_load: $(load_bench) $(wildcard bench/server/*.h) $(BUILD)/libcresset.a
	@mkdir -p $(@D)
	$(CC) $(cppflags) -Ibench $(cflags) $(ldflags) -o $@ $(load_bench) $(BUILD)/libcresset.a $(libs)
$(BUILD)/bench/%: bench/%.c $(BUILD)/libcresset.a
	@mkdir -p $(@D)
	$(link) $(BUILD)/libcresset.a $(libs)
# Programs of known truth that live tests and benches watch. Each says how it wants to be built: "// build: FLAGS".
$(BUILD)/live/%: tests/live/prog/%.c
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -D_GNU_SOURCE $$(sed -n 's,^// build: ,,p' $<) -o $@ $< -lpthread -ldl
$(BUILD)/live/%: tests/live/prog/%.cc
	@mkdir -p $(@D)
	$(CXX) -std=gnu++17 -O2 -g -rdynamic -o $@ $<
$(BUILD)/live/allocates $(BUILD)/live/allocates_own $(BUILD)/live/allocates_cxx: tests/live/prog/allocates.h
$(BUILD)/unit/t_mem_inject: $(addprefix $(BUILD)/,live/mem_sites live/mem_late libcresset-mem.so)
$(BUILD)/unit/t_gpu_probe: $(BUILD)/unit/launch_probe.bpf.o
$(BUILD)/unit/t_gpu_stalls: $(BUILD)/doubles/libcupti-old.so.13
$(BUILD)/doubles/libcupti-old.so.13: tests/doubles/libcupti.so.13.c
$(BUILD)/unit/t_gpu_inject $(BUILD)/unit/t_gpu_stalls $(BUILD)/unit/t_gpu_probe: $(addprefix $(BUILD)/,live/gpu_play doubles/libcuda.so.1 doubles/libcupti.so.13 libcresset-cuda.so)
$(BUILD)/doubles/libcupti.so.13 $(BUILD)/doubles/libcupti-old.so.13: src/gpu/inject/cupti_abi.h
$(BUILD)/live/waits: tests/live/prog/waits.h
$(BUILD)/live/publish: tests/live/prog/process_context.h
$(patsubst tests/live/prog/%.c,$(BUILD)/live/%,$(wildcard tests/live/prog/trace*.c)): \
	$(addprefix tests/live/prog/,trace.h trace.c trace_lib.c process_context.h)

# Doubles of vendors' libraries, by the names that programs load them by. Each says how it wants to be built: "// build: FLAGS".
$(BUILD)/doubles/%: tests/doubles/%.c $(wildcard tests/doubles/*.h)
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Werror -o $@ $< $$(sed -n 's,^// build: ,,p' $<) -lpthread

unit_bin := $(UNIT_BIN) $(REPLAY) $(BUILD)/tools/tapsum
test-bin: all $(BUILD)/portable/cresset $(unit_bin) $(LIVE_BIN) $(DOUBLES) $(FIXTURES) $(BUILD)/soak/gpu_windows
test-unit: $(BUILD)/cresset $(if $(T),$(BUILD)/unit/t_$(T) $(BUILD)/tools/tapsum,$(unit_bin)) ## unit tests only; T=name for one
	BUILD=$(BUILD) tests/run unit $(T)
# The tiers: each test's file names its own (tests/run --help). docs/testing.md says what they prove.
test: test-bin ## each module, format, command and page, and each promise of the README live; the last line: N passed, N failed, N skipped; as root, eight minutes
	BUILD=$(BUILD) tests/run test
test-live: test-bin ## recordings of programs of known truth on this machine, other compilers, sanitizers; as root, half an hour
	BUILD=$(BUILD) tests/run live
test-kernels: test-bin ## the features and live tests under other kernels, in machines; hours; KINDS="6.1* newest" for some, RUNS=3
	BUILD=$(BUILD) tests/run kernels
	BUILD=$(BUILD) RUNS=$(RUNS) AGAIN=$(AGAIN) tests/kernels/run $(KINDS)
test-full: test-bin $(SOAK_BIN) ## fuzzing, kills, power losses and soak in large numbers, packages in other userlands; hours
	BUILD=$(BUILD) tests/run full

# What sanitizers add makes gcc warn of values that cannot be, so its warnings are errors in the ordinary build only.
SANITIZE := -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all -Wno-error
asan: ## unit tests under AddressSanitizer and UBSan, in build-asan
	$(MAKE) BUILD=build-asan CFLAGS='$(SANITIZE)' test-unit

FAST_FUZZ := -O2 -g -fsanitize=undefined -fsanitize-trap=undefined -Wno-error -fsanitize-coverage=inline-8bit-counters,pc-table
FUZZ_TIME ?= 60
fuzz-bin: $(FUZZ_BIN)
fuzz: ## libFuzzer on every reader, FUZZ_TIME=60 seconds each, in build-fuzz; T=name for one
	$(MAKE) BUILD=build-fuzz CC=$(CLANG) CFLAGS='$(SANITIZE) -O2 -fsanitize=fuzzer-no-link' fuzz-bin
	BUILD=build-fuzz tests/fuzz/run $(FUZZ_TIME) $(T)
fuzz-many: ## 10^7 inputs for every reader, some ten times faster: UBSan only, no comparisons traced, small inputs; T=name for one
	$(MAKE) BUILD=build-fuzz-many CC=$(CLANG) CFLAGS='$(FAST_FUZZ)' fuzz-bin
	BUILD=build-fuzz-many FUZZ_RUNS=10000000 FUZZ_OPTIONS='-entropic=0 -max_len=1024' tests/fuzz/run 7200 $(T)

bench: all $(LIVE_BIN) $(BENCH_BIN) $(BUILD)/unit/t_bpf ## every performance promise beside its peer; into docs/benchmarks.tsv and .md
	BUILD=$(BUILD) bench/run
bench-store: all $(BUILD)/bench/store ## only the store beside its peers (minutes)
	BUILD=$(BUILD) bench/run store
bench-ui: all ## only the page's flame graph in a browser, beside d3-flame-graph
	BUILD=$(BUILD) bench/run ui

# --- the house -------------------------------------------------------------------------------------------------------
C_FILES  := $(wildcard src/*/*.[ch] src/*/*/*.[ch] tools/*.c tools/*/*.[ch] deploy/portable/*.c tests/*/*.[ch] tests/live/prog/*.[ch] tests/unit/*/*.[ch] tests/unit/*/*/*.[ch] bench/*.[ch] \
            bench/bpf/*.c bench/store/*.[ch] bench/server/*.[ch])
SH_FILES := $(filter-out tools/check-words,$(wildcard quickstart .ci/run tests/busy tests/*/run tests/*/*.sh tests/kernels/inside tools/check-* tools/hooks/commit-msg tools/kernels tools/changed tools/dist-* tools/limits tools/package-version tools/sbom tools/version deploy/debian/p* deploy/debian/*.sh deploy/packages/*.sh bench/run bench/*.sh web/vendor/make-uplot))
JS_FILES := $(filter-out web/vendor/%,$(wildcard $(foreach dir,web web/* web/*/*,$(dir)/*.js))) \
            $(wildcard tests/web/*.js tests/web/*/*.js bench/ui/*.js bench/ui/*.mjs)
prettier := tests/web/node_modules/.bin/prettier --log-level warn
# What is checked: of these, what has changed (tools/changed; SINCE=REV for another start), or everything with ALL=1.
checked  = $(if $(ALL),$(1),$(filter $(1),$(shell tools/changed $(SINCE))))
# Runs a command on files, if there are any: without a name some would read their input.
on_files = $(if $(strip $(2)),$(1) $(2))
fmt: ## format every C file, and JavaScript
	clang-format -i $(C_FILES)
	$(prettier) --write $(JS_FILES)
check-fmt:
	@$(call on_files,clang-format --dry-run -Werror,$(call checked,$(C_FILES)))
check-sh:
	@$(call on_files,shellcheck -x -S warning,$(call checked,$(SH_FILES)))
check-layers: $(BUILD)/libcresset.a ## includes point downwards only and in no circle, no state in files
	BUILD=$(BUILD) tools/check-layers
check-reads: ## no call in the collector that another process can make wait
	tools/check-reads
check-limits:
	@tools/limits --check
check-words: ## no more odd expressions than tools/words.counts allows; tools/check-words --count prints the densities
	@tools/check-words
setup-hooks: ## install the check of commit subjects in this repository
	git config core.hooksPath tools/hooks
checked_js = $(call checked,$(JS_FILES))
check-web: ## types and form of the pages' JavaScript (./quickstart test installs the checkers)
	@$(call on_files,$(if $(checked_js),tests/web/node_modules/.bin/tsc -p tests/web/tsconfig.json &&) $(prettier) --check,$(checked_js))
	@$(call on_files,awk 'length > 120 { print FILENAME ":" FNR ": longer than 120"; bad = 1 } END { exit bad }',$(checked_js))
# Its warnings do not depend on how far it optimizes.
check-cc: ## everything compiles without a warning under clang, too, in build-clang
	$(MAKE) BUILD=build-clang CC=$(CLANG) CFLAGS=-O0 all
check-web-weight: all ## what a browser loads, packed: each file, and whether it is more than promised
	cd tests/web && BUILD=$(BUILD) node --test --test-reporter=spec weight.test.js
pictures: all $(FIXTURES) ## the documentation's pictures, from recordings made meanwhile (as root, three minutes)
	cd tests/web && BUILD=$(BUILD) node pictures/make.js
check: all check-layers check-reads check-limits check-words check-fmt check-sh check-web ## before a commit: the layers, and formatting and scripts of changed files; SINCE=REV, ALL=1
	@files=$$(tools/changed $(SINCE)) && echo "checked $(if $(ALL),all files,$$(echo "$$files" | grep -c .) changed files; make check-all checks all)"
check-all: ## before a push: check of every file, clang, and unit tests under sanitizers
	$(MAKE) ALL=1 check
	$(MAKE) check-cc
	$(MAKE) asan

# How each source is compiled: an entry has the flags of the rule that compiles its file.
user_c   := $(SRC) $(UNIT_SRC) $(wildcard tests/soak/*.c tests/fixture/*.c bench/*.c bench/store/*.c bench/server/*.c) $(FUZZ_SRC)
inject_c := $(wildcard src/gpu/inject/*.c)
poisoned := -include base/banned.h -include $(BUILD)/gen/version.h
entry     = {"directory":"$(CURDIR)","file":"$(1)","command":"$(subst ",\",$(subst \,\\,$(2))) -c $(1)"}
entries   = $(foreach file,$(user_c),$(call entry,$(file),$(CC) $(cppflags) -Itests/unit -Ibench -Ibench/store $(poisoned) $(cflags))) \
            $(foreach file,$(inject_c),$(call entry,$(file),$(CC) $(cppflags) $(poisoned) -include gpu/inject/old_libc.h $(cflags) -fPIC)) \
            $(foreach file,$(BPF_SRC) $(wildcard bench/bpf/*.bpf.c tests/unit/*/*.bpf.c),$(call entry,$(file),$(BPF_CC) $(bpf_flags)))
define between
},
{
endef
compile_commands.json: $(SKEL) $(BUILD)/gen/assets.h $(BUILD)/gen/version.h FORCE ## how each source is compiled, for clangd
	$(file >$@,[$(subst } {,$(between),$(strip $(entries)))])
tags: FORCE ## where names are defined, for editors (needs universal-ctags)
	@ctags --version 2>/dev/null | grep -q '^Universal Ctags' || \
	    { echo "make tags: there is no Universal Ctags here; on Debian: apt-get install universal-ctags" >&2; exit 1; }
	ctags -f $@ $(C_FILES)

limits: ## docs/internals/limits.tsv, from the comments at the constants in src
	tools/limits

# Both are made of the tables that the program itself parses with.
man: $(BUILD)/cresset ## manual pages, in build/man
	@mkdir -p $(BUILD)/man
	$(BUILD)/cresset help --man-pages $(BUILD)/man
completions: $(BUILD)/cresset ## what shells complete, in build/completions
	@mkdir -p $(BUILD)/completions
	for shell in bash zsh fish; do $(BUILD)/cresset completion $$shell >$(BUILD)/completions/$$shell || exit; done

UNITS := $(wildcard deploy/systemd/*.service)
share := $(DESTDIR)$(PREFIX)/share
lib   := $(DESTDIR)$(PREFIX)/lib
# What is installed: packages have the release program.
PROGRAM ?= $(BUILD)/cresset
install: all $(PROGRAM) man completions ## into PREFIX=/usr/local (DESTDIR honoured)
	install -D -m 755 $(PROGRAM) $(DESTDIR)$(PREFIX)/bin/cresset
	install -D -m 755 -t $(lib)/cresset $(BUILD)/libcresset-cuda.so $(BUILD)/libcresset-mem.so
	install -D -m 644 -t $(share)/man/man1 $(BUILD)/man/*.1
	install -D -m 644 -t $(share)/man/man5 $(BUILD)/man/*.5
	install -D -m 644 $(BUILD)/completions/bash $(share)/bash-completion/completions/cresset
	install -D -m 644 $(BUILD)/completions/zsh $(share)/zsh/site-functions/_cresset
	install -D -m 644 $(BUILD)/completions/fish $(share)/fish/vendor_completions.d/cresset.fish
	install -d $(lib)/systemd/system
	for unit in $(UNITS); do sed 's,@PREFIX@,$(PREFIX),' $$unit >$(lib)/systemd/system/$${unit##*/} || exit; done
	install -D -m 644 deploy/systemd/sysusers.conf $(lib)/sysusers.d/cresset.conf
	install -D -m 644 deploy/systemd/tmpfiles.conf $(lib)/tmpfiles.d/cresset.conf
	install -D -m 644 -t $(share)/doc/cresset deploy/cresset.yaml deploy/examples/*.yaml

# Packages of what is built. Their bytes depend on it and these, and on nothing else of the machine that packs. Tests of upgrades
# give DIST_VERSION.
DIST         ?= $(BUILD)/dist
DIST_VERSION ?= $(VERSION)
MAINTAINER   ?= Cresset maintainers <maintainers@cresset.example.org>
SOURCE_DATE_EPOCH ?= $(or $(shell git --git-dir=.git log -1 --format=%ct 2>/dev/null),$(shell date -u -d $(DATED) +%s))
dist          = BUILD='$(BUILD)' VERSION='$(DIST_VERSION)' MAINTAINER='$(MAINTAINER)' SOURCE_DATE_EPOCH='$(SOURCE_DATE_EPOCH)'
dist-deb: all $(BUILD)/portable/cresset man completions ## Debian packages, in build/dist (needs debhelper)
	$(dist) tools/dist-deb $(DIST)
dist-rpm: all $(BUILD)/portable/cresset man completions ## RPM packages, in build/dist (needs rpmbuild)
	$(dist) tools/dist-rpm $(DIST)
dist-archive: all $(BUILD)/portable/cresset man completions ## the portable archive of a release, its debug information, SBOM and source, in build/dist
	$(dist) tools/dist-archive $(DIST)
dist-image: all $(BUILD)/portable/cresset ## the container image of a release, from scratch, in build/dist; as root, with buildah
	$(dist) tools/dist-image $(DIST)
dist: ## everything that a release has, and its sums, in build/dist; without network
	rm -rf $(BUILD)/dist
	$(MAKE) DIST=$(BUILD)/dist dist-archive dist-deb dist-rpm dist-image
	cd $(BUILD)/dist && find . -maxdepth 1 -type f -printf '%P\n' | LC_ALL=C sort >../dist-files && xargs sha256sum <../dist-files >SHA256SUMS
sign: ## the sums of build/dist, with minisign; KEY=FILE of a secret key
	@test -n "$(KEY)" || { echo "make sign: KEY=FILE names the secret key (minisign -G makes one)" >&2; exit 1; }
	@cd $(BUILD)/dist && sha256sum --strict --quiet -c SHA256SUMS
	cd $(BUILD)/dist && minisign -S -s $(abspath $(KEY)) -m SHA256SUMS -t "cresset $(VERSION)"
clean: ## remove every build directory
	rm -rf build build-*
help: ## this list
	@sed -En 's/^([a-z._-]+):.*## (.*)/  make \1\t\2/p' Makefile | expand -t 31

-include $(wildcard $(BUILD)/src/*/*.d $(BUILD)/src/*/*/*.d $(BUILD)/bpf/*.d $(BUILD)/unit/*.d $(BUILD)/unit/bpf-*/*.d $(BUILD)/fuzz/*.d $(BUILD)/soak/*.d $(BUILD)/bench/*.d $(BUILD)/portable/*.d)
