/* Finds processes with language runtimes, attaches these, and writes the walker's data to the
 * kernel. */
#include "collect/walker/interpreted.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/vec.h"
#include "bpf/event.h"
#include "bpf/runtime_frame.h"
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
#include <time.h>

enum {
	MAX_KINDS = 8,
	MAX_PLACES = 16, /* objects with a runtime in one process */
	/* limit: frames of runtimes with names kept in a generation */
	MAX_NAMED = 8 << 10,
	MAX_NAME_BYTES = 1 << 20, /* text of these names */
	/* limit: functions with names that the walker has sent, in a generation */
	MAX_TOLD = 32 << 10,
	ENDED_KEPT = 1 << 10, /* frames of ended processes, too few to forget */
};

/* All samples of an ended process are named within this time. */
#define NAMED_WITHIN_NS 10000000000ull
/* Less than the time after which samples are resolved. */
#define READ_AGAIN_NS   100000000ull

struct named_frame {
	enum runtime_named named;
	uint8_t kind;
	uint32_t first, n; /* functions, innermost first */
	bool is_early;     /* requested before the process was attached */
	uint64_t again_ns; /* the process could not be read: until when; 0: it could be */
};
struct named_function {
	uint32_t name, file, line;
};
/* Frames by pid and words. */
struct named_frames {
	struct map index;
	VEC(struct named_frame) all;
	VEC(struct named_function) functions;
	struct strtab texts;
};
/* Memory of a process next to the last reads: a read costs two switches between processes, and
 * most are of a few bytes, close to each other. Memory that is read again is read from the process
 * again: this shows whether it has changed. Longer reads are always of the process. */
enum { AHEAD_BYTES = 1024, AHEAD_MOST = 64, AHEAD_WINDOWS = 16 };
struct ahead_window {
	uint64_t addr;
	size_t len; /* 0: none */
	uint8_t bytes[AHEAD_BYTES];
	bool is_given[AHEAD_BYTES]; /* bytes that were read from it */
};
struct ahead {
	struct ahead_window windows[AHEAD_WINDOWS];
	uint32_t next; /* the one that is replaced next */
};
/* limit: reads for the name of a frame */
enum { NAME_MAX_READS = 4096 };
/* limit: bytes read for the name of a frame: the largest source, and more */
enum { NAME_MAX_BYTES = 20 << 20 };
/* One runtime of a process, and the objects that it was found in. */
struct attached {
	uint32_t pid, kind, user;
	struct proc_reader *reader; /* of its memory */
	struct runtime_process *process;
	struct runtime_place places[MAX_PLACES];
	size_t n, n_named;   /* n_named: frames whose names were requested */
	struct ahead *ahead; /* while a name is read; else NULL */
	uint32_t reads_left; /* of that name */
	size_t bytes_left;
};
struct interpreted {
	struct object_table *objects;
	struct runtime *runtimes[MAX_KINDS];
	uint8_t frame_kinds[MAX_KINDS];
	struct map by_key; /* attached_key → index in all */
	struct user_shares users;
	VEC(struct attached *) all; /* NULL: unused */
	VEC(uint32_t) free_ids;
	struct named_frames young, old;
	/* Functions that the walker has sent (runtime/runtime.h, name_function). */
	struct named_frames told, told_before;
	struct buf name, file; /* of one of them */
	size_t n_ended;        /* frames of ended processes in young */
	uint64_t turned_ns;    /* start of young, if ended processes caused it */
	struct ahead ahead;    /* while a name is read */
	uint64_t begun_ns, waited_ns;
	char *refused; /* see interpreted_refused */
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
	vec_done(&n->functions);
	strtab_done(&n->texts);
}

struct interpreted *interpreted_new(const struct runtime_maps *maps, struct object_table *objects)
{
	struct interpreted *in = xcalloc(1, sizeof *in);

	in->objects = objects;
	in->begun_ns = clock_mono_ns();
	for (int i = 0; i < MAX_KINDS && runtimes[i]; i++) {
		in->runtimes[i] = runtimes[i]->open(maps);
		in->frame_kinds[i] = frame_kind(runtimes[i]->language);
	}
	named_init(&in->young);
	named_init(&in->old);
	named_init(&in->told);
	named_init(&in->told_before);
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
	map_done(&in->by_key);
	user_shares_done(&in->users);
	vec_done(&in->all);
	vec_done(&in->free_ids);
	named_done(&in->young);
	named_done(&in->old);
	named_done(&in->told);
	named_done(&in->told_before);
	buf_done(&in->name);
	buf_done(&in->file);
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

int interpreted_runtime_of(const struct object *o)
{
	for (int i = 0; o->runtime && runtimes[i]; i++)
		if (o->runtime_kind == runtimes[i])
			return i;
	return -1;
}

/* --- processes -------------------------------------------------------------------------------- */

static struct ahead_window *find_ahead(struct ahead *ahead, uint64_t addr, size_t len)
{
	for (int i = 0; i < AHEAD_WINDOWS; i++) {
		struct ahead_window *w = &ahead->windows[i];
		uint64_t at = addr - w->addr;

		if (at < w->len && len <= w->len - at)
			return w;
	}
	return NULL;
}

/* Reads up to the end of the page: all of that can be read, or nothing. */
static int read_ahead(const struct attached *a, struct ahead_window *w, uint64_t addr, size_t len)
{
	enum { PAGE = 4096 };
	size_t left = PAGE - addr % PAGE, n = left < AHEAD_BYTES ? left : AHEAD_BYTES;

	w->len = 0;
	w->addr = addr;
	memset(w->is_given, 0, sizeof w->is_given);
	int rc = proc_reader_memory(a->reader, a->pid, addr, w->bytes, n > len ? n : len);
	if (!rc)
		w->len = n > len ? n : len;
	return rc;
}

static void forget_ahead(struct ahead *ahead)
{
	for (int i = 0; i < AHEAD_WINDOWS; i++)
		ahead->windows[i].len = 0;
}

/* Marks the bytes as given. Returns whether one was. */
static bool is_given(struct ahead_window *w, size_t at, size_t len)
{
	bool was_given = false;

	for (size_t i = at; i < at + len; i++) {
		was_given |= w->is_given[i];
		w->is_given[i] = true;
	}
	return was_given;
}

static int read_memory(void *ctx, uint64_t addr, void *out, size_t len)
{
	struct attached *a = ctx;

	if (a->ahead) { /* a name is read */
		if (!a->reads_left || len > a->bytes_left)
			return -ENOBUFS;
		a->reads_left--;
		a->bytes_left -= len;
	}
	struct ahead_window *w = a->ahead && len ? find_ahead(a->ahead, addr, len) : NULL;
	int rc = 0;

	if (!a->ahead || len > AHEAD_MOST || !len)
		return proc_reader_memory(a->reader, a->pid, addr, out, len);
	if (!w) {
		w = &a->ahead->windows[a->ahead->next++ % AHEAD_WINDOWS];
		rc = read_ahead(a, w, addr, len);
	}
	if (!rc && is_given(w, addr - w->addr, len)) {
		rc = read_ahead(a, w, w->addr, addr - w->addr + len);
		if (!rc)
			is_given(w, addr - w->addr, len);
	}
	if (!rc)
		memcpy(out, w->bytes + (addr - w->addr), len);
	return rc;
}

static uint64_t attached_key(uint32_t pid, uint32_t kind)
{
	return (uint64_t)pid * MAX_KINDS + kind;
}

static struct attached *attached_of(const struct interpreted *in, uint32_t pid, uint32_t kind)
{
	const uint32_t *id =
		kind < MAX_KINDS ? map_get(&in->by_key, attached_key(pid, kind)) : NULL;

	return id ? in->all.v[*id] : NULL;
}

static void keep(struct interpreted *in, struct attached *a)
{
	uint32_t id = in->free_ids.n ? in->free_ids.v[--in->free_ids.n] : in->all.n;

	if (id == in->all.n)
		vec_push(&in->all, a);
	in->all.v[id] = a;
	map_put(&in->by_key, attached_key(a->pid, a->kind), id);
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

static void forget_kind(struct interpreted *in, uint32_t pid, uint32_t kind)
{
	const uint32_t *id = map_get(&in->by_key, attached_key(pid, kind));

	if (!id)
		return;
	forget_ended(in, in->all.v[*id]->n_named);
	user_shares_change(&in->users, in->all.v[*id]->user, 1, 0);
	detach(in->all.v[*id]);
	in->all.v[*id] = NULL;
	vec_push(&in->free_ids, *id);
	map_del(&in->by_key, attached_key(pid, kind));
}

void interpreted_forget(struct interpreted *in, uint32_t pid)
{
	for (uint32_t kind = 0; kind < MAX_KINDS && runtimes[kind]; kind++)
		forget_kind(in, pid, kind);
}

/* Adds anonymous memory that may be a copy of code. Returns the number of places. */
static size_t find_copies(const struct process *p, const struct runtime_kind *kind,
			  struct runtime_place *places, size_t n)
{
	const struct runtime_object *object = n && kind->is_copy_size ? places[0].object : NULL;

	for (size_t i = 0; object && i < p->image->maps.n && n < MAX_PLACES; i++) {
		const struct image_map *m = &p->image->maps.v[i];

		if (m->object == OBJECT_ANON && kind->is_copy_size(object, m->end - m->start))
			places[n++] = (struct runtime_place){ .start = m->start, .end = m->end };
	}
	return n;
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
		if (!n || places[n - 1].object != o->runtime || kind->is_mapped_twice)
			places[n++] =
				(struct runtime_place){ o->runtime, m->start, m->pgoff, m->end };
	}
	return find_copies(p, kind, places, n);
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
static bool is_same(const struct attached *a, const struct runtime_place *places, size_t n)
{
	if (!a || a->n != n)
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
		if (strstr(name, runtimes[kind]->file_name))
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

	return user_shares_fits(user, user_shares_used(&in->users, user), in->by_key.n,
				INTERPRETED_MAX);
}

/* Returns whether the walker knows of that runtime in the process. */
static bool look_for(struct interpreted *in, const struct process *p, uint32_t kind, bool *waits)
{
	struct runtime_place places[MAX_PLACES];
	size_t n = find_places(in, p, runtimes[kind], places);

	if (n && is_same(attached_of(in, p->pid, kind), places, n))
		return true;
	forget_kind(in, p->pid, kind);
	if (!n)
		return false;
	if (has_room(in, p->pid))
		return attach(in, p, kind, places, n, waits);
	in->stats.refused++;
	return false;
}

uint32_t interpreted_look(struct interpreted *in, const struct process *p, bool *waits)
{
	uint32_t found = 0;

	*waits = false;
	for (uint32_t kind = 0; kind < MAX_KINDS && runtimes[kind]; kind++)
		found |= (uint32_t)look_for(in, p, kind, waits) << kind;
	return found;
}

bool interpreted_has(const struct interpreted *in, uint32_t pid, uint32_t runtime)
{
	return attached_of(in, pid, runtime) != NULL;
}

int interpreted_runtime_at(const struct interpreted *in, uint32_t pid, uint64_t addr)
{
	for (int kind = 0; runtimes[kind]; kind++) {
		const struct attached *a =
			runtimes[kind]->is_copy_size ? attached_of(in, pid, kind) : NULL;

		for (size_t i = 0; a && i < a->n; i++)
			if (!a->places[i].object &&
			    addr - a->places[i].start < a->places[i].end - a->places[i].start)
				return kind;
	}
	return -1;
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

/* --- functions that the walker sends ---------------------------------------------------------- */

static const struct runtime_kind *kind_of(uint64_t what)
{
	uint32_t kind = RUNTIME_NUMBER_OF(what);

	return kind < RUNTIME_NUMBERS ? runtimes[kind] : NULL;
}

static bool is_told(const uint64_t words[2])
{
	const struct runtime_kind *kind = kind_of(words[0]);

	return kind && kind->name_function;
}

static uint64_t function_key(uint32_t pid, uint64_t what, uint32_t stamp)
{
	const uint64_t words[2] = { what, stamp };

	return frame_key(pid, words);
}

/* Returns whether there was no space for more functions, so that some are forgotten. */
static bool make_room(struct interpreted *in)
{
	if (in->told.functions.n < MAX_TOLD && in->told.texts.arena.total < MAX_NAME_BYTES)
		return false;
	named_done(&in->told_before);
	in->told_before = in->told;
	named_init(&in->told);
	return true;
}

bool interpreted_told(struct interpreted *in, const struct event_function *f)
{
	const uint64_t words[2] = { f->what };

	if (!is_told(words))
		return false;
	in->name.len = in->file.len = 0;
	if (!kind_of(f->what)->name_function(f, &in->name, &in->file))
		return false;
	bool is_over = make_room(in);
	struct strtab *texts = &in->told.texts;
	uint64_t key = function_key(f->tgid, f->what, f->stamp);
	const uint32_t *known = map_get(&in->told.index, key);
	struct named_function named = { strtab_put(texts, buf_cstr(&in->name)),
					strtab_put(texts, buf_cstr(&in->file)), f->line };

	if (known) {
		in->told.functions.v[*known] = named;
		return is_over;
	}
	map_put(&in->told.index, key, in->told.functions.n);
	vec_push(&in->told.functions, named);
	return is_over;
}

static const struct named_frames *find_told(const struct interpreted *in, uint64_t key,
					    uint32_t *at)
{
	const struct named_frames *from[] = { &in->told, &in->told_before };

	for (size_t i = 0; i < sizeof from / sizeof *from; i++) {
		const uint32_t *found = map_get(&from[i]->index, key);

		if (found) {
			*at = *found;
			return from[i];
		}
	}
	return NULL;
}

static void frames_told(struct interpreted *in, uint32_t pid, const uint64_t words[2],
			struct interpreted_frames *out)
{
	uint32_t at;
	const struct named_frames *from =
		find_told(in, function_key(pid, words[0], RUNTIME_STAMP_OF(words[1])), &at);

	*out = (struct interpreted_frames){ .named = from ? RUNTIME_NAMED : RUNTIME_GONE,
					    .kind = in->frame_kinds[RUNTIME_NUMBER_OF(words[0])],
					    .is_pending = !from };
	in->stats.unnamed += !from;
	if (!from)
		return;
	const struct named_function *f = &from->functions.v[at];
	out->n = 1;
	out->v[0] = (struct interpreted_frame){ strtab_get(&from->texts, f->name),
						strtab_get(&from->texts, f->file),
						RUNTIME_OFFSET_OF(words[1]) };
}

/* --- names of functions in a process ---------------------------------------------------------- */

static const struct named_frame *find(const struct named_frames *n, uint64_t key)
{
	const uint32_t *i = map_get(&n->index, key);

	return i ? &n->all.v[*i] : NULL;
}

/* A frame of a process that was not attached may be requested again once it is, and one that could
 * not be read just then after a while. */
static bool is_settled(const struct interpreted *in, uint32_t pid, uint32_t kind,
		       const struct named_frame *f)
{
	if (f && f->again_ns)
		return clock_mono_ns() < f->again_ns;
	return f && !(f->is_early && attached_of(in, pid, kind));
}

/* Waits a moment for the response to a read that is late, as long as all waits are within
 * 1/WAIT_SHARE of the time: while one is late, other reads fail immediately, and names are lost. */
static bool wait_for_reader(struct interpreted *in)
{
	enum { WAIT_SHARE = 20 };
	const uint64_t moment_ns = 4000000, saved_ns = 200000000;
	const struct timespec moment = { .tv_nsec = (long)moment_ns };

	if (in->waited_ns > (clock_mono_ns() - in->begun_ns) / WAIT_SHARE + saved_ns)
		return false;
	in->waited_ns += moment_ns;
	nanosleep(&moment, NULL);
	return true;
}

/* Reads that came too late. */
static uint64_t reads_late(const struct interpreted *in)
{
	struct proc_reader_stats s;

	proc_reader_get_stats(in->objects->reader, &s);
	return s.late;
}

static enum runtime_named name_with(struct interpreted *in, struct attached *a,
				    const uint64_t words[2], struct runtime_frames *out)
{
	enum runtime_named named;
	uint64_t late;

	a->n_named++;
	a->reads_left = NAME_MAX_READS;
	a->bytes_left = NAME_MAX_BYTES;
	a->ahead = &in->ahead;
	do {
		late = reads_late(in);
		forget_ahead(a->ahead);
		named = runtimes[a->kind]->name_frame(a->process, words, out);
	} while (reads_late(in) != late && wait_for_reader(in));
	a->ahead = NULL;
	return named;
}

/* Reads that failed because the process, or the machine, did not respond in time. */
static uint64_t reads_failed(const struct interpreted *in)
{
	struct proc_reader_stats s;

	proc_reader_get_stats(in->objects->reader, &s);
	return s.late + s.refused;
}

static void put_functions(struct named_frames *to, struct named_frame *f,
			  const struct runtime_frames *frames)
{
	f->first = to->functions.n;
	f->n = frames->n;
	for (uint32_t i = 0; i < frames->n; i++)
		vec_push(&to->functions,
			 (struct named_function){ strtab_put(&to->texts, frames->v[i].name),
						  strtab_put(&to->texts, frames->v[i].file),
						  frames->v[i].line });
}

static const struct named_frame *read_name(struct interpreted *in, uint32_t pid,
					   const uint64_t words[2])
{
	uint32_t kind = RUNTIME_NUMBER_OF(words[0]);
	struct attached *a = attached_of(in, pid, kind);
	struct runtime_frames f = { 0 };
	struct named_frame named = {
		.named = RUNTIME_GONE,
		.kind = kind < MAX_KINDS ? in->frame_kinds[kind] : FRAME_INTERPRETED,
		.is_early = !a,
	};

	uint64_t failed = reads_failed(in);

	if (a)
		named.named = name_with(in, a, words, &f);
	/* A runtime may take memory that it could not read for something else. */
	if (reads_failed(in) != failed && named.named != RUNTIME_NAMED &&
	    named.named != RUNTIME_OWN)
		named.again_ns = clock_mono_ns() + READ_AGAIN_NS;
	in->stats.unnamed += named.named == RUNTIME_GONE || named.named == RUNTIME_UNREADABLE;
	struct named_frame *out = put(in, frame_key(pid, words), &named);
	if (named.named == RUNTIME_NAMED || named.named == RUNTIME_OWN)
		put_functions(&in->young, out, &f);
	return out;
}

/* Reads the name of a frame unless it is known. */
static void see(struct interpreted *in, uint32_t pid, const uint64_t words[2])
{
	uint64_t key = frame_key(pid, words);
	uint32_t kind = RUNTIME_NUMBER_OF(words[0]);

	if (is_told(words))
		return;
	if (!is_settled(in, pid, kind, find(&in->young, key)) &&
	    !is_settled(in, pid, kind, find(&in->old, key)))
		read_name(in, pid, words);
}

void interpreted_seen(struct interpreted *in, const struct event_stack *st)
{
	const uint64_t *words = (const uint64_t *)st->addr + st->n_kernel;
	uint32_t at = 0;

	for (; at + 1 < st->n_python && at + 1 < st->n_user; at += 2)
		see(in, st->tgid, words + at);
	for (; st->flags & STACK_INLINE && at < st->n_user; at++)
		if (is_runtime_frame(words[at]) && at + 1 < st->n_user)
			see(in, st->tgid, words + at++);
}

void interpreted_frames(struct interpreted *in, uint32_t pid, const uint64_t words[2],
			struct interpreted_frames *out)
{
	uint64_t key = frame_key(pid, words);

	if (is_told(words)) {
		frames_told(in, pid, words, out);
		return;
	}
	const struct named_frame *young = find(&in->young, key);
	const struct named_frame *old = young ? NULL : find(&in->old, key);
	if (!is_settled(in, pid, RUNTIME_NUMBER_OF(words[0]), young ? young : old))
		young = old = NULL;
	const struct named_frame *f = young ? young : old ? old : read_name(in, pid, words);
	const struct named_frames *from = old ? &in->old : &in->young;

	out->named = f->named;
	out->kind = f->kind;
	out->n = f->n;
	out->is_pending = f->again_ns != 0;
	for (uint32_t i = 0; i < f->n; i++) {
		const struct named_function *function = &from->functions.v[f->first + i];

		out->v[i] = (struct interpreted_frame){ strtab_get(&from->texts, function->name),
							strtab_get(&from->texts, function->file),
							function->line };
	}
}

void interpreted_get_stats(const struct interpreted *in, struct interpreted_stats *out)
{
	*out = in->stats;
}
