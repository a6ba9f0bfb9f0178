#include "collect/inspect_runtime.h"

#include "base/mem.h"
#include "base/str.h"
#include "collect/process_memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { LOOK_FRAMES = 16384 };

/* --- what is mapped ----------------------------------------------------------------------------- */

void runtime_finds_add(struct runtime_finds *f, const struct elf_file *elf, const char *path,
		       uint64_t start, uint64_t pgoff)
{
	for (size_t i = 0; runtimes[i]; i++) {
		struct runtime_find find = { .kind = i };
		int rc = runtimes[i]->detect(elf, path, &find.object, &find.err);
		if (rc && rc != -ENOTSUP)
			continue;
		find.place = (struct runtime_place){ .object = find.object,
						     .start = start,
						     .pgoff = pgoff };
		vec_push(&f->found, find);
	}
}

void runtime_finds_done(struct runtime_finds *f)
{
	for (size_t i = 0; i < f->found.n; i++)
		runtimes[f->found.v[i].kind]->object_free(f->found.v[i].object);
	vec_done(&f->found);
}

/* --- the process -------------------------------------------------------------------------------- */

/* Nobody walks for doctor. */
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
		struct runtime_frame frame;
		enum runtime_named named = kind->name_frame(p, words[i], &frame);
		out->named += named == RUNTIME_NAMED;
		out->left_out += named == RUNTIME_LEFT_OUT;
	}
	out->frames = n;
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
		look(kind, process, out);
		out->said = said_of(kind, process); /* the threads have told whether it is right */
		out->is_read = out->named;
		kind->detach(process);
	}
	kind->close(r);
}

void inspect_runtimes(const struct runtime_finds *f, uint32_t pid, struct inspected_runtimes *out)
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
		if (places.n)
			inspect_kind(runtimes[kind], places.v, places.n, pid, &r);
		else if (why)
			r.said = xstrdup(why->text);
		if (r.said)
			vec_push(&out->all, r);
		vec_done(&places);
	}
}

void inspected_runtimes_done(struct inspected_runtimes *r)
{
	for (size_t i = 0; i < r->all.n; i++)
		free(r->all.v[i].said);
	vec_done(&r->all);
}
