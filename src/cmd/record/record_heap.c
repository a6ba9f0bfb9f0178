/* Allocations of a command: it loads the library at its start, and samples from its first
 * allocation on. Running processes get it by an attach; it stays in them, parked. Go programs need
 * none. */
#include "attach/attach_library.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/log.h"
#include "base/mem.h"
#include "cmd/cli/installed.h"
#include "cmd/record/record_state.h"
#include "collect/inspect/inspect.h"
#include "gpu/code/probes.h"
#include "mem/go/go_heap.h"
#include "mem/live/live_read.h"
#include "symbol/elf/elf_file.h"
#include "symbol/elf/elf_layout.h"
#include "symbol/elf/elf_tls.h"
#include "symbol/go/gopclntab.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PRELOAD "LD_PRELOAD"
#define MEAN    "CRESSET_MEM_MEAN"

/* --- the command ------------------------------------------------------------------------------ */

/* As execvp finds it. Returns a descriptor; -1: not found. */
static int open_program(const char *name)
{
	const char *path = getenv("PATH");
	struct buf b = { 0 };
	int fd = -1;

	if (strchr(name, '/') || !path)
		return open(name, O_RDONLY | O_CLOEXEC);
	while (fd < 0 && *path) {
		size_t n = strcspn(path, ":");

		buf_clear(&b);
		buf_add(&b, path, n);
		buf_addf(&b, "%s%s", n ? "/" : "", name);
		if (access(buf_cstr(&b), X_OK) == 0)
			fd = open(buf_cstr(&b), O_RDONLY | O_CLOEXEC);
		path += n + (path[n] == ':');
	}
	buf_done(&b);
	return fd;
}

static bool has_loader(const struct elf_file *f)
{
	GElf_Phdr p;
	size_t n = 0;

	for (size_t i = 0; elf_getphdrnum(f->elf, &n) == 0 && i < n; i++)
		if (gelf_getphdr(f->elf, i, &p) && p.p_type == PT_INTERP)
			return true;
	return false;
}

/* The names of symbols and needed libraries are in one table. */
static bool has_name(const struct elf_file *f, const char *name)
{
	enum { MOST = 16 << 20 };
	GElf_Shdr names;

	if (!elf_file_section(f, ".dynstr", SHT_STRTAB, &names) || names.sh_size > MOST)
		return false;
	char *text = xmalloc(names.sh_size + 1);
	size_t n = elf_file_read_some(f, names.sh_offset, text, names.sh_size);
	bool is = memmem(text, n, name, strlen(name) + 1) != NULL;
	free(text);
	return is;
}

/* Returns as go_heap_find. */
static int find_go_heap(const struct elf_file *f, struct err *err)
{
	struct elf_layout layout = { 0 };
	struct gopclntab table = { 0 };
	struct go_heap heap;
	int rc = elf_layout_read(&layout, f, err);

	rc = rc ? rc : go_heap_find(f, &layout, GO_FINDS_HEAP, &table, &heap, err);
	gopclntab_close(&table);
	elf_layout_done(&layout);
	return rc;
}

/* Returns why the program cannot have the library; NULL: it can, or needs none. err: may hold the
 * text. */
static const char *why_not(const struct elf_file *f, struct err *err)
{
	static const char *const sanitizers[] = { "__asan_init", "__tsan_init", "__msan_init",
						  "__lsan_init", "__hwasan_init" };

	if (!has_loader(f)) {
		int rc = find_go_heap(f, err);

		return rc == 0 ? NULL : rc == -ENOTSUP ? err->text : "it is linked statically";
	}
	if (elf_is_musl(f))
		return "it uses musl";
	for (size_t i = 0; i < sizeof sanitizers / sizeof *sanitizers; i++)
		if (has_name(f, sanitizers[i]))
			return "it has the allocator of a sanitizer";
	return NULL;
}

/* A script or another kind of file is left to the kernel. */
static int check_command(const char *name)
{
	struct err err = { 0 }, go = { 0 }, ignored;
	struct elf_file f;
	int fd = open_program(name);
	const char *why = NULL;
	const char *slash = strrchr(name, '/');

	if (strncmp(slash ? slash + 1 : name, "valgrind", 8) == 0)
		why = "it has its own allocator for programs that it runs";
	if (!why && fd >= 0 && elf_file_open(&f, fd, &ignored) == 0) {
		why = why_not(&f, &go);
		elf_file_close(&f);
	}
	if (fd >= 0)
		close(fd);
	if (!why)
		return CMD_OK;
	err_set(&err, EOPNOTSUPP, "cannot record allocations of %s: %s", name, why);
	err_hint(&err, "-e page-fault records memory that is touched first, of any program");
	return cmd_fail(CMD_UNSUPPORTED, &err);
}

/* --- running processes ------------------------------------------------------------------------ */

/* A Go program is read; without a loader it cannot be changed. Returns as go_heap_find. */
static int check_go(uint32_t pid, bool *is_static, struct err *err)
{
	char path[32];
	struct elf_file f;
	int rc = -ENODATA;

	snprintf(path, sizeof path, "/proc/%" PRIu32 "/exe", pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && elf_file_open(&f, fd, err) == 0) {
		*is_static = !has_loader(&f);
		rc = find_go_heap(&f, err);
		elf_file_close(&f);
	}
	if (fd >= 0)
		close(fd);
	return rc;
}

static int check_detached(uint32_t pid, struct err *err)
{
	struct live_now now;

	if (live_peek((pid_t)pid, &now, &(struct err){ 0 }) || now.by_hand != LIVE_DETACHED)
		return 0;
	err_set(err, EOPNOTSUPP, "process %" PRIu32 " is detached", pid);
	return err_hint(err, "cresset mem attach %" PRIu32 " brings it back", pid);
}

static int attach_one(uint32_t pid, const struct buf *image, struct err *err)
{
	const struct gpu_attach_opts opts = {
		.view = &attach_view,
		.library = &mem_attach_library,
		.image = image->data,
		.size = image->len,
		.forced = 1u << GPU_ATTACH_YOUNG,
	};
	struct gpu_attach_report report;
	bool is_static = false;
	int go = check_go(pid, &is_static, err);

	if (is_static && (go == 0 || go == -ENOTSUP))
		return go;
	int rc = gpu_attach(pid, &opts, &report, err);
	if (rc == 0 && report.already)
		rc = check_detached(pid, err);
	if (rc && (go == 0 || inspect_java_heap(pid, &(struct err){ 0 }) == 0)) {
		log_warning(err); /* its C code may have no C library, for example */
		return 0;
	}
	if (rc == 0 && report.loaded)
		log_verbose("process %" PRIu32
			    ": the library is loaded; a thread was stopped for %" PRIu64 " us",
			    pid, report.held_ns / 1000);
	return rc;
}

static int status_of(int rc)
{
	return rc == -ESRCH ? CMD_NO_TARGET : rc == -EPERM ? CMD_PERMISSION : CMD_UNSUPPORTED;
}

/* One that is refused is left out, if there are others. */
static int attach_all(const struct recording *r, const struct buf *image)
{
	const struct sampler_opts *asked = &r->collect.sampler;
	size_t attached = 0;

	for (size_t i = 0; i < asked->n_ids; i++) {
		struct err err = { 0 };
		int rc = attach_one(asked->ids[i], image, &err);

		attached += rc == 0;
		if (rc == 0)
			continue;
		if (i + 1 == asked->n_ids && !attached)
			return cmd_fail(status_of(rc), &err);
		log_warning(&err);
	}
	return CMD_OK;
}

static int attach_library(const struct recording *r)
{
	struct buf image = { 0 };
	struct err err = { 0 };
	int status;

	if (fs_read_at(AT_FDCWD, r->heap_library, GPU_ATTACH_MAX_BYTES, &image, &err) < 0)
		status = cmd_fail(CMD_UNSUPPORTED, &err);
	else
		status = attach_all(r, &image);
	buf_done(&image);
	return status;
}

/* --- the library ------------------------------------------------------------------------------ */

static bool is_recorded(const struct recording *r)
{
	return r->collect.sampler.events & COLLECT_HEAP;
}

int record_heap_prepare(struct recording *r)
{
	struct err err = { 0 };

	bool has_pids = r->opts->pids.n || (r->line->command.n && !r->opts->all);
	r->collect.heap.switches_all =
		is_recorded(r) || (r->collect.sampler.events & COLLECT_LOCK && has_pids);
	if (!is_recorded(r))
		return CMD_OK;
	if (installed_library(MEM_LIBRARY, r->heap_library, &err)) {
		err_hint(&err,
			 "searched the directory of this program and ../lib/cresset from there");
		return cmd_fail(CMD_UNSUPPORTED, &err);
	}
	if (!r->line->command.n)
		return attach_library(r);
	if (strpbrk(r->heap_library, ": ")) {
		err_set(&err, EOPNOTSUPP,
			"cannot record allocations: %s: the loader splits " PRELOAD
			" at colons and spaces",
			r->heap_library);
		return cmd_fail(CMD_UNSUPPORTED, &err);
	}
	const char *before = getenv(PRELOAD);
	r->preload_before = before ? arena_dup(&r->line->arena, before, strlen(before) + 1) : NULL;
	r->collect.heap.library = r->heap_library;
	return check_command(r->line->command.v[0]);
}

/* Adds a list that the loader splits at colons and spaces, except copies of the library, as of
 * another version: two in one program take each other's places, and only one's memory is read. */
static void add_others(struct buf *b, const char *list)
{
	while (*list) {
		size_t n = strcspn(list, ": ");
		const char *slash = memrchr(list, '/', n);
		const char *name = slash ? slash + 1 : list;
		size_t len = list + n - name;

		if (n && !(len == strlen(MEM_LIBRARY) && memcmp(name, MEM_LIBRARY, len) == 0)) {
			buf_add(b, list, n);
			buf_addc(b, ':');
		}
		list += n + (list[n] != '\0');
	}
}

/* Nothing takes the place of a function by its name, so the order does not matter. */
void record_heap_inject(const struct recording *r)
{
	struct buf b = { 0 };
	char mean[24];

	if (!is_recorded(r))
		return;
	if (r->preload_before)
		add_others(&b, r->preload_before);
	buf_adds(&b, r->heap_library);
	setenv(PRELOAD, buf_cstr(&b), 1);
	snprintf(mean, sizeof mean, "%d", LIVE_MEAN_BYTES);
	setenv(MEAN, mean, 0);
	buf_done(&b);
}

/* This program also starts others. */
void record_heap_restore(const struct recording *r)
{
	if (!is_recorded(r))
		return;
	if (r->preload_before)
		setenv(PRELOAD, r->preload_before, 1);
	else
		unsetenv(PRELOAD);
	unsetenv(MEAN);
}
