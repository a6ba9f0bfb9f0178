/* Maps the ring, checks every index, and copies records. */
#include "gpu/ring/ring_read.h"

#include "base/err.h"
#include "base/hash.h"
#include "base/mem.h"
#include "gpu/device/agent_name.h"
#include "gpu/ring/ring_find.h"
#include "gpu/ring/time_space.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

struct lane_read {
	uint32_t at, size;
	uint64_t tail;
};
struct name_kept {
	char text[RING_NAME_BYTES + 1];
};
struct ring_reader {
	char *ring;
	size_t size;
	uint64_t token;   /* identifies this agent */
	int64_t ahead_ns; /* the program's clock, in its time namespace, minus ours */
	uint32_t generation;
	bool is_resting;
	uint32_t n_lanes;
	struct lane_read lanes[RING_LANES_MAX];
	uint32_t names_at, names_size;
	struct map name_of; /* place → index + 1 of names */
	struct name_kept **names;
	uint32_t n_names;
	uint64_t bad_bytes;
	struct name_kept scratch;
	pid_t pid; /* 0: unknown */
	struct ring_finder finder;
	const char *cubins; /* CUBINS_SIZE; NULL: not mapped */
};

static struct ring_control *control(const struct ring_reader *r)
{
	return (struct ring_control *)r->ring;
}
static struct ring_lane *lane_shared(const struct ring_reader *r, uint32_t i)
{
	return (struct ring_lane *)(r->ring + RING_LANES_AT) + i;
}

/* --- opening --- */

/* Places are checked on a copy: the program may change the page at any time. */
static int check_lanes(struct ring_reader *r, struct err *err)
{
	for (uint32_t i = 0; i < r->n_lanes; i++) {
		struct ring_lane *there = lane_shared(r, i);
		struct lane_read *l = &r->lanes[i];

		l->at = __atomic_load_n(&there->at, __ATOMIC_RELAXED);
		l->size = __atomic_load_n(&there->size, __ATOMIC_RELAXED);
		if (l->size < 4096 || l->size & (l->size - 1) || l->at & 7 ||
		    l->at < RING_NAMES_AT || l->at > r->size || l->size > r->size - l->at)
			return err_set(err, EPROTO, "ring: lane %u lies at %u, %u bytes, in %zu", i,
				       l->at, l->size, r->size);
		/* Continues at the stored tail if that is valid; else skips what was written. */
		l->tail = __atomic_load_n(&there->head, __ATOMIC_ACQUIRE) & ~7ull;
		uint64_t tail = __atomic_load_n(&there->tail, __ATOMIC_ACQUIRE);

		if (!(tail & 7) && l->tail - tail <= l->size)
			l->tail = tail;
		else
			__atomic_store_n(&there->tail, l->tail, __ATOMIC_RELEASE);
	}
	return 0;
}

static int check_control(struct ring_reader *r, uint32_t owner, struct err *err)
{
	struct ring_control c = *control(r);

	if (__atomic_load_n(&control(r)->magic, __ATOMIC_ACQUIRE) != RING_MAGIC)
		return err_set(err, EPROTO, "ring: no ring, or not ready");
	if (c.version != RING_VERSION)
		return err_set(err, EPROTO, "ring: version %u, this program knows %d", c.version,
			       RING_VERSION);
	if (owner && c.pid != owner)
		return err_set(err, ENOENT, "ring: inherited from process %u", c.pid);
	if (!c.lanes || c.lanes > RING_LANES_MAX || c.size != r->size ||
	    c.names_at != RING_NAMES_AT || c.names_size & 7 ||
	    c.names_size > r->size - RING_NAMES_AT)
		return err_set(err, EPROTO, "ring: %u lanes and %u bytes of names in %zu", c.lanes,
			       c.names_size, r->size);
	r->n_lanes = c.lanes;
	r->names_at = c.names_at;
	r->names_size = c.names_size;
	r->generation = c.generation;
	return check_lanes(r, err);
}

/* Takes the ring, also from an agent that is gone. */
static int take(struct ring_reader *r, uint64_t now_ns, struct err *err)
{
	struct ring_control *c = control(r);
	__u64 there = __atomic_load_n(&c->agent, __ATOMIC_ACQUIRE);
	uint64_t beat = __atomic_load_n(&c->heartbeat_ns, __ATOMIC_ACQUIRE);

	if (there && (beat > now_ns || now_ns - beat < RING_AGENT_GONE_MS * 1000000ull))
		return err_set(err, EBUSY, "ring: another agent reads it");
	__atomic_store_n(&r->token,
			 hash_mix((uint64_t)getpid() << 32 | (uint32_t)(uintptr_t)r, now_ns) | 1,
			 __ATOMIC_RELAXED);
	__atomic_store_n(&c->heartbeat_ns, now_ns, __ATOMIC_RELEASE);
	if (!__atomic_compare_exchange_n(&c->agent, &there, r->token, false, __ATOMIC_ACQ_REL,
					 __ATOMIC_RELAXED))
		return err_set(err, EBUSY, "ring: another agent takes it");
	return 0;
}

int ring_open_fd(int fd, uint32_t owner, uint64_t now_ns, struct ring_reader **out, struct err *err)
{
	size_t size = 0;
	int rc = ring_check_file(fd, &size, err);

	if (rc)
		return rc;
	void *ring = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (ring == MAP_FAILED)
		return err_set(err, errno, "ring: mmap failed");
	struct ring_reader *r = xcalloc(1, sizeof *r);

	r->ring = ring;
	r->size = size;
	rc = check_control(r, owner, err);
	if (!rc)
		rc = take(r, now_ns, err);
	if (rc) {
		munmap(ring, size);
		free(r);
		return rc;
	}
	*out = r;
	return 0;
}

struct opening {
	uint32_t owner;
	uint64_t now_ns;
	struct ring_reader **out;
};

static int open_found(void *ctx, int fd, struct err *err)
{
	struct opening *o = ctx;

	return ring_open_fd(fd, o->owner, o->now_ns, o->out, err);
}

/* As ring_find. */
static int find(const struct ring_finder *f, pid_t pid, const char *name, int flags,
		ring_found_fn *fn, void *ctx, struct err *err)
{
	enum { MOST = 8 }; /* a child maps its parent's, too */
	int rc = -ENOENT;

	if (!f->open)
		return ring_find(pid, name, flags, fn, ctx, err);
	for (uint32_t nth = 0; nth < MOST && rc; nth++) {
		int fd = f->open(f->ctx, pid, name, flags, nth);

		if (fd < 0 && nth && fd == -ENOENT)
			return rc; /* as the last one said */
		if (fd < 0)
			return err_set(err, -fd, "ring of process %d: %s", (int)pid, strerror(-fd));
		rc = fn(ctx, fd, err);
		close(fd);
	}
	return rc;
}

static int check_agent(const struct ring_finder *f, pid_t pid, struct err *err)
{
	int fits = f->fits ? f->fits(f->ctx, pid) : agent_name_fits(pid);

	if (fits < 0)
		return err_set(err, -fits, "process %d does not let itself be read", (int)pid);
	return fits ? 0
		    : err_set(err, EACCES, "ring: reserved for another agent (%s)",
			      AGENT_NAME_VARIABLE);
}

int ring_open_by(const struct ring_finder *f, pid_t pid, uint64_t now_ns, struct ring_reader **out,
		 struct err *err)
{
	struct opening o = { ring_owner(pid), now_ns, out };
	int64_t ahead_ns;
	int rc = check_agent(f, pid, err);

	if (!rc)
		rc = time_space_ahead(pid, &ahead_ns, err);
	if (rc)
		return rc;
	o.now_ns += ahead_ns;
	rc = find(f, pid, RING_NAME, O_RDWR, open_found, &o, err);
	if (rc == 0) {
		(*out)->pid = pid;
		(*out)->ahead_ns = ahead_ns;
		(*out)->finder = *f;
	}
	return rc;
}

int ring_open(pid_t pid, uint64_t now_ns, struct ring_reader **out, struct err *err)
{
	return ring_open_by(&(struct ring_finder){ 0 }, pid, now_ns, out, err);
}

/* --- windows --- */

/* Another agent may have taken it if this one missed its heartbeat. */
static bool is_ours(const struct ring_reader *r)
{
	return __atomic_load_n(&control(r)->agent, __ATOMIC_ACQUIRE) ==
	       __atomic_load_n(&r->token, __ATOMIC_RELAXED);
}

void ring_window(struct ring_reader *r, uint32_t want, uint32_t stacks_per_s, uint64_t now_ns,
		 uint64_t until_ns)
{
	struct ring_control *c = control(r);

	if (!is_ours(r))
		return;
	__atomic_store_n(&c->want, want, __ATOMIC_RELAXED);
	__atomic_store_n(&c->stacks_per_s, stacks_per_s, __ATOMIC_RELAXED);
	__atomic_store_n(&c->deadline_ns, ring_time(until_ns, r->ahead_ns), __ATOMIC_RELAXED);
	__atomic_store_n(&c->heartbeat_ns, ring_time(now_ns, r->ahead_ns), __ATOMIC_RELAXED);
	r->generation = __atomic_add_fetch(&c->generation, 1, __ATOMIC_RELEASE);
	__atomic_fetch_add(&c->bell, 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, &c->bell, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

void ring_give_back(struct ring_reader *r, uint64_t now_ns)
{
	if (!is_ours(r))
		return;
	__atomic_store_n(&control(r)->detach, 1, __ATOMIC_RELEASE);
	ring_window(r, 0, 0, now_ns, 0);
}

void ring_beat(struct ring_reader *r, uint64_t now_ns)
{
	if (is_ours(r))
		__atomic_store_n(&control(r)->heartbeat_ns, ring_time(now_ns, r->ahead_ns),
				 __ATOMIC_RELEASE);
}

/* On a shared mapping this drops the page table entries and no contents. */
void ring_give_pages(struct ring_reader *r)
{
	madvise(r->ring, r->size, MADV_DONTNEED);
}

static void let_go(struct ring_reader *r)
{
	__u64 ours = r->token;

	__atomic_compare_exchange_n(&control(r)->agent, &ours, 0, false, __ATOMIC_ACQ_REL,
				    __ATOMIC_RELAXED);
}

void ring_rest(struct ring_reader *r)
{
	let_go(r);
	r->is_resting = true;
	ring_give_pages(r);
}

int ring_again(struct ring_reader *r, uint64_t now_ns, struct err *err)
{
	int rc = r->is_resting ? take(r, ring_time(now_ns, r->ahead_ns), err) : 0;

	if (rc || !r->is_resting)
		return rc;
	r->is_resting = false;
	return check_lanes(r, err);
}

void ring_close(struct ring_reader *r)
{
	if (!r)
		return;
	ring_window(r, 0, 0, 0, 0);
	let_go(r);
	munmap(r->ring, r->size);
	if (r->cubins)
		munmap((void *)r->cubins, CUBINS_SIZE);
	for (uint32_t i = 0; i < r->n_names; i++)
		free(r->names[i]);
	free(r->names);
	map_done(&r->name_of);
	free(r);
}

/* --- records --- */

/* Returns the size of a record of this type, 0 for one of a later version. */
static size_t type_size(uint32_t type)
{
	static const uint8_t sizes[RING_TYPES] = {
		[RING_KERNEL] = sizeof(struct ring_kernel),
		[RING_COPY] = sizeof(struct ring_copy),
		[RING_SET] = sizeof(struct ring_copy),
		[RING_SYNC] = sizeof(struct ring_sync),
		[RING_GRAPH] = sizeof(struct ring_graph),
		[RING_MEMORY] = sizeof(struct ring_memory),
		[RING_CALL] = sizeof(struct ring_call),
		[RING_WINDOW] = sizeof(struct ring_window),
		[RING_STALL_NAME] = sizeof(struct ring_stall_name),
		[RING_STALL_CONFIG] = sizeof(struct ring_stall_config),
		[RING_MODULE] = sizeof(struct ring_module),
		[RING_STALL] = sizeof(struct ring_stall),
	};
	return type < RING_TYPES ? sizes[type] : 0;
}

/* Copies the name at this place, and makes it a line of text. */
static bool name_read(struct ring_reader *r, uint32_t at, struct name_kept *out)
{
	if (at < 8 || at & 7 || at > r->names_size - 8)
		return false;
	const char *from = r->ring + r->names_at + at;
	uint32_t len = __atomic_load_n((const uint32_t *)from, __ATOMIC_ACQUIRE);

	if (!len || len > RING_NAME_BYTES || len > r->names_size - at - 4)
		return false;
	memcpy(out->text, from + 4, len);
	out->text[len] = 0;
	for (uint32_t i = 0; i < len; i++)
		if ((unsigned char)out->text[i] < ' ' || out->text[i] == 127)
			out->text[i] = '?';
	return true;
}

static const char *name_text(struct ring_reader *r, uint32_t at)
{
	uint32_t *known = map_get(&r->name_of, at);

	if (known)
		return r->names[*known - 1]->text;
	if (!r->names_size || !name_read(r, at, &r->scratch))
		return "";
	if (r->n_names == RING_READ_NAMES)
		return r->scratch.text;
	if (!(r->n_names & (r->n_names - 1)))
		r->names =
			xreallocarray(r->names, r->n_names ? 2 * r->n_names : 1, sizeof *r->names);
	r->names[r->n_names] = xmalloc(sizeof **r->names);
	*r->names[r->n_names] = r->scratch;
	map_put(&r->name_of, at, ++r->n_names);
	return r->names[r->n_names - 1]->text;
}

/* The name of a record, "" if it lacks one. */
static const char *record_name(struct ring_reader *r, const union ring_any *record)
{
	switch (record->r.type) {
	case RING_KERNEL:
		return name_text(r, record->kernel.name);
	case RING_STALL_NAME:
		return name_text(r, record->stall_name.name);
	case RING_STALL:
		return name_text(r, record->stall.name);
	default:
		return "";
	}
}

/* Returns how much of a lane can be read: whole words, no more than its size. An invalid head loses
 * what the lane may have held. */
static uint64_t lane_held(struct ring_reader *r, struct lane_read *l, uint64_t head)
{
	uint64_t held = head - l->tail;

	if (!(held & 7) && held <= l->size)
		return held;
	r->bad_bytes += held <= l->size ? held : l->size;
	l->tail = head & ~7ull;
	return 0;
}

static size_t lane_poll(struct ring_reader *r, uint32_t i, size_t max_bytes, ring_record_fn *fn,
			void *ctx)
{
	struct lane_read *l = &r->lanes[i];
	struct ring_lane *there = lane_shared(r, i);
	uint64_t held = lane_held(r, l, __atomic_load_n(&there->head, __ATOMIC_ACQUIRE)), used = 0;
	size_t n = 0;

	while (used < held && used < max_bytes) {
		uint32_t place = (l->tail + used) & (l->size - 1);
		const char *from = r->ring + l->at + place;
		union ring_any record;

		memcpy(&record.r, from, sizeof record.r);
		uint64_t len = record.r.words * 8ull, want = type_size(record.r.type);

		if (!len || len > l->size - place || len > held - used || (want && len != want)) {
			r->bad_bytes += held - used;
			used = held;
			break;
		}
		used += len;
		if (!want)
			continue;
		struct ring_record head = record.r;

		memcpy(&record, from, want);
		record.r = head; /* keep the checked head: the ring may have changed */
		if (r->ahead_ns)
			ring_shift(&record, -r->ahead_ns);
		fn(ctx, &record, record_name(r, &record));
		n++;
	}
	l->tail += used;
	__atomic_store_n(&there->tail, l->tail, __ATOMIC_RELEASE);
	return n;
}

size_t ring_poll(struct ring_reader *r, size_t max_bytes, ring_record_fn *fn, void *ctx)
{
	size_t n = 0;

	for (uint32_t i = 0; i < r->n_lanes && is_ours(r); i++)
		n += lane_poll(r, i, max_bytes, fn, ctx);
	return n;
}

/* --- device code --- */

static int map_cubins(void *ctx, int fd, struct err *err)
{
	struct ring_reader *r = ctx;
	struct stat st;
	int seals = fcntl(fd, F_GET_SEALS);

	if (seals < 0 || !(seals & F_SEAL_SHRINK) || fstat(fd, &st) || st.st_size != CUBINS_SIZE ||
	    st.st_blksize != sysconf(_SC_PAGESIZE))
		return err_set(err, EPROTO, "device code: no sealed memfd of its size");
	void *map = mmap(NULL, CUBINS_SIZE, PROT_READ, MAP_SHARED, fd, 0);

	if (map == MAP_FAILED)
		return err_set(err, errno, "device code: cannot be mapped");
	r->cubins = map;
	return 0;
}

int ring_cubins_fd(struct ring_reader *r, int fd)
{
	struct err err;

	return r->cubins ? 0 : map_cubins(r, fd, &err);
}

bool ring_has_cubins(struct ring_reader *r)
{
	struct err err;

	return r->cubins ||
	       (r->pid && !find(&r->finder, r->pid, CUBINS_NAME, O_RDONLY, map_cubins, r, &err));
}

bool ring_module_copy(struct ring_reader *r, const struct ring_module *m, void *out)
{
	if (m->at < CUBINS_AT || m->at > CUBINS_SIZE || m->size > CUBINS_SIZE - m->at || !m->size)
		return false;
	if (!ring_has_cubins(r))
		return false;
	memcpy(out, r->cubins + m->at, m->size);
	return true;
}

/* --- state --- */

bool ring_device(const struct ring_reader *r, uint32_t number, struct ring_device *out)
{
	if (number >= RING_DEVICES_MAX)
		return false;
	const struct ring_device *there =
		(const struct ring_device *)(r->ring + RING_DEVICES_AT) + number;
	uint32_t flags = __atomic_load_n(&there->flags, __ATOMIC_ACQUIRE);

	*out = *there;
	out->flags = flags;
	return flags & (RING_DEVICE_UUID | RING_DEVICE_BUS);
}

void ring_state_of(const void *ring, uint32_t lanes, struct ring_state_now *out)
{
	const struct ring_control c = *(const struct ring_control *)ring;

	*out = (struct ring_state_now){
		.state = c.state,
		.error_part = c.error_part,
		.error_code = c.error_code,
		.cupti_version = c.cupti_version,
		.generation_seen = c.seen,
		.opened_ns = c.opened_ns,
		.closed_ns = c.closed_ns,
		.helper_ns = c.helper_ns,
		.overhead_ns = c.overhead_ns,
		.cupti_dropped = c.cupti_dropped,
		.names_lost = c.names_lost,
		.unknown_records = c.unknown_records,
		.knows_stalls = c.features & RING_WANT_STALLS,
		.stall_part = c.stall_part,
		.stall_code = c.stall_code,
		.contexts = c.contexts,
		.stall_dropped = c.stall_dropped,
		.stall_other = c.stall_other,
		.cubins_lost = c.cubins_lost,
		.given_back = c.detach != 0,
	};
	for (uint32_t i = 0; i < lanes; i++) {
		const struct ring_lane *l =
			(const struct ring_lane *)((const char *)ring + RING_LANES_AT) + i;

		out->calls += __atomic_load_n(&l->calls, __ATOMIC_RELAXED);
		out->probes += __atomic_load_n(&l->probes, __ATOMIC_RELAXED);
		out->busy_ns += __atomic_load_n(&l->busy_ns, __ATOMIC_RELAXED);
		out->dropped += __atomic_load_n(&l->dropped, __ATOMIC_RELAXED);
	}
	for (size_t i = 0; i + 1 < sizeof out->other && c.other[i]; i++)
		out->other[i] = c.other[i] >= ' ' && c.other[i] < 127 ? c.other[i] : '?';
}

void ring_now(struct ring_reader *r, struct ring_state_now *out)
{
	ring_state_of(r->ring, r->n_lanes, out);
	out->opened_ns = ring_time(out->opened_ns, -r->ahead_ns);
	out->closed_ns = ring_time(out->closed_ns, -r->ahead_ns);
	out->generation_asked = r->generation;
	out->bad_bytes = r->bad_bytes;
	out->taken = !r->is_resting && !is_ours(r);
}
