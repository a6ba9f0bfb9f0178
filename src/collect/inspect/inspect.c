/* Collects the mapped files of a process, the sources of their symbols, and its runtimes. */
#include "collect/inspect/inspect.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/vec.h"
#include "collect/proc/mapped_file.h"
#include "collect/proc/proc_maps.h"
#include "collect/proc/proc_stat.h"
#include "collect/proc/process_memory.h"
#include "collect/process/elf_names.h"
#include "collect/process/object.h"
#include "collect/process/proc_scan.h"
#include "collect/process/process.h"
#include "collect/process/thread_context.h"
#include "runtime/runtime.h"
#include "symbol/elf/elf_file.h"
#include "symbol/symbol.h"
#include "unwind/table.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- runtimes --------------------------------------------------------------------------------- */

/* Which interpreters a process has (runtime/runtime.h), and whether their frames can be read: those
 * of all its threads now. For doctor; the collector does the same in
 * collect/walker/interpreted.h. */

enum { LOOK_FRAMES = 16384 };

/* An object with an interpreter, and its mapping. */
struct runtime_find {
	size_t kind; /* in runtimes[] */
	struct runtime_place place;
	uint64_t file;                 /* map_key */
	bool is_mapping;               /* one more of the same file: the first has the object */
	struct runtime_object *object; /* NULL: a version or build that cannot be walked */
	struct err err;                /* states why */
};
struct runtime_finds { /* zeroed = empty */
	VEC(struct runtime_find) found;
	VEC(struct runtime_place) anonymous; /* executable memory */
};

static uint64_t map_key(const struct proc_map *m)
{
	uint64_t name = hash_bytes(m->name, strlen(m->name));
	return m->ino ? hash_mix(hash_mix(m->maj, m->min), m->ino) : name;
}

/* m: its first executable mapping. */
static void runtime_finds_add(struct runtime_finds *f, const struct elf_file *elf, const char *path,
			      const struct proc_map *m)
{
	for (size_t i = 0; runtimes[i]; i++) {
		struct runtime_find find = { .kind = i };
		int rc = runtimes[i]->detect(elf, path, &find.object, &find.err);
		if (rc && rc != -ENOTSUP)
			continue;
		find.place = (struct runtime_place){
			.object = find.object, .start = m->start, .end = m->end, .pgoff = m->pgoff
		};
		find.file = map_key(m);
		vec_push(&f->found, find);
	}
}

/* m: another mapping of a file. */
static void runtime_finds_add_mapping(struct runtime_finds *f, const struct proc_map *m)
{
	size_t n = f->found.n;

	for (size_t i = 0; i < n; i++) {
		struct runtime_find find = f->found.v[i];

		if (find.file != map_key(m) || find.is_mapping || !find.object ||
		    !runtimes[find.kind]->is_mapped_twice)
			continue;
		find.is_mapping = true;
		find.place.start = m->start;
		find.place.end = m->end;
		find.place.pgoff = m->pgoff;
		vec_push(&f->found, find);
	}
}

static void runtime_finds_done(struct runtime_finds *f)
{
	for (size_t i = 0; i < f->found.n; i++)
		if (!f->found.v[i].is_mapping)
			runtimes[f->found.v[i].kind]->object_free(f->found.v[i].object);
	vec_done(&f->found);
	vec_done(&f->anonymous);
}

/* doctor runs no walker. */
static int put_nowhere(void *ctx, const char *map, uint32_t key, const void *value, size_t size)
{
	(void)ctx, (void)map, (void)key, (void)value, (void)size;
	return 0;
}

static int drop_nothing(void *ctx, const char *map, uint32_t key)
{
	(void)ctx, (void)map, (void)key;
	return 0;
}

static int read_memory(void *ctx, uint64_t addr, void *out, size_t len)
{
	return process_memory_read(*(const uint32_t *)ctx, addr, out, len);
}

static void look(const struct runtime_kind *kind, struct runtime_process *p,
		 struct inspected_runtime *out)
{
	uint64_t(*words)[2] = xcalloc(LOOK_FRAMES, sizeof *words);
	size_t threads, n = kind->look(p, words, LOOK_FRAMES, &threads);

	out->threads = threads;
	for (size_t i = 0; i < n; i++) {
		struct runtime_frames frames;
		enum runtime_named named = kind->name_frame(p, words[i], &frames);
		out->named += named == RUNTIME_NAMED;
		out->left_out += named == RUNTIME_LEFT_OUT;
		out->gone += named == RUNTIME_GONE;
	}
	*(kind->makes_code ? &out->methods : &out->frames) = n;
	free(words);
}

static char *said_of(const struct runtime_kind *kind, const struct runtime_process *p)
{
	struct buf b = { 0 };
	kind->describe(p, &b);
	while (b.len && b.data[b.len - 1] == '\n')
		b.len--;
	char *said = xstrndup(buf_cstr(&b), b.len);
	buf_done(&b);
	return said;
}

static void inspect_kind(const struct runtime_kind *kind, const struct runtime_place *places,
			 size_t n, uint32_t pid, struct inspected_runtime *out)
{
	static const struct runtime_maps maps = { .put = put_nowhere, .drop = drop_nothing };
	struct runtime_memory memory = { .read = read_memory, .ctx = &pid };
	struct runtime_process *process;
	struct runtime *r = kind->open(&maps);
	struct err err = { 0 };

	if (kind->attach(r, pid, places, n, &memory, &process, &err)) {
		out->said = xstrdup(err.text);
	} else {
		if (kind->look)
			look(kind, process, out);
		out->said = said_of(kind, process); /* the threads have shown whether it is right */
		out->is_code = kind->makes_code;
		out->is_read = out->named || (out->is_code && !out->methods);
		kind->detach(process);
	}
	kind->close(r);
}

static bool is_copy(const struct runtime_kind *kind, const struct runtime_object *o,
		    const struct runtime_place *anonymous)
{
	return kind->is_copy_size && kind->is_copy_size(o, anonymous->end - anonymous->start);
}

static void inspect_runtimes(const struct runtime_finds *f, uint32_t pid,
			     struct inspected_runtimes *out)
{
	for (size_t kind = 0; runtimes[kind]; kind++) {
		VEC(struct runtime_place) places = { 0 };
		const struct err *why = NULL;
		for (size_t i = 0; i < f->found.n; i++) {
			if (f->found.v[i].kind != kind)
				continue;
			if (f->found.v[i].object)
				vec_push(&places, f->found.v[i].place);
			else
				why = &f->found.v[i].err;
		}
		struct inspected_runtime r = { .name = runtimes[kind]->name,
					       .language = runtimes[kind]->language };
		for (size_t i = 0; places.n && i < f->anonymous.n; i++)
			if (is_copy(runtimes[kind], places.v[0].object, &f->anonymous.v[i]))
				vec_push(&places, f->anonymous.v[i]);
		if (places.n)
			inspect_kind(runtimes[kind], places.v, places.n, pid, &r);
		else if (why)
			r.said = xstrdup(why->text);
		if (r.said)
			vec_push(&out->all, r);
		vec_done(&places);
	}
}

static void inspected_runtimes_done(struct inspected_runtimes *r)
{
	for (size_t i = 0; i < r->all.n; i++)
		free(r->all.v[i].said);
	vec_done(&r->all);
}

/* --- an inspection ---------------------------------------------------------------------------- */

struct inspector {
	uint32_t pid;
	struct name_files *files;
	struct inspection *out;
	struct runtime_finds runtimes;
	struct map seen; /* hash of what identifies a file → index in out->files */
};

/* --- one file --------------------------------------------------------------------------------- */

static int open_map(uint32_t pid, const struct proc_map *m)
{
	struct stat st;
	struct mapped_file f = {
		.pid = pid,
		.start = m->start,
		.end = m->end,
		.pgoff = m->pgoff,
		.path = m->name,
		.maj = m->maj,
		.min = m->min,
		.ino = m->ino,
	};
	return strcmp(m->name, "[vdso]") == 0 ? vdso_open() : mapped_file_open(&f, &st);
}

static const char *frame_section(const struct elf_file *f)
{
	GElf_Shdr section;
	size_t n = 0;
	GElf_Phdr segment;
	if (elf_file_section(f, ".eh_frame", SHT_NULL, &section))
		return ".eh_frame";
	for (size_t i = 0; elf_getphdrnum(f->elf, &n) == 0 && i < n; i++)
		if (gelf_getphdr(f->elf, i, &segment) && segment.p_type == PT_GNU_EH_FRAME)
			return ".eh_frame";
	return elf_file_section(f, ".debug_frame", SHT_NULL, &section) ? ".debug_frame" : NULL;
}

static void inspect_elf(struct inspector *in, int fd, const struct proc_map *m, struct inspected *o)
{
	struct elf_file f;
	struct unwind_table table = { 0 };
	GElf_Shdr section;
	if (elf_file_open(&f, fd, NULL))
		return;
	o->build_id_len = elf_file_build_id(&f, o->build_id, sizeof o->build_id);
	o->is_go = elf_file_section(&f, ".gopclntab", SHT_NULL, &section) ||
		   elf_file_section(&f, ".note.go.buildid", SHT_NULL, &section);
	if (f.header.e_ident[EI_CLASS] == ELFCLASS32)
		in->out->is_32bit = true;
	runtime_finds_add(&in->runtimes, &f, o->path, m);
	if (unwind_table_build(fd, &table, NULL) == 0) {
		o->frames_from = frame_section(&f);
		o->frame_rows = table.n_rows;
		unwind_table_done(&table);
	}
	elf_file_close(&f);
}

/* Returns the path here of a descriptor's file. */
static char *path_of(int fd)
{
	char link[40], path[4096];
	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	ssize_t n = readlink(link, path, sizeof path);
	return n > 0 ? xstrndup(path, n) : NULL;
}

/* Looks for debug files as elf_names would, and retains the last result: the one that fitted, if
 * any. */
struct asking {
	struct elf_names names;
	char *last;
};

static int locate(void *ctx, const struct debug_request *req, unsigned attempt)
{
	struct asking *a = ctx;
	int fd = elf_names_locate(&a->names, req, attempt);
	free(a->last);
	a->last = fd < 0 ? NULL : path_of(fd);
	return fd;
}

static void inspect_names(struct inspector *in, int fd, struct inspected *o)
{
	struct asking a = { 0 };
	struct symbol_source *source;
	if (elf_names_init(&a.names, in->files, fd, o->path, in->pid))
		return;
	if (symbol_open_elf(fd, locate, &a, &source, NULL) == 0) {
		o->names_from = source->origin;
		o->functions = source->functions;
		symbol_close(source);
	}
	if (o->names_from)
		o->debug_file = a.last;
	else
		free(a.last);
	elf_names_close(&a.names);
}

/* --- all mappings ----------------------------------------------------------------------------- */

static void add_file(struct inspector *in, const struct proc_map *m)
{
	uint32_t n = in->out->files.n;
	uint32_t i = n < INSPECT_MAX_FILES ? map_intern(&in->seen, map_key(m), n, NULL, NULL) : n;
	if (i == INSPECT_MAX_FILES)
		return;
	if (i < n) {
		in->out->files.v[i].mapped_bytes += m->end - m->start;
		runtime_finds_add_mapping(&in->runtimes, m);
		return;
	}
	static const char deleted[] = " (deleted)";
	struct inspected o = { .is_deleted = str_ends(m->name, deleted),
			       .mapped_bytes = m->end - m->start };
	o.path = xstrndup(m->name, strlen(m->name) - (o.is_deleted ? sizeof deleted - 1 : 0));
	int fd = open_map(in->pid, m);
	o.open_errno = fd < 0 ? -fd : 0;
	if (fd >= 0) {
		inspect_elf(in, fd, m, &o);
		inspect_names(in, fd, &o);
		close(fd);
	}
	vec_push(&in->out->files, o);
}

static bool on_map(void *ctx, const struct proc_map *m)
{
	struct inspector *in = ctx;
	bool is_file = m->ino || strcmp(m->name, "[vdso]") == 0;
	if (!m->executable || strcmp(m->name, "[vsyscall]") == 0)
		return true;
	if (is_file) {
		add_file(in, m);
		return true;
	}
	in->out->jit_bytes += m->end - m->start;
	vec_push(&in->runtimes.anonymous,
		 ((struct runtime_place){ .start = m->start, .end = m->end }));
	return true;
}

static void look_for_perf_map(struct inspector *in)
{
	struct stat st;
	snprintf(in->out->perf_map, sizeof in->out->perf_map, "/tmp/perf-%" PRIu32 ".map",
		 proc_ns_pid(in->pid));
	int fd = process_root_open(in->pid, in->out->perf_map, &st);
	in->out->has_perf_map = fd >= 0;
	if (fd >= 0)
		close(fd);
}

/* Does the same as the collector. */
static void inspect_context(uint32_t pid, struct inspected_context *out)
{
	enum { OPEN_FILES = 16 };
	struct object_table objects;
	struct process_table processes;
	uint32_t object = OBJECT_NONE;

	object_table_init(&objects, OPEN_FILES);
	process_table_init(&processes, &objects);
	struct process *p = process_add(&processes, pid);
	proc_scan(&processes, p, 0);
	out->is_there = p->context_addr;
	if (out->is_there)
		out->read_errno = -process_context_read(pid, p->context_addr, &out->says);
	if (p->image)
		out->variable_errno =
			-thread_context_find(pid, p->image, &objects, &out->recipe, &object);
	if (object != OBJECT_NONE && out->variable_errno != ENODATA)
		out->variable_in = xstrdup(objects.all.v[object]->name);
	process_table_done(&processes);
	object_table_done(&objects);
}

static void add_remedies(struct inspector *in, const char *debuginfod_urls)
{
	VEC(struct remedy) wishes = { 0 };
	VEC(struct inspected *) files = { 0 };
	char root[32];
	snprintf(root, sizeof root, "/proc/%" PRIu32 "/root", in->pid);
	struct remedy_opts opts = { .root = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC),
				    .debuginfod_urls = debuginfod_urls };
	for (size_t i = 0; i < in->out->files.n && opts.root >= 0; i++) {
		struct inspected *o = &in->out->files.v[i];
		if (o->path[0] != '/' || o->open_errno || !remedy_is_wanted(o->names_from))
			continue;
		vec_push(&wishes, (struct remedy){ .path = o->path });
		vec_push(&files, o);
	}
	remedies_find(&opts, wishes.v, wishes.n);
	for (size_t i = 0; i < wishes.n; i++)
		files.v[i]->remedy = wishes.v[i];
	vec_done(&wishes);
	vec_done(&files);
	if (opts.root >= 0)
		close(opts.root);
}

int inspect_process(uint32_t pid, struct name_files *files, const char *debuginfod_urls,
		    struct inspection *out, struct err *err)
{
	struct inspection result = { 0 };
	struct inspector in = { .pid = pid, .files = files, .out = &result };
	struct proc_stat stat;
	int rc = proc_stat_read(pid, &stat);
	if (rc == 0)
		rc = proc_maps_read(pid, on_map, &in);
	map_done(&in.seen);
	if (rc == 0)
		inspect_runtimes(&in.runtimes, pid, &result.runtimes);
	runtime_finds_done(&in.runtimes);
	if (rc) {
		inspection_done(&result);
		rc = rc == -ENOENT ? -ESRCH : rc == -EPERM ? -EACCES : rc;
		return err_set(err, -rc, "cannot inspect process %" PRIu32 ": %s", pid,
			       strerror(-rc));
	}
	memcpy(result.comm, stat.name, sizeof result.comm);
	look_for_perf_map(&in);
	inspect_context(pid, &result.context);
	add_remedies(&in, debuginfod_urls);
	*out = result;
	return 0;
}

void inspection_done(struct inspection *i)
{
	for (size_t k = 0; k < i->files.n; k++) {
		free(i->files.v[k].path);
		free(i->files.v[k].debug_file);
	}
	vec_done(&i->files);
	inspected_runtimes_done(&i->runtimes);
	free(i->context.variable_in);
}
