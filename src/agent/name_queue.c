/* Requests the files of mappings with unnamed frames one after the other, and limits the CPU time
 * spent on each. */
#include "agent/name_queue.h"

#include "agent/name_guard.h"
#include "agent/symbols_upload.h"
#include "base/clock.h"
#include "base/log.h"
#include "collect/process/symbolize.h"
#include "profile/frame.h"
#include "profile/profile.h"

void name_queue_init(struct name_queue *n, const struct name_files_opts *files)
{
	*n = (struct name_queue){
		.clock = { clock_mono_ns, clock_thread_ns },
		.budget = { .per_s_ns = NAME_QUEUE_PER_S_NS, .most_ns = NAME_QUEUE_MOST_NS },
	};
	name_files_open(&n->files, files);
}

void name_queue_begin(struct name_queue *n)
{
	for (size_t i = 0; i < n->wants.n; i++) {
		map_done(&n->wants.v[i].frames);
		n->wants.v[i].mapping = MAPPING_NONE;
		n->wants.v[i].is_asked = false;
	}
	vec_clear(&n->looked_up.v);
	n->was_asked = false;
	if (n->asks)
		name_requests_finish_all(n->asks);
	if (n->wants.n >= NAME_QUEUE_MAX_FILES) {
		vec_clear(&n->wants);
		map_clear(&n->by_key);
	}
	map_done(&n->by_mapping);
	n->seen_frames = 0;
}

void name_queue_done(struct name_queue *n)
{
	name_queue_begin(n);
	vec_done(&n->wants);
	map_done(&n->by_key);
	map_done(&n->done);
	vec_done(&n->looked_up.v);
	name_files_close(&n->files);
}

void name_queue_forget(struct name_queue *n)
{
	map_clear(&n->done);
}

static struct name_queue_want *want_of(struct name_queue *n, const struct profile *dict,
				       uint32_t mapping)
{
	const uint32_t *known = map_get(&n->by_mapping, mapping);

	if (known)
		return &n->wants.v[*known];
	uint64_t key = name_mapping_key(dict, mapping);
	uint32_t i = map_intern(&n->by_key, key, n->wants.n, NULL, NULL);
	if (i == n->wants.n)
		vec_push(&n->wants, (struct name_queue_want){ .key = key });
	n->wants.v[i].mapping = mapping;
	map_put(&n->by_mapping, mapping, i);
	return &n->wants.v[i];
}

static enum symbols_state state_of(const struct name_queue *n, const struct profile *dict,
				   uint32_t mapping)
{
	const struct mapping *m = &dict->frames.mappings.v[mapping];

	return n->symbols ? symbols_thread_state(n->symbols, m->build_id, m->build_id_len)
			  : SYMBOLS_NONE;
}

static void want_frame(struct name_queue *n, struct name_queue_want *w, uint64_t offset,
		       uint32_t frame)
{
	if (!w->frames.n)
		w->since_ns = n->clock.mono_ns();
	map_put(&w->frames, offset, frame);
	if (n->asks)
		name_requests_add(n->asks, name_frame_key(w->key, offset));
}

void name_queue_look(struct name_queue *n, const struct profile *dict)
{
	for (; n->seen_frames < dict->frames.frames.n; n->seen_frames++) {
		const struct frame *f = &dict->frames.frames.v[n->seen_frames];

		if (f->kind != FRAME_NATIVE || f->mapping == MAPPING_NONE)
			continue;
		struct name_queue_want *w = want_of(n, dict, f->mapping);
		if (!map_get(&n->done, name_frame_key(w->key, f->offset)) &&
		    state_of(n, dict, f->mapping) != SYMBOLS_THERE)
			want_frame(n, w, f->offset, n->seen_frames);
	}
}

/* At the end, and for files that were never read, there is no wait. */
static bool has_waited(struct name_queue *n, const struct name_queue_want *w, uint64_t now_ns)
{
	if (now_ns == UINT64_MAX || !w->was_read)
		return now_ns >= w->due_ns;
	int64_t left_ns = cpu_budget_left(&n->budget, now_ns);
	if (w->is_asked)
		return left_ns > -NAME_QUEUE_ASKED_NS;
	if (now_ns < w->due_ns)
		return false;
	return left_ns > 0 ||
	       (now_ns >= w->since_ns + NAME_QUEUE_MAX_WAIT_NS && left_ns > -NAME_QUEUE_LATE_NS);
}

/* At the end there is no time to wait for a server: it names those frames if it gets the table
 * later. */
static bool is_wanted(struct name_queue *n, struct name_queue_want *w, enum symbols_state state,
		      uint64_t now_ns)
{
	if (state == SYMBOLS_THERE)
		map_done(&w->frames);
	if (state != SYMBOLS_UNKNOWN && w->was_given) {
		w->was_given = false;
		w->due_ns = 0;
	}
	if (!w->frames.n || !has_waited(n, w, now_ns))
		return false;
	return state == SYMBOLS_NONE ||
	       (now_ns != UINT64_MAX && symbols_thread_is_free(n->symbols));
}

static bool goes_first(const struct name_queue_want *w, const struct name_queue_want *other)
{
	if (!other || w->is_asked != other->is_asked)
		return !other || w->is_asked;
	return w->due_ns < other->due_ns;
}

uint32_t name_queue_next(struct name_queue *n, const struct profile *dict, uint64_t now_ns)
{
	const struct name_queue_want *next = NULL;

	for (size_t i = 0; i < n->wants.n; i++) {
		struct name_queue_want *w = &n->wants.v[i];

		if (w->frames.n && goes_first(w, next) &&
		    is_wanted(n, w, state_of(n, dict, w->mapping), now_ns))
			next = w;
	}
	return next ? next->mapping : MAPPING_NONE;
}

static void remember(struct name_queue *n, const struct name_queue_want *w)
{
	if (n->done.n >= NAME_QUEUE_MAX_DONE)
		map_clear(&n->done);
	map_each (&w->frames, slot)
		map_put(&n->done, name_frame_key(w->key, slot->key), 1);
}

/* The first read of a file does not count against the shared budget. */
static void wait_after(struct name_queue *n, struct name_queue_want *w, uint64_t now_ns,
		       uint64_t cost_ns)
{
	uint64_t wait_ns = cost_ns * NAME_QUEUE_WAIT_PER_COST;

	if (wait_ns < NAME_QUEUE_MIN_WAIT_NS)
		wait_ns = NAME_QUEUE_MIN_WAIT_NS;
	w->due_ns = now_ns + (wait_ns < NAME_QUEUE_MAX_WAIT_NS ? wait_ns : NAME_QUEUE_MAX_WAIT_NS);
	if (w->was_read)
		cpu_budget_spend(&n->budget, now_ns, cost_ns);
	n->spent_ns += cost_ns;
	n->reads++;
	w->was_read = true;
}

/* The frames stay pending: whether the server names them is known only after the upload. */
static void give(struct name_queue *n, struct name_queue_want *w, const struct profile *dict,
		 int fd)
{
	const struct mapping *m = &dict->frames.mappings.v[w->mapping];

	if (!symbols_thread_give(n->symbols, m->build_id, m->build_id_len, fd,
				 profile_str(dict, m->name)))
		return;
	w->was_given = true;
	w->due_ns = n->clock.mono_ns() + NAME_QUEUE_GIVE_AGAIN_NS;
}

/* Returns false if reading the file has crashed this process too often. */
static bool is_allowed(const struct name_queue *n, struct name_queue_want *w, const char *path)
{
	uint32_t ends = name_guard_ends(n->guard, w->key);

	if (ends < NAME_GUARD_ENDS)
		return true;
	if (!w->is_left_alone)
		log_warn("no symbols for %s: reading it crashed this process %u times", path, ends);
	w->is_left_alone = true;
	return false;
}

static void read_names(struct name_queue *n, struct name_queue_want *w, struct symbolize *s, int fd,
		       const char *path)
{
	struct elf_names names;

	name_guard_begin(n->guard, w->key);
	if (elf_names_open(&names, &n->files, fd, path, 0) == 0) {
		symbolize_frames(s, names.source, w->mapping, &w->frames);
		elf_names_close(&names);
	}
	name_guard_end(n->guard);
}

bool name_queue_file(struct name_queue *n, struct profile *dict, uint32_t mapping, int fd)
{
	const uint32_t *known = map_get(&n->by_mapping, mapping);
	struct map nothing = { 0 };
	struct symbolize s = { .sink = profile_sink(dict), .leaf_samples = &nothing };
	uint64_t begin_ns = n->clock.cpu_ns();

	if (!known)
		return false;
	struct name_queue_want *w = &n->wants.v[*known];
	enum symbols_state state = state_of(n, dict, mapping);
	if (fd >= 0 && state == SYMBOLS_UNKNOWN)
		give(n, w, dict, fd);
	if (fd >= 0 && state != SYMBOLS_NONE)
		return false;
	const char *path = profile_str(dict, dict->frames.mappings.v[mapping].name);
	if (fd >= 0 && w->frames.n && is_allowed(n, w, path))
		read_names(n, w, &s, fd, path);
	if (fd >= 0)
		remember(n, w);
	wait_after(n, w, n->clock.mono_ns(), n->clock.cpu_ns() - begin_ns);
	if (n->asks)
		map_each (&w->frames, slot)
			vec_push(&n->looked_up.v, name_frame_key(w->key, slot->key));
	n->was_asked |= w->is_asked;
	w->is_asked = false;
	map_done(&w->frames);
	return s.named > 0;
}

void name_queue_hear(struct name_queue *n)
{
	struct name_keys keys = { 0 };

	name_requests_take(n->asks, &keys);
	for (size_t i = 0; i < keys.v.n; i++) {
		const uint32_t *known = map_get(&n->by_key, keys.v.v[i]);

		if (known && n->wants.v[*known].frames.n)
			n->wants.v[*known].is_asked = true;
	}
	vec_done(&keys.v);
}

void name_queue_settle(struct name_queue *n)
{
	if (n->asks && n->looked_up.v.n)
		name_requests_finish(n->asks, n->looked_up.v.v, n->looked_up.v.n);
	vec_clear(&n->looked_up.v);
	n->was_asked = false;
}
