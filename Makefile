# Cresset: one non-recursive Makefile. `make help` lists what it can do.
MAKEFLAGS += --no-builtin-rules
.SUFFIXES:
.DELETE_ON_ERROR:
.SECONDARY:
.DEFAULT_GOAL := all

VERSION := 0.1.0
DATED   := 2026-11-21
ifeq ($(origin CC),default)
CC      := gcc
endif
CLANG   ?= clang-14
BPF_CC  ?= $(CLANG)
BPFTOOL ?= $(firstword $(wildcard /usr/sbin/bpftool) bpftool)
PREFIX  ?= /usr/local

# A build of another kind (sanitizers, another compiler) lives in its own folder and shares nothing.
BUILD ?= build

# CPPFLAGS, CFLAGS and LDFLAGS are the builder's, on the command line or in the environment; they come last and win.
CFLAGS   ?= -O2 -g
cppflags := -Isrc -I$(BUILD)/gen -D_GNU_SOURCE -DCRESSET_VERSION='"$(VERSION)"' \
            -DCRESSET_DATE='"$(DATED)"' $(CPPFLAGS)
cflags   := -std=gnu11 -Wall -Wextra -Werror -Wvla -Wmissing-prototypes -Wstrict-prototypes -Wpointer-arith \
            -fno-strict-aliasing -fno-omit-frame-pointer -fstack-protector-strong $(CFLAGS)
ldflags  := -Wl,-z,relro,-z,now $(LDFLAGS)
libs     := -lbpf -lsqlite3 -lseccomp -lyaml -lncursesw -lelf -liberty -lxxhash -ldeflate -lzstd -llz4 -llzma -lz -lpthread -lm

# --- what there is ---------------------------------------------------------------------------------------------------
BPF_SRC   := $(wildcard src/bpf/*.bpf.c)
SRC       := $(filter-out $(BPF_SRC),$(wildcard src/*/*.c))
LIB_OBJ   := $(patsubst %.c,$(BUILD)/%.o,$(filter-out src/cmd/main.c,$(SRC)))
SKEL      := $(BPF_SRC:src/bpf/%.bpf.c=$(BUILD)/gen/%.skel.h)
# What pictures and reports embed; what the page loads; the one-file report's script, made of its entry's modules.
SVG_FILES := $(wildcard web/svg/*) web/report/start.js web/report/report.css web/flame.css
WEB_FILES := $(filter-out web/svg/% web/report/start.js web/report/main.js,$(wildcard $(foreach dir,web web/* web/*/*,$(dir)/*.js \
             $(dir)/*.css $(dir)/*.html $(dir)/*.svg)))
WEB_ENTRY := $(wildcard web/report/main.js)
UNIT_BIN  := $(patsubst tests/unit/%.c,$(BUILD)/unit/%,$(wildcard tests/unit/t_*.c))
FUZZ_SRC  := $(wildcard tests/fuzz/fuzz_*.c)
FUZZ_BIN  := $(FUZZ_SRC:tests/fuzz/%.c=$(BUILD)/fuzz/%)
REPLAY    := $(FUZZ_SRC:tests/fuzz/fuzz_%.c=$(BUILD)/unit/replay_%)
LIVE_BIN  := $(patsubst tests/live/prog/%.c,$(BUILD)/live/%,$(wildcard tests/live/prog/*.c))
DOUBLES   := $(patsubst tests/doubles/%.c,$(BUILD)/doubles/%,$(wildcard tests/doubles/lib*.c))
FIXTURES  := $(patsubst tests/fixture/%.c,$(BUILD)/fixture/%,$(wildcard tests/fixture/*.c))
SOAK_BIN  := $(patsubst tests/soak/%.c,$(BUILD)/soak/%,$(wildcard tests/soak/*.c))
BENCH_BIN := $(patsubst bench/%.c,$(BUILD)/bench/%,$(wildcard bench/*.c)) \
             $(patsubst bench/bpf/%.c,$(BUILD)/bench/%.o,$(wildcard bench/bpf/*.c))

.PHONY: all help test test-bin test-full test-unit test-kernels asan fuzz fuzz-many fuzz-bin bench bench-store bench-ui man completions install clean \
        check check-layers check-fmt check-sh check-web check-cc check-web-weight pictures fmt FORCE
all: $(BUILD)/cresset $(BUILD)/libcresset-cuda.so ## build/cresset: the one binary (default), and what it puts into GPU programs

# --- the binary ------------------------------------------------------------------------------------------------------
$(BUILD)/cresset: $(BUILD)/src/cmd/main.o $(BUILD)/libcresset.a
	$(CC) $(cflags) $(ldflags) -o $@ $^ $(libs)

$(BUILD)/libcresset.a: $(LIB_OBJ) $(BUILD)/gen/web.o $(BUILD)/stamp/objects
	@rm -f $@
	ar rcs $@ $(LIB_OBJ) $(BUILD)/gen/web.o

$(BUILD)/src/%.o: src/%.c $(BUILD)/stamp/flags | $(SKEL) $(BUILD)/gen/assets.h
	@mkdir -p $(@D)
	$(CC) $(cppflags) -include base/poison.h $(cflags) -MMD -MP -c -o $@ $<

# Other flags rebuild every object; a source that came or went makes the archive anew.
stamps = $(BUILD)/stamp/flags $(BUILD)/stamp/objects $(BUILD)/stamp/web
$(BUILD)/stamp/web: stamp = $(WEB_FILES) $(WEB_ENTRY) $(PAGE_PACKS)
$(BUILD)/stamp/flags: stamp := $(CC) $(cppflags) $(cflags)
$(BUILD)/stamp/objects: stamp := $(LIB_OBJ)
$(stamps): FORCE
	@mkdir -p $(@D)
	@echo $(call quote,$(stamp)) | cmp -s - $@ || echo $(call quote,$(stamp)) >$@
quote = '$(subst ','\'',$(1))'

# The part that runs inside GPU programs: libc only, of any version since 2.17; only what the driver calls is seen from outside.
inject_src := $(wildcard src/gpu/inject/*.c) src/gpu/ring_write.c src/gpu/sampler.c
$(BUILD)/libcresset-cuda.so: $(inject_src) $(wildcard src/gpu/inject/*.h) src/gpu/ring.h src/gpu/ring_write.h src/gpu/sampler.h \
                             $(BUILD)/stamp/flags
	@mkdir -p $(@D)
	$(CC) $(cppflags) -include base/poison.h -include gpu/inject/old_libc.h \
	    $(filter-out -fsanitize% -fno-sanitize%,$(cflags)) -fno-stack-protector -fPIC -fvisibility=hidden \
	    -ftls-model=initial-exec -shared -Wl,-soname,libcresset-cuda.so -Wl,-z,nodelete -Wl,-z,defs $(filter-out -fsanitize%,$(ldflags)) -o $@ $(inject_src)

# BPF: one object per source, compiled without any header of the running kernel, wrapped by its skeleton. bpftool's
# linker drops the DWARF and keeps the BTF.
bpf_arch := $(patsubst x86_64,x86,$(patsubst aarch64,arm64,$(shell uname -m)))
bpf_inc  := $(addprefix -I,$(wildcard /usr/include/$(shell uname -m)-linux-gnu))
$(BUILD)/bench/%.bpf.o: bench/bpf/%.bpf.c
	$(bpf_object)
$(BUILD)/unit/%.bpf.o: tests/unit/bpf/%.bpf.c
	$(bpf_object)
$(BUILD)/bpf/%.bpf.o: src/bpf/%.bpf.c
	$(bpf_object)
# The same by each clang that is supported, whatever the build's own is: tests load and read these, also where there is no compiler.
clangs    := 14 19
clang_obj := $(foreach v,$(clangs),$(BPF_SRC:src/bpf/%.c=$(BUILD)/unit/bpf-$(v)/%.o))
define clang_rule
$(BUILD)/unit/bpf-$(1)/%.bpf.o: override BPF_CC := clang-$(1)
$(BUILD)/unit/bpf-$(1)/%.bpf.o: src/bpf/%.bpf.c
	$$(bpf_object)
endef
$(foreach v,$(clangs),$(eval $(call clang_rule,$(v))))
define bpf_object
	@mkdir -p $(@D)
	$(BPF_CC) -g -O2 -target bpf -mcpu=v2 -D__TARGET_ARCH_$(bpf_arch) -Isrc $(bpf_inc) \
	    -Wall -Wextra -Werror -Wno-unused-function -Wno-unused-parameter -Wno-gnu-variable-sized-type-not-at-end \
	    -MMD -MP -MT $@ -MF $(@:.o=.d) -c -o $@.full $<
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
$(BUILD)/tools/mkassets: $(mkassets_src) $(wildcard tools/mkassets/*.h) src/base/buf.h src/base/content_type.h
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -O1 -Wall -Wextra -Werror -D_GNU_SOURCE -Isrc -o $@ $(mkassets_src) -ldeflate -lxxhash

# What pictures embed, as C arrays.
$(BUILD)/gen/assets.h: $(BUILD)/tools/mkassets $(SVG_FILES)
	@mkdir -p $(@D)
	$(BUILD)/tools/mkassets header $(SVG_FILES) >$@

# What is served, packed, as one object.
report_js := $(WEB_ENTRY:%=$(BUILD)/gen/report.js)
$(BUILD)/gen/report.js: $(BUILD)/tools/mkassets $(WEB_FILES) $(WEB_ENTRY)
	@mkdir -p $(@D)
	$(BUILD)/tools/mkassets bundle $(WEB_ENTRY) >$@
# The page's modules in few files: what the first screen needs is one, what it loads beside another, what is asked for by hand a third.
PAGE_PACKS := page/app.js+page/explore.js page/host.js+page/live.js+page/deeper.js+page/time_panes.js+page/counted.js \
              page/help.js+page/menu.js+page/export.js+page/complete.js page/timeline.js+page/timeline/chart.js
$(BUILD)/gen/web.S: $(BUILD)/tools/mkassets $(WEB_FILES) $(report_js) $(BUILD)/stamp/web
	@rm -rf $(@D)/packs && mkdir -p $(@D)/web
	$(BUILD)/tools/mkassets pack web $(@D)/packs $(PAGE_PACKS)
	$(BUILD)/tools/mkassets embed $(@D) $(filter-out %.js,$(WEB_FILES)) $(report_js:%=report/report.js=%) \
	    $$(cd $(@D)/packs && find * -type f | sort | sed 's,.*,&=$(@D)/packs/&,')
$(BUILD)/gen/web.o: $(BUILD)/gen/web.S
	$(CC) -c -o $@ $<

# --- tests -----------------------------------------------------------------------------------------------------------
# Everything below is one source linked with the library.
link = $(CC) $(cppflags) $(cflags) -MMD -MP -MT $@ -MF $@.d $(ldflags) -o $@ $<
$(BUILD)/unit/t_%: tests/unit/t_%.c $(BUILD)/libcresset.a
	@mkdir -p $(@D)
	$(link) $(BUILD)/libcresset.a -lcheck -lsubunit -lrt $(libs)
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
test-bin: all $(unit_bin) $(LIVE_BIN) $(DOUBLES) $(FIXTURES) $(BUILD)/soak/gpu_windows
test-unit: $(BUILD)/cresset $(if $(T),$(BUILD)/unit/t_$(T) $(BUILD)/tools/tapsum,$(unit_bin)) ## unit tests and fuzz corpora only; T=name for one
	BUILD=$(BUILD) tests/run unit $(T)
test: test-bin ## the ordinary suite; its last line: N passed, N failed, N skipped
	BUILD=$(BUILD) tests/run all
test-full: test-bin $(SOAK_BIN) ## also the long proofs: sanitizers, the other clang, fuzzing, soak
	BUILD=$(BUILD) tests/run full

test-kernels: test-bin ## the features and live tests under other kernels, in machines; hours; KINDS="6.1* newest" for some, RUNS=3
	BUILD=$(BUILD) RUNS=$(RUNS) AGAIN=$(AGAIN) tests/kernels/run $(KINDS)

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

bench: all $(LIVE_BIN) $(BENCH_BIN) $(BUILD)/unit/t_bpf ## every performance promise beside its peer; the table goes into docs/benchmarks.md
	BUILD=$(BUILD) bench/run
bench-store: all $(BUILD)/bench/store ## only the store beside its peers (minutes)
	BUILD=$(BUILD) bench/run store
bench-ui: all ## only the page's flame graph in a browser, beside d3-flame-graph
	BUILD=$(BUILD) bench/run ui

# --- the house -------------------------------------------------------------------------------------------------------
C_FILES  := $(wildcard src/*/*.[ch] src/gpu/inject/*.[ch] tools/*.c tools/*/*.[ch] tests/*/*.[ch] tests/live/prog/*.[ch] tests/unit/*/*.[ch] bench/*.[ch] \
            bench/bpf/*.c bench/store/*.[ch] bench/server/*.[ch])
SH_FILES := $(wildcard quickstart .ci/run tests/run tests/*/run tests/*/*.sh tests/kernels/inside tools/check-* tools/kernels bench/run bench/*.sh web/vendor/make-uplot)
JS_FILES := $(filter-out web/vendor/%,$(wildcard $(foreach dir,web web/* web/*/*,$(dir)/*.js))) \
            $(wildcard tests/web/*.js tests/web/unit/*.js bench/ui/*.js bench/ui/*.mjs)
prettier := tests/web/node_modules/.bin/prettier --log-level warn
fmt: ## format every C file, and JavaScript
	clang-format -i $(C_FILES)
	$(prettier) --write $(JS_FILES)
check-fmt:
	clang-format --dry-run -Werror $(C_FILES)
check-sh:
	shellcheck -x -S warning $(SH_FILES)
check-layers: $(BUILD)/libcresset.a ## includes point downwards only, no state in files
	BUILD=$(BUILD) tools/check-layers
check-web: ## types and form of the pages' JavaScript (./quickstart test installs the checkers)
	tests/web/node_modules/.bin/tsc -p tests/web/tsconfig.json
	@$(prettier) --check $(JS_FILES)
	@awk 'length > 120 { print FILENAME ":" FNR ": longer than 120"; bad = 1 } END { exit bad }' $(JS_FILES)
# Its warnings do not depend on how far it optimizes.
check-cc: ## everything compiles without a warning under clang, too, in build-clang
	$(MAKE) BUILD=build-clang CC=$(CLANG) CFLAGS=-O0 all
check-web-weight: all ## what a browser loads, packed: each file, and whether it is more than promised
	cd tests/web && BUILD=$(BUILD) node --test --test-reporter=spec weight.test.js
pictures: all $(FIXTURES) ## the documentation's pictures that come from recordings of known truth: docs/timeline.png
	cd tests/web && BUILD=$(BUILD) node doc_pictures.js
check: all check-layers check-fmt check-sh check-web check-cc asan ## what must be green before a commit

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
install: all man completions ## into PREFIX=/usr/local (DESTDIR honoured)
	install -D -m 755 $(BUILD)/cresset $(DESTDIR)$(PREFIX)/bin/cresset
	install -D -m 755 $(BUILD)/libcresset-cuda.so $(lib)/cresset/libcresset-cuda.so
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
clean: ## remove every build folder
	rm -rf build build-*
help: ## this list
	@sed -En 's/^([a-z-]+):.*## (.*)/  make \1\t\2/p' Makefile | expand -t 22

-include $(wildcard $(BUILD)/src/*/*.d $(BUILD)/bpf/*.d $(BUILD)/unit/*.d $(BUILD)/unit/bpf-*/*.d $(BUILD)/fuzz/*.d $(BUILD)/soak/*.d $(BUILD)/bench/*.d)
