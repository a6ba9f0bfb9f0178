/* Follows a growing file, with its position and names by address. */
#include "symbol/code_log.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/search.h"
#include "base/vec.h"
#include "symbol/code_scan.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

enum {
	BLOCK_BYTES = 64 << 10, /* of a perf map */
	BLOCK_EVENTS = 256,     /* of a jitdump, which is mostly code */
	BLOCK_PARTS = 6,
	KNOWN_MAX = 16384, /* cached results */
	KNOWN_MAX_NAMES_BYTES = 1 << 20,
	MOVES_MAX = 65536, /* loads in which the origin of a move is searched */
	MARK_BYTES = 256,  /* at the start, and before the end of what was read */
};

struct code_part {
	uint64_t lo, hi; /* hi is exclusive */
};
/* A part of the file, up to the next block. */
struct code_block {
	uint64_t at;
	uint32_t n_events, n_parts;
	struct code_part parts[BLOCK_PARTS];
};
/* A response, valid for times in [from_ns, until_ns) given the file up to `upto`. */
struct known {
	uint64_t addr, start, size, from_ns, until_ns, upto;
	uint32_t name, len; /* in names */
};
struct mark {
	uint64_t at, hash;
	uint32_t len;
};

struct code_log {
	enum code_log_kind kind;
	struct code_scan scan;
	int error;               /* -errno if it was given up */
	bool has_begun, is_over; /* its header was read; is_last was set */
	bool has_times, has_moves;
	bool is_again; /* the scan is repeated: do not count */
	struct mark first, last;
	uint64_t size; /* of the file, at the last read */
	uint64_t events, skipped, read_bytes;
	uint32_t resets;
	VEC(struct code_block) blocks;
	struct map loads; /* set once code was moved: index → address where it was loaded */
	VEC(uint64_t) load_at;
	struct map known_at;
	VEC(struct known) known;
	struct buf names;
	uint64_t name_from; /* position of the event with the last name in names, + 1 */
	uint32_t last_name;

	/* Used during code_log_ask. */
	const struct code_ask *asks;
	VEC(uint32_t) wanted; /* unanswered asks, by address */
	VEC(struct known) found;
	VEC(bool) is_found;
};

/* --- life ------------------------------------------------------------------------------------- */

struct code_log *code_log_new(enum code_log_kind kind)
{
	struct code_log *l = xcalloc(1, sizeof *l);

	l->kind = kind;
	return l;
}

static void forget_known(struct code_log *l)
{
	map_done(&l->known_at);
	vec_done(&l->known);
	buf_done(&l->names);
	l->name_from = 0;
}

static void forget_file(struct code_log *l)
{
	vec_done(&l->blocks);
	map_done(&l->loads);
	vec_done(&l->load_at);
	forget_known(l);
}

void code_log_reset(struct code_log *l)
{
	forget_file(l);
	l->scan.at = l->scan.skipped = 0;
	l->scan.in_rest = l->scan.is_broken = false;
	l->error = 0;
	l->has_begun = l->is_over = l->has_times = l->has_moves = false;
	l->first = l->last = (struct mark){ 0 };
	l->size = 0;
	l->events = l->skipped = 0;
	l->resets++;
}

void code_log_free(struct code_log *l)
{
	if (!l)
		return;
	forget_file(l);
	vec_done(&l->wanted);
	vec_done(&l->found);
	vec_done(&l->is_found);
	free(l);
}

/* --- detecting another file ------------------------------------------------------------------- */

static bool make_mark(int fd, uint64_t at, uint32_t len, struct mark *out)
{
	char bytes[MARK_BYTES];

	if (code_read_at(fd, bytes, len, at) != len)
		return false;
	*out = (struct mark){ at, hash_bytes(bytes, len), len };
	return true;
}

static bool mark_holds(const struct mark *m, int fd)
{
	struct mark now;

	return !m->len || (make_mark(fd, m->at, m->len, &now) && now.hash == m->hash);
}

/* A file that is given up may never have been read. */
static void set_marks(struct code_log *l, int fd, uint64_t size, bool is_given_up)
{
	uint64_t known = is_given_up ? size : l->scan.at;
	uint32_t len = known < MARK_BYTES ? known : MARK_BYTES;

	if (l->first.len < MARK_BYTES)
		make_mark(fd, 0, len, &l->first);
	if (!is_given_up)
		make_mark(fd, known - len, len, &l->last);
	l->size = size;
}

static bool is_same_file(const struct code_log *l, int fd, uint64_t size)
{
	return size >= l->size && mark_holds(&l->first, fd) && mark_holds(&l->last, fd);
}

/* --- blocks ----------------------------------------------------------------------------------- */

/* Compilers fill one area after the other, so near ranges are joined. */
static void add_part(struct code_block *b, uint64_t lo, uint64_t hi)
{
	enum { NEAR = 4096 };
	struct code_part *best = NULL;
	uint64_t least = UINT64_MAX;

	for (uint32_t i = 0; i < b->n_parts && least; i++) {
		const struct code_part *p = &b->parts[i];
		uint64_t more = (lo < p->lo ? p->lo - lo : 0) + (hi > p->hi ? hi - p->hi : 0);

		if (more >= least)
			continue;
		least = more;
		best = &b->parts[i];
	}
	if (!best || (least > NEAR + (hi - lo) && b->n_parts < BLOCK_PARTS)) {
		b->parts[b->n_parts++] = (struct code_part){ lo, hi };
		return;
	}
	best->lo = lo < best->lo ? lo : best->lo;
	best->hi = hi > best->hi ? hi : best->hi;
}

static struct code_block *block_for(struct code_log *l, uint64_t at)
{
	struct code_block *last = l->blocks.n ? &l->blocks.v[l->blocks.n - 1] : NULL;
	bool is_full = !last || (l->kind == CODE_LOG_DUMP ? last->n_events >= BLOCK_EVENTS
							  : at - last->at >= BLOCK_BYTES);

	if (!is_full)
		return last;
	vec_push(&l->blocks, (struct code_block){ .at = at });
	return &l->blocks.v[l->blocks.n - 1];
}

static uint64_t block_end(const struct code_log *l, size_t i)
{
	return i + 1 < l->blocks.n ? l->blocks.v[i + 1].at : l->scan.at;
}

/* --- appended data ---------------------------------------------------------------------------- */

static void note_load(struct code_log *l, const struct code_event *e)
{
	if (l->load_at.n >= MOVES_MAX)
		return;
	map_put(&l->loads, e->index, l->load_at.n);
	vec_push(&l->load_at, e->at);
}

static void on_old_load(void *ctx, const struct code_event *e)
{
	if (e->kind == CODE_LOADED)
		note_load(ctx, e);
}

/* Collects where all code was loaded; needed from the first move on. */
static void begin_moves(struct code_log *l, uint64_t until)
{
	struct code_scan *s = xcalloc(1, sizeof *s);

	*s = (struct code_scan){
		.fd = l->scan.fd, .event = on_old_load, .ctx = l, .at = l->blocks.v[0].at
	};
	l->has_moves = true;
	code_scan_dump(s, until, CODE_LOG_MAX_EVENTS, NULL);
	l->read_bytes += s->read_bytes;
	free(s);
}

static void on_new(void *ctx, const struct code_event *e)
{
	struct code_log *l = ctx;
	struct code_block *b = block_for(l, e->at);

	b->n_events++;
	l->events++;
	if (e->kind == CODE_MOVED && !l->has_moves)
		begin_moves(l, e->at);
	if (e->kind == CODE_LOADED && l->has_moves)
		note_load(l, e);
	if (e->kind == CODE_MOVED && !map_get(&l->loads, e->index)) {
		l->skipped++;
		return;
	}
	add_part(b, e->start, e->start + e->size);
	if (e->kind == CODE_MOVED)
		add_part(b, e->to, e->to + e->size);
}

static int read_dump(struct code_log *l, uint64_t size, struct err *err)
{
	uint64_t begin = 0;
	int rc = l->has_begun ? 0 : code_dump_header(l->scan.fd, &begin, &l->has_times, err);

	if (rc)
		return rc;
	if (!l->has_begun)
		l->scan.at = begin;
	l->has_begun = true;
	if (l->scan.at >= size || l->scan.is_broken)
		return 0;
	return code_scan_dump(&l->scan, size, CODE_LOG_MAX_EVENTS - l->events, err);
}

static int read_new(struct code_log *l, uint64_t size, bool is_last, struct err *err)
{
	if (l->kind == CODE_LOG_DUMP)
		return read_dump(l, size, err);
	if (size > CODE_LOG_MAX_BYTES)
		return err_set(err, EFBIG, "a perf map of %llu MiB",
			       (unsigned long long)size >> 20);
	l->has_begun = true;
	return code_scan_map(&l->scan, size, is_last, err);
}

static void begin_scan(struct code_log *l, int fd, void (*event)(void *, const struct code_event *))
{
	l->scan.fd = fd;
	l->scan.event = event;
	l->scan.ctx = l;
}

/* An incomplete header may be completed later. */
static bool may_become_good(const struct code_log *l, int rc, uint64_t size)
{
	return l->kind == CODE_LOG_DUMP && rc == -EBADMSG && !l->has_begun && size < MARK_BYTES;
}

int code_log_read(struct code_log *l, int fd, bool is_last, struct err *err)
{
	struct stat st;

	if (fstat(fd, &st))
		return err_set(err, errno, "cannot read: %s", strerror(errno));
	uint64_t size = st.st_size;
	if (!is_same_file(l, fd, size))
		code_log_reset(l);
	if (l->error)
		return err_set(err, -l->error, "it was given up: %s", strerror(-l->error));
	if (l->has_begun && size == l->scan.at)
		return 0;
	begin_scan(l, fd, on_new);
	int rc = read_new(l, size, is_last, err);
	if (!rc && l->events >= CODE_LOG_MAX_EVENTS)
		rc = err_set(err, EFBIG, "more than %d records", CODE_LOG_MAX_EVENTS);
	if (is_last && !l->is_over && !rc && l->scan.at < size && !l->scan.is_broken)
		l->skipped++;
	l->is_over = is_last;
	if (rc && !is_last && may_become_good(l, rc, size))
		return rc;
	set_marks(l, fd, size, rc);
	if (rc)
		forget_file(l);
	l->error = rc;
	return rc;
}

/* --- responses -------------------------------------------------------------------------------- */

static uint64_t asked_ns(const struct code_log *l, const struct code_ask *a)
{
	return l->has_times ? a->time_ns : UINT64_MAX;
}

/* Returns the first wanted ask whose address is not below addr. */
static size_t first_wanted(const struct code_log *l, uint64_t addr)
{
	return search_first(i, 0, l->wanted.n, l->asks[l->wanted.v[i]].addr >= addr);
}

static bool is_wanted(const struct code_log *l, size_t i, uint64_t lo, uint64_t hi)
{
	return i < l->wanted.n && l->asks[l->wanted.v[i]].addr >= lo &&
	       l->asks[l->wanted.v[i]].addr < hi;
}

/* Stores a name; many addresses are in one function. */
static uint32_t put_name(struct code_log *l, const struct code_event *e, uint32_t *len)
{
	if (l->name_from == e->at + 1)
		return l->last_name;
	if (l->names.len + e->len > 4 * KNOWN_MAX_NAMES_BYTES) {
		*len = 0;
		return 0;
	}
	l->name_from = e->at + 1;
	l->last_name = l->names.len;
	buf_add(&l->names, e->name, e->len);
	return l->last_name;
}

/* Decides which code covers an address: the later one, by time if the file has times. */
static void consider(struct code_log *l, uint32_t ask, const struct code_event *e, uint64_t start,
		     bool has_name)
{
	struct known *k = &l->found.v[ask];
	uint64_t time_ns = l->has_times ? e->time_ns : 0;
	bool is_other = e->at < k->upto; /* the one found is later in the file */

	if (time_ns > asked_ns(l, &l->asks[ask])) {
		k->until_ns = time_ns < k->until_ns ? time_ns : k->until_ns;
		return;
	}
	if (l->is_found.v[ask] && (time_ns < k->from_ns || (time_ns == k->from_ns && is_other)))
		return;
	l->is_found.v[ask] = true;
	k->start = start;
	k->size = has_name ? e->size : 0;
	k->from_ns = time_ns;
	k->upto = e->at;
	k->len = has_name ? e->len : 0;
	k->name = has_name ? put_name(l, e, &k->len) : 0;
}

static void consider_all(struct code_log *l, const struct code_event *e, uint64_t start,
			 bool has_name)
{
	for (size_t i = first_wanted(l, start); is_wanted(l, i, start, start + e->size); i++)
		consider(l, l->wanted.v[i], e, start, has_name);
}

static void on_name(void *ctx, const struct code_event *e)
{
	struct code_event *named = ctx;

	named->name = e->name;
	named->len = e->len;
}

static void on_moved(struct code_log *l, const struct code_event *e)
{
	const uint32_t *load = map_get(&l->loads, e->index);
	struct code_event moved = *e;

	if (!load)
		return;
	consider_all(l, e, e->start, false);
	if (!is_wanted(l, first_wanted(l, e->to), e->to, e->to + e->size))
		return;
	struct code_scan *s = xcalloc(1, sizeof *s);
	*s = (struct code_scan){
		.fd = l->scan.fd, .event = on_name, .ctx = &moved, .at = l->load_at.v[*load]
	};
	code_scan_dump(s, e->at, 1, NULL);
	consider_all(l, &moved, e->to, moved.name != NULL);
	free(s);
}

static void on_again(void *ctx, const struct code_event *e)
{
	struct code_log *l = ctx;

	if (e->kind == CODE_MOVED)
		on_moved(l, e);
	else
		consider_all(l, e, e->start, true);
}

static bool block_is_wanted(const struct code_log *l, size_t block)
{
	const struct code_block *b = &l->blocks.v[block];

	for (uint32_t i = 0; i < b->n_parts; i++) {
		const struct code_part *p = &b->parts[i];

		if (is_wanted(l, first_wanted(l, p->lo), p->lo, p->hi))
			return true;
	}
	return false;
}

/* Without times, a response from a later block is final. */
static void drop_found(struct code_log *l)
{
	size_t n = 0;

	for (size_t i = 0; i < l->wanted.n && !l->has_times; i++)
		if (!l->is_found.v[l->wanted.v[i]])
			l->wanted.v[n++] = l->wanted.v[i];
	l->wanted.n = l->has_times ? l->wanted.n : n;
}

static void scan_block(struct code_log *l, size_t i)
{
	struct code_scan *s = &l->scan;
	uint64_t at = s->at, skipped = s->skipped, end = block_end(l, i);
	bool in_rest = s->in_rest, is_broken = s->is_broken;

	s->at = l->blocks.v[i].at;
	s->in_rest = s->is_broken = false;
	if (l->kind == CODE_LOG_DUMP)
		code_scan_dump(s, end, CODE_LOG_MAX_EVENTS, NULL);
	else
		code_scan_map(s, end, true, NULL);
	s->at = at;
	s->skipped = skipped;
	s->in_rest = in_rest;
	s->is_broken = is_broken;
}

/* Scans blocks that do not end before `from`, newest first. */
static bool scan_wanted(struct code_log *l, uint64_t from, uint64_t end_ns)
{
	for (size_t i = l->blocks.n; i-- > 0 && l->wanted.n && block_end(l, i) > from;) {
		if (!block_is_wanted(l, i))
			continue;
		if (clock_thread_ns() >= end_ns)
			return false;
		scan_block(l, i);
		drop_found(l);
	}
	return true;
}

/* --- cached answers --------------------------------------------------------------------------- */

static int compare_asks(const void *a, const void *b, void *ctx)
{
	const struct code_ask *asks = ctx;
	uint64_t x = asks[*(const uint32_t *)a].addr, y = asks[*(const uint32_t *)b].addr;

	return (x > y) - (x < y);
}

static void want(struct code_log *l, uint32_t ask)
{
	vec_push(&l->wanted, ask);
}

static void sort_wanted(struct code_log *l)
{
	if (l->wanted.n)
		qsort_r(l->wanted.v, l->wanted.n, sizeof *l->wanted.v, compare_asks,
			(void *)l->asks);
}

static const struct known *find_known(const struct code_log *l, const struct code_ask *a)
{
	const uint32_t *i = map_get(&l->known_at, a->addr);
	const struct known *k = i ? &l->known.v[*i] : NULL;
	uint64_t time_ns = asked_ns(l, a);

	return k && time_ns >= k->from_ns && (time_ns < k->until_ns || !l->has_times) ? k : NULL;
}

static void keep_known(struct code_log *l, uint32_t ask)
{
	struct known k = l->found.v[ask];
	const uint32_t *i = map_get(&l->known_at, k.addr);

	k.upto = l->scan.at;
	if (i) {
		l->known.v[*i] = k;
		return;
	}
	map_put(&l->known_at, k.addr, l->known.n);
	vec_push(&l->known, k);
}

static void begin_asks(struct code_log *l, const struct code_ask *asks, size_t n)
{
	l->asks = asks;
	if (l->known.n + n > KNOWN_MAX || l->names.len > KNOWN_MAX_NAMES_BYTES)
		forget_known(l);
	vec_clear(&l->found);
	vec_clear(&l->is_found);
	vec_clear(&l->wanted);
	for (size_t i = 0; i < n; i++) {
		vec_push(&l->found, (struct known){ .addr = asks[i].addr, .until_ns = UINT64_MAX });
		vec_push(&l->is_found, false);
	}
}

/* Checks whether appended blocks cover the code of cached answers. */
static bool look_at_new(struct code_log *l, size_t n, uint64_t end_ns)
{
	uint64_t from = UINT64_MAX;

	for (size_t i = 0; i < n; i++) {
		const struct known *k = find_known(l, &l->asks[i]);

		if (!k)
			continue;
		l->found.v[i] = *k;
		if (k->upto >= l->scan.at)
			continue;
		from = k->upto < from ? k->upto : from;
		/* Events from upto on are later, so any code found is newer than the response. */
		l->is_found.v[i] = false;
		want(l, i);
	}
	sort_wanted(l);
	return !l->wanted.n || l->has_times || scan_wanted(l, from, end_ns);
}

static void want_unknown(struct code_log *l, size_t n)
{
	vec_clear(&l->wanted);
	for (size_t i = 0; i < n; i++) {
		const struct known *k = find_known(l, &l->asks[i]);

		if (k && (!l->has_times || k->upto >= l->scan.at))
			continue;
		if (k) /* times are nearly, but not exactly, in file order */
			l->found.v[i] = (struct known){ .addr = k->addr, .until_ns = UINT64_MAX };
		want(l, i);
	}
	sort_wanted(l);
}

bool code_log_ask(struct code_log *l, int fd, const struct code_ask *asks, size_t n,
		  uint64_t max_ns, struct code_answer *answers)
{
	uint64_t end_ns = clock_thread_ns() + max_ns;

	memset(answers, 0, n * sizeof *answers);
	if (!l->blocks.n)
		return true;
	begin_asks(l, asks, n);
	begin_scan(l, fd, on_again);
	bool all = look_at_new(l, n, end_ns);
	want_unknown(l, n);
	all = all && scan_wanted(l, 0, end_ns);
	for (size_t i = 0; i < n; i++) {
		const struct known *k = &l->found.v[i];

		if (all)
			keep_known(l, i);
		answers[i] = (struct code_answer){ k->start, k->size,
						   k->len ? l->names.data + k->name : "", k->len };
	}
	l->asks = NULL;
	return all;
}

void code_log_get_stats(const struct code_log *l, struct code_log_stats *out)
{
	*out = (struct code_log_stats){
		.events = l->events,
		.skipped = l->skipped + l->scan.skipped,
		.read_bytes = l->read_bytes + l->scan.read_bytes,
		.memory_bytes = sizeof *l + vec_size_bytes(&l->blocks) + map_size_bytes(&l->loads) +
				vec_size_bytes(&l->load_at) + map_size_bytes(&l->known_at) +
				vec_size_bytes(&l->known) + l->names.cap +
				vec_size_bytes(&l->wanted) + vec_size_bytes(&l->found) +
				vec_size_bytes(&l->is_found),
		.resets = l->resets,
	};
}
