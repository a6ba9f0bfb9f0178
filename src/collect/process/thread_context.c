/* Locates the thread-local variable in a process. */
#include "collect/process/thread_context.h"

#include "base/mem.h"
#include "bpf/trace.h"
#include "collect/process/image.h"
#include "collect/process/object.h"
#include "collect/worker/proc_reader.h"
#include "symbol/elf/elf_file.h"
#include "symbol/elf/elf_tls.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* No process has more modules, or a larger block below the thread pointer. */
enum { MODULES_MAX = 65536 };
#define STATIC_MAX_BYTES ((int64_t)1 << 30)

/* --- the words -------------------------------------------------------------------------------- */

static bool is_static_offset(int64_t offset)
{
	return offset < 0 && offset > -STATIC_MAX_BYTES;
}

static int use_offset(int64_t offset, struct trace_recipe *r)
{
	if (!is_static_offset(offset))
		return -EAGAIN;
	r->place = TRACE_STATIC;
	r->offset = offset;
	return 0;
}

static int use_module(const struct thread_context_place *p, uint64_t module, uint64_t offset,
		      struct trace_recipe *r)
{
	if (!module || module >= MODULES_MAX || offset != p->tls->value)
		return -EAGAIN;
	r->place = p->is_musl ? TRACE_MUSL : TRACE_GLIBC;
	r->module = module;
	r->offset = offset;
	return 0;
}

/* The argument of a descriptor: an offset, which is negative, or the address of module, offset and
 * (glibc) generation. */
static int use_descriptor(const struct thread_context_place *p, uint64_t argument,
			  const struct thread_memory *memory, struct trace_recipe *r)
{
	uint64_t words[3] = { 0 };

	if (is_static_offset(argument))
		return use_offset(argument, r);
	if (memory->read(memory->ctx, argument, words,
			 p->is_musl ? sizeof words - sizeof *words : sizeof words))
		return -EAGAIN;
	r->generation = words[2];
	return use_module(p, words[0], words[1], r);
}

int thread_context_recipe(const struct thread_context_place *p, const struct thread_memory *memory,
			  struct trace_recipe *out)
{
	const struct elf_tls *tls = p->tls;
	struct trace_recipe r = { 0 };
	uint64_t at = p->start - p->pgoff - tls->code_skew + tls->words_at, words[2] = { 0 };
	size_t n = tls->words == ELF_TLS_OFFSET ? 1 : 2, proof = 0;
	int rc;

	if (p->is_program) {
		rc = use_offset(tls->program_offset, &r);
	} else if (tls->words == ELF_TLS_NO_WORDS) {
		rc = -EOPNOTSUPP;
	} else if (memory->read(memory->ctx, at, words, n * sizeof *words)) {
		rc = -EAGAIN;
	} else if (tls->words == ELF_TLS_OFFSET) {
		rc = use_offset(words[0], &r);
	} else if (tls->words == ELF_TLS_MODULE) {
		rc = use_module(p, words[0], words[1], &r);
	} else {
		rc = use_descriptor(p, words[1], memory, &r);
		proof = 1;
	}
	if (rc)
		return rc;
	if (!p->is_program) {
		r.proof_at = at + proof * sizeof *words;
		r.proof = words[proof];
	}
	*out = r;
	return 0;
}

/* --- the files -------------------------------------------------------------------------------- */

struct program {
	struct stat st; /* st_ino 0: unknown */
	bool is_musl;
};

/* Returns 0, also if it cannot be opened; -EAGAIN: no answer yet from the process that opens it. */
static int find_program(struct proc_reader *reader, uint32_t pid, struct program *p)
{
	struct elf_file f;
	int fd = proc_reader_open_program(reader, pid, &p->st);

	if (fd == -EAGAIN || fd == -EBUSY || fd == -EPIPE)
		return -EAGAIN;
	if (fd < 0) {
		p->st.st_ino = 0;
		return 0;
	}
	if (elf_file_open(&f, fd, NULL) == 0) {
		p->is_musl = elf_is_musl(&f);
		elf_file_close(&f);
	}
	close(fd);
	return 0;
}

/* Reads the file once; returns NULL if it has no such variable. */
static const struct elf_tls *variable_of(struct object_table *objects, struct object *o)
{
	struct elf_file f;
	struct elf_tls tls;

	if (o->variable_known)
		return o->variable;
	int fd = object_fd(objects, o);
	if (fd < 0)
		return NULL;
	o->variable_known = true;
	if (elf_file_open(&f, fd, NULL))
		return NULL;
	if (elf_tls_find(&f, THREAD_CONTEXT_VARIABLE, &tls) == 0)
		o->variable = xmemdup(&tls, sizeof tls);
	elf_file_close(&f);
	return o->variable;
}

struct source {
	struct proc_reader *reader;
	uint32_t pid;
};

static int read_process(void *ctx, uint64_t addr, void *out, size_t len)
{
	const struct source *s = ctx;

	return proc_reader_memory(s->reader, s->pid, addr, out, len);
}

/* Tries one mapping: 0, or why it leads to no recipe. */
static int try_map(uint32_t pid, const struct image_map *m, struct object_table *objects,
		   const struct program *program, bool wants_program, struct trace_recipe *out)
{
	struct object_place where = { pid, m->start, m->end, m->pgoff };
	struct object *o = object_use(objects, m->object, &where);
	bool is_program =
		o->opened && program->st.st_ino == o->file_ino && program->st.st_dev == o->dev;

	if (o->kind != OBJECT_FILE || is_program != wants_program)
		return -ENODATA;
	const struct thread_context_place place = { variable_of(objects, o), m->start, m->pgoff,
						    is_program, program->is_musl };
	struct source source = { objects->reader, pid };
	const struct thread_memory memory = { read_process, &source };
	return place.tls ? thread_context_recipe(&place, &memory, out) : -ENODATA;
}

int thread_context_find(uint32_t pid, const struct image *image, struct object_table *objects,
			struct trace_recipe *out, uint32_t *object)
{
	struct program program = { 0 };
	int rc = find_program(objects->reader, pid, &program);

	if (rc)
		return rc;
	rc = -ENODATA;
	for (int libraries = 0; libraries < 2; libraries++) {
		for (size_t i = 0; i < image->maps.n; i++) {
			const struct image_map *m = &image->maps.v[i];
			int one = try_map(pid, m, objects, &program, !libraries, out);

			if (one == -ENODATA || (one && rc == -EAGAIN))
				continue;
			*object = m->object;
			rc = one;
			if (!rc)
				return 0;
		}
	}
	return rc;
}
