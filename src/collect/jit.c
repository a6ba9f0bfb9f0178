#include "collect/jit.h"

#include "base/mem.h"
#include "collect/account.h"
#include "collect/mapped_file.h"
#include "collect/proc_stat.h"
#include "collect/symbolize.h"
#include "symbol/symbol.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LOOK_AGAIN_NS 1000000000ull

struct pending {
	struct sample sample; /* its stack is not known yet */
	uint32_t part;        /* enum account_part */
	uint32_t n;
	uint64_t stack[];
};

void jit_table_init(struct jit_table *t, struct sink *sink, struct accounts *accounts,
		    struct object_table *objects, struct map *leaf_samples)
{
	*t = (struct jit_table){ .sink = sink,
				 .accounts = accounts,
				 .objects = objects,
				 .leaf_samples = leaf_samples,
				 .unnamed_frame = FRAME_NONE };
}

void jit_table_set_sink(struct jit_table *t, struct sink *sink)
{
	t->sink = sink;
	t->unnamed_frame = FRAME_NONE;
}

void jit_table_done(struct jit_table *t)
{
	vec_done(&t->all);
}

/* --- files ------------------------------------------------------------------------------------ */

/* Anybody can write to /tmp: only a file of the process's own user or of root names its code. */
static bool owner_is_right(uint32_t pid, const struct stat *file)
{
	struct stat process;
	char path[32];

	snprintf(path, sizeof path, "/proc/%" PRIu32, pid);
	return stat(path, &process) == 0 && (file->st_uid == 0 || file->st_uid == process.st_uid);
}

static int open_perf_map(uint32_t pid)
{
	uint32_t ns_pid = proc_ns_pid(pid);
	char path[48];
	struct stat st;

	snprintf(path, sizeof path, "/tmp/perf-%" PRIu32 ".map", ns_pid);
	int fd = ns_pid ? process_root_open(pid, path, &st) : -ESRCH;
	if (fd >= 0 && !owner_is_right(pid, &st)) {
		close(fd);
		fd = -EACCES;
	}
	return fd;
}

/* The process has its dump mapped, which is also how a forked child tells whose code it
 * inherited. */
static int open_dump(struct jit_table *t, const struct process *p)
{
	for (size_t i = 0; p->image && i < p->image->maps.n; i++) {
		const struct image_map *m = &p->image->maps.v[i];

		if (!object_is_jitdump(t->objects->all.v[m->object]))
			continue;
		struct object_place place = { p->pid, m->start, m->end, m->pgoff };
		struct object *o = object_use(t->objects, m->object, &place);
		int fd = object_fd(t->objects, o);
		if (fd >= 0)
			return fcntl(fd, F_DUPFD_CLOEXEC, 0);
	}
	return -1;
}

static void keep_file(struct jit_table *t, int *at, int fd)
{
	*at = fd < 0 ? -1 : fd;
	t->n_files += fd >= 0;
}

static void close_file(struct jit_table *t, int *at)
{
	if (*at < 0)
		return;
	close(*at);
	*at = -1;
	t->n_files--;
}

void jit_look(struct jit_table *t, struct process *p, uint64_t now_ns)
{
	struct jit *j = p->jit;

	j->tried_ns = now_ns;
	if (t->n_files + 2 > JIT_MAX_FILES) {
		jit_flush_all(t);
		for (size_t i = 0; i < t->all.n; i++) {
			close_file(t, &t->all.v[i]->map_fd);
			close_file(t, &t->all.v[i]->dump_fd);
		}
	}
	if (j->map_fd < 0)
		keep_file(t, &j->map_fd, open_perf_map(p->pid));
	if (j->dump_fd < 0)
		keep_file(t, &j->dump_fd, open_dump(t, p));
}

/* --- handing over ----------------------------------------------------------------------------- */

struct jit_names {
	struct symbol_source *map, *dump; /* NULL = none */
};

static struct jit_names open_names(const struct jit *j)
{
	struct jit_names names = { 0 };

	if (j->map_fd >= 0 && symbol_open_perf_map(j->map_fd, &names.map, NULL))
		names.map = NULL;
	if (j->dump_fd >= 0 && symbol_open_jitdump(j->dump_fd, &names.dump, NULL))
		names.dump = NULL;
	return names;
}

static uint32_t jit_frame(struct sink *sink, const char *name)
{
	struct frame f = {
		.kind = FRAME_JIT,
		.mapping = MAPPING_NONE,
		.function = sink_string(sink, name),
	};

	return sink->ops->frame(sink, &f);
}

static uint32_t name_frame(struct jit_table *t, const struct jit_names *names, uint64_t addr)
{
	struct symbol sym;

	if (names->dump && symbol_lookup(names->dump, addr, &sym))
		return jit_frame(t->sink, sym.name);
	if (names->map && symbol_lookup(names->map, addr, &sym))
		return jit_frame(t->sink, sym.name);
	if (t->unnamed_frame == FRAME_NONE)
		t->unnamed_frame = jit_frame(t->sink, "[anon]");
	return t->unnamed_frame;
}

static void hand_over(struct jit_table *t, const struct jit_names *names, struct pending *p,
		      uint32_t *frames)
{
	if (names->dump)
		symbol_jitdump_at(names->dump, p->sample.time_ns);
	for (uint32_t i = 0; i < p->n; i++) {
		uint64_t addr = p->stack[i] & ~JIT_ADDRESS;

		frames[i] = p->stack[i] & JIT_ADDRESS ? name_frame(t, names, addr) : addr;
	}
	p->sample.stack = t->sink->ops->stack(t->sink, frames, p->n);
	account_sample(t->accounts, &p->sample, p->part);
	if (p->n)
		leaf_count(t->leaf_samples, frames[p->n - 1]);
}

/* Each reading of the same files counts only what is bad beyond what was counted before. */
static void count_skipped(struct jit_table *t, struct jit *j, const struct jit_names *names)
{
	uint64_t skipped =
		(names->map ? names->map->skipped : 0) + (names->dump ? names->dump->skipped : 0);

	if (skipped <= j->skipped)
		return;
	t->sink->ops->loss(t->sink, LOSS_SYMBOLS_SKIPPED, skipped - j->skipped);
	j->skipped = skipped;
}

static void flush(struct jit_table *t, struct jit *j)
{
	if (!j->pending.len)
		return;
	struct jit_names names = open_names(j);
	VEC(uint32_t) frames = { 0 };

	count_skipped(t, j, &names);

	for (size_t at = 0; at < j->pending.len;) {
		struct pending *p = (struct pending *)(j->pending.data + at);

		vec_reserve(&frames, p->n);
		hand_over(t, &names, p, frames.v);
		at += sizeof *p + p->n * sizeof p->stack[0];
	}
	symbol_close(names.map);
	symbol_close(names.dump);
	vec_done(&frames);
	t->pending_bytes -= j->pending.len;
	buf_done(&j->pending);
}

void jit_flush_all(struct jit_table *t)
{
	for (size_t i = 0; i < t->all.n; i++)
		flush(t, t->all.v[i]);
}

void jit_close(struct jit_table *t, struct process *p)
{
	struct jit *j = p->jit;

	if (!j)
		return;
	flush(t, j);
	close_file(t, &j->map_fd);
	close_file(t, &j->dump_fd);
	for (size_t i = 0; i < t->all.n; i++)
		if (t->all.v[i] == j)
			t->all.v[i] = t->all.v[--t->all.n];
	free(j);
	p->jit = NULL;
}

void jit_hold(struct jit_table *t, struct process *p, const struct sample *s, uint32_t part,
	      const uint64_t *stack, uint32_t n)
{
	struct pending head = { .sample = *s, .part = part, .n = n };
	uint64_t now_ns = s->time_ns;

	if (!p->jit) {
		p->jit = xmalloc(sizeof *p->jit);
		*p->jit = (struct jit){ .map_fd = -1, .dump_fd = -1 };
		vec_push(&t->all, p->jit);
	}
	struct jit *j = p->jit;
	if ((j->map_fd < 0 || j->dump_fd < 0) &&
	    (!j->tried_ns || now_ns >= j->tried_ns + LOOK_AGAIN_NS))
		jit_look(t, p, now_ns);
	buf_add(&j->pending, &head, sizeof head);
	buf_add(&j->pending, stack, n * sizeof *stack);
	t->pending_bytes += sizeof head + n * sizeof *stack;
	if (t->pending_bytes > JIT_MAX_PENDING_BYTES)
		jit_flush_all(t);
}
