/* CPython as a row of runtimes[]. */
#include "base/buf.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/vec.h"
#include "runtime/cpython_layout.h"
#include "runtime/cpython_parts.h"
#include "runtime/layout_set.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* --- names ------------------------------------------------------------------------------------ */

/* The code objects seen in frames of a process: each is read once. */

/* Limits per process; a service may have hundreds of processes. When either limit is reached, all
 * entries are dropped and read again; callers cache the frames' names, so that is rare. */
/* limit CPYTHON_MAX_KEPT_BYTES: bytes kept of a process's code objects */
enum { CPYTHON_MAX_KEPT = 1024, CPYTHON_MAX_KEPT_BYTES = 128 << 10 };

struct cpython_kept {
	uint64_t addr;
	uint32_t stamp;
	uint16_t version;
	struct cpython_code code;
};
struct cpython_names { /* zeroed = empty */
	VEC(struct cpython_kept) v;
	struct map by_code;
	size_t bytes;
};

static void cpython_names_done(struct cpython_names *n)
{
	for (size_t i = 0; i < n->v.n; i++)
		cpython_code_done(&n->v.v[i].code);
	vec_done(&n->v);
	map_done(&n->by_code);
	n->bytes = 0;
}

struct wanted {
	const struct cpython_names *names;
	uint64_t addr;
	uint32_t stamp;
};

static bool is_wanted(const void *ctx, uint32_t value)
{
	const struct wanted *w = ctx;
	const struct cpython_kept *k = &w->names->v.v[value];

	return k->addr == w->addr && k->stamp == w->stamp;
}

/* Returns NULL if it is not read yet. Valid until the next cpython_names_add. */
static const struct cpython_kept *cpython_names_get(const struct cpython_names *n, uint64_t addr,
						    uint32_t stamp)
{
	const struct wanted wanted = { n, addr, stamp };
	uint32_t at;

	return map_lookup(&n->by_code, hash_mix(addr, stamp), is_wanted, &wanted, &at) ? &n->v.v[at]
										       : NULL;
}

/* Takes ownership of the code. */
static const struct cpython_kept *cpython_names_add(struct cpython_names *n,
						    struct cpython_kept kept)
{
	if (n->v.n >= CPYTHON_MAX_KEPT || n->bytes >= CPYTHON_MAX_KEPT_BYTES)
		cpython_names_done(n);
	const struct wanted wanted = { n, kept.addr, kept.stamp };
	uint32_t fresh = n->v.n;
	vec_push(&n->v, kept);
	n->bytes += cpython_code_size(&kept.code);
	map_intern(&n->by_code, hash_mix(kept.addr, kept.stamp), fresh, is_wanted, &wanted);
	return &n->v.v[fresh];
}

/* --- objects ---------------------------------------------------------------------------------- */

struct runtime_object {
	struct cpython_file file;
};

struct runtime {
	struct runtime_maps maps;
	struct layout_set layouts;
};

/* One libpython of a process. */
struct attached {
	struct cpython_shape shape;
	uint64_t head_at;
	uint64_t code_type;
	uint32_t hex;
	const char *by;
	bool checked; /* that the layout is right: before, there was no thread to check it with */
	bool refused;
};
struct runtime_process {
	struct runtime *runtime;
	uint32_t pid;
	struct runtime_memory memory;
	struct attached attached[CPYTHON_MAX_RUNTIMES];
	uint32_t n;
	struct cpython_names names;
	struct runtime_counts counts;
};

/* --- objects ---------------------------------------------------------------------------------- */

static int detect(const struct elf_file *f, const char *path, struct runtime_object **out,
		  struct err *err)
{
	struct runtime_object o;
	int rc = cpython_file_read(f, path, &o.file, err);

	if (rc == 0)
		*out = xmemdup(&o, sizeof o);
	return rc;
}

static void object_free(struct runtime_object *o)
{
	free(o);
}

static struct runtime *runtime_open(const struct runtime_maps *maps)
{
	struct runtime *r = xcalloc(1, sizeof *r);

	r->maps = *maps;
	layout_set_init(&r->layouts, CPYTHON_LAYOUTS, sizeof(struct cpython_layout),
			CPYTHON_MAX_LAYOUTS);
	return r;
}

static void runtime_close(struct runtime *r)
{
	if (r)
		layout_set_done(&r->layouts);
	free(r);
}

/* --- a process -------------------------------------------------------------------------------- */

static int find_shape(const struct cpython_file *file, uint64_t runtime_at,
		      const struct runtime_memory *m, struct attached *out, struct err *err)
{
	uint64_t said[CPYTHON_SAID_WORDS];

	if (cpython_layout_of(file->version, &out->shape))
		return 0;
	int rc = m->read(m->ctx, runtime_at, said, sizeof said);
	if (rc < 0)
		return err_set(err, -rc, "its memory cannot be read: %s", strerror(-rc));
	return cpython_layout_said(said, &out->shape, err);
}

/* 3.6 has no _PyRuntime. If the head of its list has no symbol, the running thread leads to its
 * interpreter. The oldest thread, the last of the list, stays and has a pointer to the interpreter,
 * so that pointer serves as the head. */
static int find_head_36(uint64_t current_at, const struct cpython_layout *l,
			const struct runtime_memory *m, uint64_t *head_at)
{
	struct cpython_thread threads[256];
	uint64_t state = 0;
	int rc = m->read(m->ctx, current_at, &state, sizeof state);

	if (rc < 0 || !state)
		return rc < 0 ? rc : -EAGAIN;
	size_t n = cpython_threads(l, state + l->thread_interp, m, threads,
				   sizeof threads / sizeof *threads);
	if (!n)
		return -EAGAIN;
	*head_at = threads[n - 1].state + l->thread_interp;
	return 0;
}

/* Checks whether frames can be trusted. Returns -EAGAIN if that is unknown yet. */
static int check(struct attached *a, const struct runtime_memory *m)
{
	int rc = a->checked ? 0 : cpython_threads_check(&a->shape.layout, a->head_at, m);

	if (rc == 0)
		a->checked = true;
	else if (rc != -EAGAIN)
		a->refused = true;
	return rc;
}

static int attach_file(const struct cpython_file *file, uint64_t bias,
		       const struct runtime_memory *m, struct attached *out, struct err *err)
{
	struct attached a = { .hex = file->hex, .by = file->by };
	int rc = find_shape(file, file->runtime + bias, m, &a, err);

	if (rc < 0)
		return rc;
	a.code_type = file->code_type ? file->code_type + bias : 0;
	a.head_at = file->runtime + bias + a.shape.head;
	if (!file->runtime &&
	    (rc = find_head_36(file->current + bias, &a.shape.layout, m, &a.head_at)) < 0)
		return err_set(err, -rc, "CPython 3.6 without a thread that runs");
	rc = check(&a, m);
	if (rc == -EAGAIN && !a.shape.is_known)
		return err_set(err, EAGAIN, "CPython has not started yet");
	if (rc < 0 && rc != -EAGAIN)
		return err_set(err, -rc,
			       "CPython 3.%u of an unknown build: its threads are not at the "
			       "expected place",
			       a.shape.layout.version & 255);
	*out = a;
	return 0;
}

static int attach_place(struct runtime_process *p, const struct runtime_place *place,
			struct cpython_process *row, struct err *err)
{
	const struct cpython_file *file = &place->object->file;
	struct cpython_runtime *r = &row->runtimes[row->n];
	struct attached *a = &p->attached[p->n];
	uint64_t bias;

	if (p->n == CPYTHON_MAX_RUNTIMES)
		return err_set(err, ENOTSUP, "more than %d libpythons in a process",
			       CPYTHON_MAX_RUNTIMES);
	if (!mapped_code_bias(&file->code, place->start, place->pgoff, &bias))
		return err_set(err, ENOENT, "its code is not mapped");
	int rc = attach_file(file, bias, &p->memory, a, err);
	if (rc < 0)
		return rc;
	rc = layout_set_add(&p->runtime->layouts, &p->runtime->maps, &a->shape.layout);
	if (rc < 0)
		return err_set(err, -rc, "no memory for its layout: %s", strerror(-rc));
	*r = (struct cpython_runtime){ .head_at = a->head_at,
				       .layout = rc,
				       .n_loops = file->n_loops };
	for (uint32_t i = 0; i < file->n_loops; i++)
		r->loops[i] = (struct code_range){ file->loops[i].start + bias,
						   file->loops[i].end + bias };
	row->n++;
	p->n++;
	return 0;
}

static void detach(struct runtime_process *p)
{
	if (!p)
		return;
	if (p->n)
		p->runtime->maps.drop(p->runtime->maps.ctx, CPYTHON_PROCESSES, p->pid);
	cpython_names_done(&p->names);
	free(p);
}

/* Attaches every libpython that can be walked. If none can, returns the first error. */
static int attach(struct runtime *runtime, uint32_t pid, const struct runtime_place *places,
		  size_t n, const struct runtime_memory *memory, struct runtime_process **out,
		  struct err *err)
{
	struct runtime_process *p = xcalloc(1, sizeof *p);
	struct cpython_process row = { 0 };
	struct err first = { 0 };
	int rc = 0, why = n ? 0 : err_set(&first, ENODATA, "CPython is not in the process");

	p->runtime = runtime;
	p->pid = pid;
	p->memory = *memory;
	for (size_t i = 0; i < n; i++) {
		rc = attach_place(p, &places[i], &row, why ? NULL : &first);
		why = why ? why : rc;
	}
	if (!p->n && why) {
		if (err)
			*err = first;
		detach(p);
		return why;
	}
	rc = runtime->maps.put(runtime->maps.ctx, CPYTHON_PROCESSES, pid, &row, sizeof row);
	if (rc < 0) {
		p->n = 0;
		detach(p);
		return err_set(err, -rc, "no memory for the process: %s", strerror(-rc));
	}
	*out = p;
	return 0;
}

/* --- names ------------------------------------------------------------------------------------ */

static enum runtime_named named_by(int rc)
{
	return rc == -ESTALE ? RUNTIME_GONE : RUNTIME_UNREADABLE;
}

/* A frame does not say which libpython its code object belongs to: tries all of them. */
static enum runtime_named read_code(struct runtime_process *p, uint64_t addr, uint32_t stamp,
				    const struct cpython_kept **out)
{
	struct cpython_kept kept = { .addr = addr, .stamp = stamp };
	enum runtime_named named = RUNTIME_UNREADABLE;

	for (uint32_t i = 0; i < p->n; i++) {
		struct attached *a = &p->attached[i];

		if (a->refused || check(a, &p->memory) < 0)
			continue;
		int rc = cpython_code_read(&a->shape.layout, &p->memory, addr, stamp, a->code_type,
					   &kept.code);
		if (rc == 0) {
			kept.version = a->shape.layout.version;
			*out = cpython_names_add(&p->names, kept);
			return RUNTIME_NAMED;
		}
		named = named_by(rc);
	}
	return named;
}

/* Python itself hides a frame that has not reached its first traced instruction
 * (_PyFrame_IsIncomplete). */
static enum runtime_named frame_of(const struct cpython_kept *kept, uint32_t offset,
				   struct runtime_frame *out)
{
	const struct cpython_code *code = &kept->code;
	bool has_begun = (int32_t)offset >= 0;

	if (code->first_traced && (!has_begun || offset < code->first_traced))
		return RUNTIME_LEFT_OUT;
	*out = (struct runtime_frame){ .name = code->name,
				       .file = code->file,
				       .start_line = code->first_line };
	if (!has_begun)
		out->line = code->first_line;
	else if (code->lines)
		out->line = cpython_line(kept->version, code->lines, code->lines_size,
					 code->first_line, offset);
	return RUNTIME_NAMED;
}

static enum runtime_named name_frame(struct runtime_process *p, const uint64_t words[2],
				     struct runtime_frames *out)
{
	uint64_t addr = words[0] & CPYTHON_ADDRESS;
	uint32_t stamp = words[1] >> 32;
	const struct cpython_kept *kept = cpython_names_get(&p->names, addr, stamp);
	enum runtime_named named = kept ? RUNTIME_NAMED : read_code(p, addr, stamp, &kept);

	if (named == RUNTIME_NAMED)
		named = frame_of(kept, (uint32_t)words[1], &out->v[0]);
	out->n = 1;
	p->counts.frames[named]++;
	return named;
}

/* --- display ---------------------------------------------------------------------------------- */

static void describe(const struct runtime_process *p, struct buf *out)
{
	for (uint32_t i = 0; i < p->n; i++) {
		const struct attached *a = &p->attached[i];

		buf_addf(out, "CPython 3.%u", a->shape.layout.version & 255);
		if (a->hex)
			buf_addf(out, ".%u", a->hex >> 8 & 255);
		buf_addf(out, ", identified by %s", a->by);
		if (a->refused)
			buf_adds(out,
				 "; its threads are not at the expected place: native frames only");
		else if (!a->checked)
			buf_adds(out, "; no thread yet");
		else if (!a->shape.is_known)
			buf_adds(out,
				 "; newer than all known versions, read as the newest of them");
		buf_addc(out, '\n');
	}
}

static size_t look(const struct runtime_process *p, uint64_t (*words)[2], size_t max,
		   size_t *n_threads)
{
	enum { THREADS = 4096 };
	struct cpython_thread *threads = xcalloc(THREADS, sizeof *threads);
	struct cpython_frame frame[512];
	size_t n = 0;

	*n_threads = 0;
	for (uint32_t i = 0; i < p->n; i++) {
		const struct cpython_layout *l = &p->attached[i].shape.layout;
		size_t found =
			cpython_threads(l, p->attached[i].head_at, &p->memory, threads, THREADS);

		*n_threads += found;
		for (size_t k = 0; k < found && n < max; k++) {
			size_t deep = sizeof frame / sizeof *frame;

			deep = cpython_frames(l, threads[k].state, &p->memory, frame,
					      deep < max - n ? deep : max - n);
			memcpy(words[n], frame, deep * sizeof *frame);
			n += deep;
		}
	}
	free(threads);
	return n;
}

static const struct runtime_counts *counts(const struct runtime_process *p)
{
	return &p->counts;
}

const struct runtime_kind cpython_runtime = {
	.name = "CPython",
	.language = "python",
	.file_name = "python",
	.detect = detect,
	.object_free = object_free,
	.open = runtime_open,
	.close = runtime_close,
	.attach = attach,
	.detach = detach,
	.name_frame = name_frame,
	.look = look,
	.describe = describe,
	.counts = counts,
};
