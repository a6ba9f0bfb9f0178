/* Finds processes with CPython, attaches the runtime, and writes the walker's data to the
 * kernel. */
#include "collect/walker/interpreted.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/vec.h"
#include "bpf/event.h"
#include "collect/process/image.h"
#include "collect/process/object.h"
#include "collect/process/process.h"
#include "collect/process/user_shares.h"
#include "collect/worker/proc_reader.h"
#include "profile/frame.h"
#include "profile/strtab.h"
#include "runtime/runtime.h"
#include "symbol/elf/elf_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	MAX_KINDS = 8,
	MAX_PLACES = 16,          /* objects with a runtime in one process */
	MAX_NAMED = 8 << 10,      /* limit: Python frame names kept in a generation */
	MAX_NAME_BYTES = 1 << 20, /* text of these names */
	ENDED_KEPT = 1 << 10,     /* frames of ended processes, too few to forget */
};

/* All samples of an ended process are named within this time. */
#define NAMED_WITHIN_NS 10000000000ull
#define READ_AGAIN_NS   1000000000ull

struct named_frame {
	enum runtime_named named;
	uint8_t kind;
	uint32_t name, file, line;
	bool is_early;     /* requested before the process was attached */
	uint64_t again_ns; /* the process could not be read: until when; 0: it could be */
};
/* Frames by pid and words. */
struct named_frames {
	struct map index;
	VEC(struct named_frame) all;
	struct strtab texts;
};
/* Memory of a process next to the last read: a read costs two switches between processes, and
 * most are of a few bytes, close to each other. Longer reads are always of the process: a code
 * object is read again to see whether it has changed. */
enum { AHEAD_BYTES = 256, AHEAD_MOST = 64 };
struct ahead {
	uint64_t addr;
	size_t len; /* 0: none */
	uint8_t bytes[AHEAD_BYTES];
};
/* One runtime of a process, and the objects that it was found in. */
struct attached {
	uint32_t pid, kind, user;
	struct proc_reader *reader; /* of its memory */
	struct runtime_process *process;
	struct runtime_place places[MAX_PLACES];
	size_t n, n_named;   /* n_named: frames whose names were requested */
	struct ahead *ahead; /* while a name is read; else NULL */
};
struct interpreted {
	struct object_table *objects;
	struct runtime *runtimes[MAX_KINDS];
	uint8_t frame_kinds[MAX_KINDS];
	struct map by_pid; /* → index in all */
	struct user_shares users;
	VEC(struct attached *) all; /* NULL: unused */
	VEC(uint32_t) free_ids;
	struct named_frames young, old;
	size_t n_ended;     /* frames of ended processes in young */
	uint64_t turned_ns; /* start of young, if ended processes caused it */
	char *refused;      /* see interpreted_refused */
	struct interpreted_stats stats;
};

/* --- life ------------------------------------------------------------------------------------- */

static uint8_t frame_kind(const char *language)
{
	for (int kind = 0; kind < FRAME_KINDS; kind++)
		if (strcmp(frame_kinds[kind].name, language) == 0)
			return kind;
	return FRAME_INTERPRETED;
}

static void named_init(struct named_frames *n)
{
	*n = (struct named_frames){ 0 };
	strtab_init(&n->texts);
}

static void named_done(struct named_frames *n)
{
	map_done(&n->index);
	vec_done(&n->all);
	strtab_done(&n->texts);
}

struct interpreted *interpreted_new(const struct runtime_maps *maps, struct object_table *objects)
{
	struct interpreted *in = xcalloc(1, sizeof *in);

	in->objects = objects;
	for (int i = 0; i < MAX_KINDS && runtimes[i]; i++) {
		in->runtimes[i] = runtimes[i]->open(maps);
		in->frame_kinds[i] = frame_kind(runtimes[i]->language);
	}
	named_init(&in->young);
	named_init(&in->old);
	return in;
}

static void detach(struct attached *a)
{
	runtimes[a->kind]->detach(a->process);
	free(a);
}

void interpreted_free(struct interpreted *in)
{
	if (!in)
		return;
	for (size_t i = 0; i < in->all.n; i++)
		if (in->all.v[i])
			detach(in->all.v[i]);
	for (int i = 0; i < MAX_KINDS && runtimes[i]; i++)
		runtimes[i]->close(in->runtimes[i]);
	map_done(&in->by_pid);
	user_shares_done(&in->users);
	vec_done(&in->all);
	vec_done(&in->free_ids);
	named_done(&in->young);
	named_done(&in->old);
	free(in->refused);
	free(in);
}

/* --- objects ---------------------------------------------------------------------------------- */

/* Looks for a runtime in an object, once. */
static void detect(struct interpreted *in, struct object *o)
{
	struct elf_file f;
	int fd = object_fd(in->objects, o);

	if (fd < 0)
		return;
	o->runtime_known = true;
	if (elf_file_open(&f, fd, NULL))
		return;
	for (int i = 0; runtimes[i] && !o->runtime; i++)
		if (runtimes[i]->detect(&f, o->name, &o->runtime, NULL) == 0)
			o->runtime_kind = runtimes[i];
	elf_file_close(&f);
}

bool interpreted_is_runtime(const struct object *o)
{
	return o->runtime != NULL;
}

/* --- processes -------------------------------------------------------------------------------- */

static bool is_ahead(const struct ahead *w, uint64_t addr, size_t len)
{
	uint64_t at = addr - w->addr;

	return at < w->len && len <= w->len - at;
}

/* Reads up to the end of the page: all of that can be read, or nothing. */
static int read_ahead(const struct attached *a, struct ahead *w, uint64_t addr, size_t len)
{
	enum { PAGE = 4096 };
	size_t left = PAGE - addr % PAGE, n = left < AHEAD_BYTES ? left : AHEAD_BYTES;

	w->len = 0;
	w->addr = addr;
	int rc = proc_reader_memory(a->reader, a->pid, addr, w->bytes, n > len ? n : len);
	if (!rc)
		w->len = n > len ? n : len;
	return rc;
}

static int read_memory(void *ctx, uint64_t addr, void *out, size_t len)
{
	const struct attached *a = ctx;
	struct ahead *w = a->ahead;
	int rc = 0;

	if (!w || len > AHEAD_MOST)
		return proc_reader_memory(a->reader, a->pid, addr, out, len);
	if (!is_ahead(w, addr, len))
		rc = read_ahead(a, w, addr, len);
	if (!rc)
		memcpy(out, w->bytes + (addr - w->addr), len);
	return rc;
}

static struct attached *attached_of(const struct interpreted *in, uint32_t pid)
{
	const uint32_t *id = map_get(&in->by_pid, pid);

	return id ? in->all.v[*id] : NULL;
}

static void keep(struct interpreted *in, struct attached *a)
{
	uint32_t id = in->free_ids.n ? in->free_ids.v[--in->free_ids.n] : in->all.n;

	if (id == in->all.n)
		vec_push(&in->all, a);
	in->all.v[id] = a;
	map_put(&in->by_pid, a->pid, id);
	user_shares_change(&in->users, a->user, 0, 1);
}

/* Drops the older generation; its frames are read again when requested. */
static void turn_generation(struct interpreted *in)
{
	named_done(&in->old);
	in->old = in->young;
	named_init(&in->young);
	in->n_ended = 0;
}

/* Turns the generation if many processes have ended: frames still to be named are in one of the
 * last two. */
static void forget_ended(struct interpreted *in, size_t n_named)
{
	in->n_ended += n_named;
	if (in->n_ended < in->young.all.n / 2 + ENDED_KEPT)
		return;
	uint64_t now_ns = clock_mono_ns();

	if (now_ns >= in->turned_ns + NAMED_WITHIN_NS) {
		turn_generation(in);
		in->turned_ns = now_ns;
	}
}

void interpreted_forget(struct interpreted *in, uint32_t pid)
{
	const uint32_t *id = map_get(&in->by_pid, pid);

	if (!id)
		return;
	forget_ended(in, in->all.v[*id]->n_named);
	user_shares_change(&in->users, in->all.v[*id]->user, 1, 0);
	detach(in->all.v[*id]);
	in->all.v[*id] = NULL;
	vec_push(&in->free_ids, *id);
	map_del(&in->by_pid, pid);
}

/* Finds the objects of the process with a runtime of that kind, each once. */
static size_t find_places(struct interpreted *in, const struct process *p,
			  const struct runtime_kind *kind, struct runtime_place *places)
{
	size_t n = 0;

	for (size_t i = 0; i < p->image->maps.n && n < MAX_PLACES; i++) {
		const struct image_map *m = &p->image->maps.v[i];
		struct object_place place = { p->pid, m->start, m->end, m->pgoff };
		struct object *o = object_use(in->objects, m->object, &place);

		if (o->kind == OBJECT_FILE && !o->runtime_known)
			detect(in, o);
		if (!o->runtime || o->runtime_kind != kind)
			continue;
		if (!n || places[n - 1].object != o->runtime)
			places[n++] = (struct runtime_place){ o->runtime, m->start, m->pgoff };
	}
	return n;
}

const char *interpreted_refused(const struct interpreted *in)
{
	return in->refused;
}

static void note_refused(struct interpreted *in, const struct process *p,
			 const struct runtime_object *runtime, const struct err *err)
{
	for (size_t i = 0; i < p->image->maps.n && !in->refused; i++) {
		const struct object *o = in->objects->all.v[p->image->maps.v[i].object];

		if (o && o->runtime == runtime)
			in->refused = xasprintf("%s: %s", o->name ? o->name : "?", err->text);
	}
}

static bool attach(struct interpreted *in, const struct process *p, uint32_t kind,
		   const struct runtime_place *places, size_t n, bool *waits)
{
	struct attached *a = xmalloc(sizeof *a);
	const struct runtime_memory memory = { read_memory, a };
	struct err err = { 0 };

	*a = (struct attached){
		.pid = p->pid,
		.kind = kind,
		.user = user_shares_owner(&in->users, p->pid),
		.reader = in->objects->reader,
		.n = n,
	};
	memcpy(a->places, places, n * sizeof *places);
	int rc = runtimes[kind]->attach(in->runtimes[kind], p->pid, places, n, &memory, &a->process,
					&err);
	*waits |= rc == -EAGAIN;
	if (rc == -ENOTSUP)
		note_refused(in, p, places[0].object, &err);
	if (rc) {
		free(a);
		return false;
	}
	keep(in, a);
	return true;
}

/* The same objects give the same result. */
static bool is_same(const struct attached *a, uint32_t kind, const struct runtime_place *places,
		    size_t n)
{
	if (!a || a->kind != kind || a->n != n)
		return false;
	for (size_t i = 0; i < n; i++)
		if (a->places[i].object != places[i].object ||
		    a->places[i].start != places[i].start)
			return false;
	return true;
}

bool interpreted_is_likely_file(const char *name)
{
	for (int kind = 0; runtimes[kind]; kind++)
		if (strstr(name, runtimes[kind]->language))
			return true;
	return false;
}

bool interpreted_is_likely(const struct interpreted *in, const struct image *image)
{
	for (size_t i = 0; i < image->maps.n; i++) {
		const struct object *o = in->objects->all.v[image->maps.v[i].object];

		if (o && o->name && interpreted_is_likely_file(o->name))
			return true;
	}
	return false;
}

static bool has_room(struct interpreted *in, uint32_t pid)
{
	uint32_t user = user_shares_owner(&in->users, pid);

	return user_shares_fits(user, user_shares_used(&in->users, user), in->by_pid.n,
				INTERPRETED_MAX);
}

bool interpreted_look(struct interpreted *in, const struct process *p, bool *waits)
{
	struct runtime_place places[MAX_PLACES];

	*waits = false;
	for (uint32_t kind = 0; kind < MAX_KINDS && runtimes[kind]; kind++) {
		size_t n = find_places(in, p, runtimes[kind], places);

		if (is_same(attached_of(in, p->pid), kind, places, n))
			return true;
		interpreted_forget(in, p->pid);
		if (!n)
			continue;
		if (!has_room(in, p->pid)) {
			in->stats.refused++;
			return false;
		}
		return attach(in, p, kind, places, n, waits);
	}
	return false;
}

/* --- names ------------------------------------------------------------------------------------ */

static uint64_t frame_key(uint32_t pid, const uint64_t words[2])
{
	return hash_mix(pid, hash_mix(words[0], words[1]));
}

static struct named_frame *put(struct interpreted *in, uint64_t key, const struct named_frame *f)
{
	if (in->young.all.n >= MAX_NAMED || in->young.texts.arena.total >= MAX_NAME_BYTES)
		turn_generation(in);
	map_put(&in->young.index, key, in->young.all.n);
	vec_push(&in->young.all, *f);
	return &in->young.all.v[in->young.all.n - 1];
}

static const struct named_frame *find(const struct named_frames *n, uint64_t key)
{
	const uint32_t *i = map_get(&n->index, key);

	return i ? &n->all.v[*i] : NULL;
}

/* A frame of a process that was not attached may be requested again once it is, and one that could
 * not be read just then after a while. */
static bool is_settled(const struct interpreted *in, uint32_t pid, const struct named_frame *f)
{
	if (f && f->again_ns)
		return clock_mono_ns() < f->again_ns;
	return f && !(f->is_early && attached_of(in, pid));
}

/* Reads that failed because the process, or the machine, did not respond in time. */
static uint64_t reads_failed(const struct interpreted *in)
{
	struct proc_reader_stats s;

	proc_reader_get_stats(in->objects->reader, &s);
	return s.late + s.refused;
}

static const struct named_frame *read_name(struct interpreted *in, uint32_t pid,
					   const uint64_t words[2])
{
	struct attached *a = attached_of(in, pid);
	struct runtime_frame f = { 0 };
	struct named_frame named = { .named = RUNTIME_GONE, .kind = FRAME_PYTHON, .is_early = !a };

	uint64_t failed = reads_failed(in);

	if (a) {
		struct ahead ahead = { 0 };

		a->n_named++;
		a->ahead = &ahead;
		named.named = runtimes[a->kind]->name_frame(a->process, words, &f);
		a->ahead = NULL;
		named.kind = in->frame_kinds[a->kind];
	}
	if (reads_failed(in) != failed)
		named.again_ns = clock_mono_ns() + READ_AGAIN_NS;
	in->stats.unnamed += named.named == RUNTIME_GONE || named.named == RUNTIME_UNREADABLE;
	struct named_frame *out = put(in, frame_key(pid, words), &named);
	if (named.named == RUNTIME_NAMED) {
		out->name = strtab_put(&in->young.texts, f.name);
		out->file = strtab_put(&in->young.texts, f.file);
		out->line = f.line;
	}
	return out;
}

void interpreted_seen(struct interpreted *in, const struct event_stack *st)
{
	const uint64_t *words = (const uint64_t *)st->addr + st->n_kernel;

	for (uint32_t i = 0; i + 1 < st->n_python && i + 1 < st->n_user; i += 2) {
		uint64_t key = frame_key(st->tgid, words + i);

		if (!is_settled(in, st->tgid, find(&in->young, key)) &&
		    !is_settled(in, st->tgid, find(&in->old, key)))
			read_name(in, st->tgid, words + i);
	}
}

void interpreted_frame(struct interpreted *in, uint32_t pid, const uint64_t words[2],
		       struct interpreted_frame *out)
{
	uint64_t key = frame_key(pid, words);
	const struct named_frame *young = find(&in->young, key);
	const struct named_frame *old = young ? NULL : find(&in->old, key);
	if (!is_settled(in, pid, young ? young : old))
		young = old = NULL;
	const struct named_frame *f = young ? young : old ? old : read_name(in, pid, words);
	const struct strtab *texts = old ? &in->old.texts : &in->young.texts;

	*out = (struct interpreted_frame){
		.named = f->named,
		.kind = f->kind,
		.name = strtab_get(texts, f->name),
		.file = strtab_get(texts, f->file),
		.line = f->line,
	};
}

void interpreted_get_stats(const struct interpreted *in, struct interpreted_stats *out)
{
	*out = in->stats;
}
