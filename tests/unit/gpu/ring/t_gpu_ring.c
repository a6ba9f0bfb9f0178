// tier: test
/* The ring: written by many threads, wrapped, too small, and attacked. */
#include "base/err.h"
#include "made_ring.h"

#include <errno.h>
#include <pthread.h>
#include <sys/wait.h>
#include <time.h>

static struct ring_lane *lane_of(const struct made *m, int i)
{
	return (struct ring_lane *)(m->ring + RING_LANES_AT) + i;
}
/* --- one writer --- */

struct order {
	uint64_t next, kernels;
	const char *name;
};
static void in_order(void *ctx, const union ring_any *r, const char *name)
{
	struct order *o = ctx;

	ck_assert_uint_eq(r->r.correlation, (uint32_t)o->next);
	if (r->r.type == RING_KERNEL) {
		ck_assert_uint_eq(r->kernel.start_ns, o->next);
		ck_assert_uint_eq(r->kernel.end_ns, o->next + 5);
		ck_assert_uint_eq(r->kernel.grid[2], o->next + 3);
		ck_assert_uint_eq(r->kernel.registers, 77);
		ck_assert_str_eq(name, o->name);
		o->kernels++;
	} else {
		ck_assert_int_eq(r->r.type, RING_CALL);
		ck_assert_uint_eq(r->call.tid, 9);
		ck_assert_str_eq(name, "");
	}
	o->next++;
}

static bool write_nth(struct made *m, struct ring_lane *lane, uint64_t i)
{
	struct ring_kernel k = { .r = { .type = RING_KERNEL, .correlation = i },
				 .start_ns = i,
				 .end_ns = i + 5,
				 .name = ring_name(&m->names, "gemm"),
				 .grid = { 1, 2, i + 3 },
				 .registers = 77 };
	struct ring_call c = { .r = { .type = RING_CALL, .correlation = i }, .tid = 9 };

	return i % 3 ? ring_write(m->ring, lane, false, &c.r, sizeof c)
		     : ring_write(m->ring, lane, false, &k.r, sizeof k);
}

/* Hundreds of times past the end of the lane, in every alignment; and past 2^32 bytes. */
START_TEST(wraps)
{
	MADE m = make(&small);
	bool shared;
	struct ring_lane *lane = ring_lane_take(m.ring, RING_LANE_BUFFER, 9, &shared);
	struct order o = { .name = "gemm" };

	ck_assert(!shared);
	lane->head = lane->tail = (1ull << 32) - 80000;
	struct ring_reader *r = reader(&m);

	for (uint64_t i = 0; i < 20000; i++) {
		ck_assert(write_nth(&m, lane, i));
		if (i % 41 == 40)
			ring_poll(r, i % 5 ? SIZE_MAX : 200, in_order, &o);
	}
	ring_poll(r, SIZE_MAX, in_order, &o);
	ck_assert_uint_eq(o.next, 20000);
	ck_assert_uint_gt(o.kernels, 6000);
	struct ring_state_now now;

	ring_now(r, &now);
	ck_assert_uint_eq(now.dropped + now.bad_bytes, 0);
	ring_close(r);
}
END_TEST

/* Too small: records that fit are there, others are counted, and writing continues when there is room. */
START_TEST(full)
{
	MADE m = make(&small);
	struct ring_reader *r = reader(&m);
	struct ring_lane *lane = lane_of(&m, 0);
	struct order o = { .name = "gemm" };
	uint64_t written = 0;
	struct ring_state_now now;

	for (int round = 1; round < 4; round++) {
		uint64_t i = o.next;

		while (write_nth(&m, lane, i))
			i++;
		written += i - o.next;
		for (int lost = 0; lost < 999; lost++)
			ck_assert(!write_nth(&m, lane, 0));
		ring_now(r, &now);
		ck_assert_uint_eq(now.dropped, round * 1000);
		ring_poll(r, SIZE_MAX, in_order, &o);
		ck_assert_uint_eq(o.next, written);
	}
	/* A lane holds at most: records of 72 bytes in 8192, except for the rest at its end. */
	ck_assert_uint_ge(written, 3 * (8192 - 72) / 40);
	ring_close(r);
}
END_TEST

/* --- many writers --- */

enum { WRITERS = 12, EACH = 40000 };
struct writer {
	struct made *m;
	uint32_t tid;
	uint64_t dropped;
	uint32_t *names;
};
struct seen {
	uint32_t next[WRITERS + 1];
	uint64_t n;
};

static void each_in_order(void *ctx, const union ring_any *r, const char *name)
{
	struct seen *s = ctx;

	(void)name;
	ck_assert_int_eq(r->r.type, RING_CALL);
	ck_assert_uint_le(r->call.tid, WRITERS);
	ck_assert_uint_ge(r->call.tid, 1);
	ck_assert_uint_ge(r->r.correlation, s->next[r->call.tid]);
	ck_assert_uint_eq(r->call.cbid, r->r.correlation ^ r->call.tid);
	s->next[r->call.tid] = r->r.correlation + 1;
	s->n++;
}

static void *write_calls(void *arg)
{
	struct writer *w = arg;
	bool shared;
	/* Threads of this process, so that a lane is not taken for one of an ended thread. */
	struct ring_lane *lane = ring_lane_take(w->m->ring, RING_LANE_CALL, gettid(), &shared);

	for (uint32_t i = 0; i < EACH; i++) {
		struct ring_call c = { .r = { .type = RING_CALL, .correlation = i },
				       .tid = w->tid,
				       .cbid = i ^ w->tid };

		w->dropped += !ring_write(w->m->ring, lane, shared, &c.r, sizeof c);
		if (i % 64 == 0)
			sched_yield();
	}
	return NULL;
}

/* More threads than lanes, with a concurrent reader: losses are all counted, and no record is torn. */
START_TEST(writers)
{
	MADE m = make(&small);
	struct ring_reader *r = reader(&m);
	struct writer w[WRITERS];
	pthread_t threads[WRITERS];
	struct seen s = { 0 };
	uint64_t dropped = 0;
	struct ring_state_now now;

	for (int i = 0; i < WRITERS; i++) {
		w[i] = (struct writer){ &m, i + 1, 0, NULL };
		pthread_create(&threads[i], NULL, write_calls, &w[i]);
	}
	for (int i = 0; i < WRITERS; i++) {
		while (pthread_tryjoin_np(threads[i], NULL) == EBUSY)
			ring_poll(r, SIZE_MAX, each_in_order, &s);
		dropped += w[i].dropped;
	}
	ring_poll(r, SIZE_MAX, each_in_order, &s);
	ring_now(r, &now);
	ck_assert_uint_eq(now.dropped, dropped);
	ck_assert_uint_eq(s.n + dropped, (uint64_t)WRITERS * EACH);
	ck_assert_uint_gt(s.n, 0);
	ck_assert_uint_eq(now.bad_bytes, 0);
	/* Their lanes are free again now that they have ended. */
	bool shared;

	ring_lane_take(m.ring, RING_LANE_CALL, gettid(), &shared);
	ck_assert(!shared);
	ring_close(r);
}
END_TEST

/* --- names --- */

static void take_name(void *ctx, const union ring_any *r, const char *name)
{
	(void)r;
	snprintf(ctx, 512, "%s", name);
}
static const char *name_at(struct made *m, struct ring_reader *r, uint32_t at, char out[512])
{
	struct ring_kernel k = { .r = { .type = RING_KERNEL }, .name = at };

	ck_assert(ring_write(m->ring, lane_of(m, 0), false, &k.r, sizeof k));
	ck_assert_uint_eq(ring_poll(r, SIZE_MAX, take_name, out), 1);
	return out;
}

START_TEST(names)
{
	MADE m = make(&small);
	struct ring_reader *r = reader(&m);
	char out[512], long_name[700], other[700];

	ck_assert_uint_eq(ring_name(&m.names, NULL), 0);
	ck_assert_uint_eq(ring_name(&m.names, ""), 0);
	ck_assert_str_eq(name_at(&m, r, 0, out), "");
	ck_assert_uint_eq(ring_name(&m.names, "gemm"), ring_name(&m.names, "gemm"));
	ck_assert_str_eq(name_at(&m, r, ring_name(&m.names, "gemm"), out), "gemm");
	ck_assert_str_eq(name_at(&m, r, ring_name(&m.names, "a\nb"), out), "a?b");
	/* Longer than the maximum, and different only in the last letter. */
	memset(long_name, 'x', sizeof long_name);
	long_name[699] = 0;
	memcpy(other, long_name, sizeof other);
	other[698] = 'y';
	ck_assert_uint_ne(ring_name(&m.names, long_name), ring_name(&m.names, other));
	name_at(&m, r, ring_name(&m.names, long_name), out);
	ck_assert_uint_eq(strlen(out), RING_NAME_BYTES);
	ck_assert_int_eq(memcmp(out, long_name, 239), 0);
	ck_assert_int_eq(out[239], '~');
	snprintf(long_name, sizeof long_name, "%s", out);
	ck_assert_str_ne(name_at(&m, r, ring_name(&m.names, other), out), long_name);
	/* No more room: counted, and the kernel has no name. */
	uint32_t at = 1;
	struct ring_state_now now;

	for (int i = 0; at; i++) {
		snprintf(other, sizeof other, "kernel %d", i);
		at = ring_name(&m.names, other);
		ck_assert_int_lt(i, 1000);
	}
	ring_now(r, &now);
	ck_assert_uint_eq(now.names_lost, 1);
	ck_assert_str_eq(name_at(&m, r, ring_name(&m.names, "gemm"), out), "gemm");
	ring_close(r);
}
END_TEST

static void *write_names(void *arg)
{
	struct writer *w = arg;
	char name[32];

	for (int i = 0; i < 100; i++) {
		snprintf(name, sizeof name, "kernel %d", i);
		w->names[i] = ring_name(&w->m->names, name);
	}
	return NULL;
}
START_TEST(concurrent_names)
{
	MADE m = make(&small);
	struct ring_reader *r = reader(&m);
	struct writer w[4];
	pthread_t threads[4];
	char out[512], name[32];

	for (int i = 0; i < 4; i++) {
		w[i] = (struct writer){ &m, i, 0, calloc(100, sizeof(uint32_t)) };
		pthread_create(&threads[i], NULL, write_names, &w[i]);
	}
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < 400; i++) {
		snprintf(name, sizeof name, "kernel %d", i % 100);
		ck_assert_str_eq(name_at(&m, r, w[i / 100].names[i % 100], out), name);
	}
	for (int i = 0; i < 4; i++)
		free(w[i].names);
	ring_close(r);
}
END_TEST

/* --- lies --- */

static void any_record(void *ctx, const union ring_any *r, const char *name)
{
	ck_assert_uint_gt(r->r.type, RING_PAD);
	ck_assert_uint_lt(r->r.type, RING_TYPES);
	ck_assert_uint_le(r->r.words * 8u, sizeof *r);
	ck_assert_uint_le(strlen(name), RING_NAME_BYTES);
	++*(uint64_t *)ctx;
}

/* An invalid record costs the content of its lane, is counted, and the lane continues after it. */
START_TEST(lies)
{
	static const struct {
		uint64_t head;
		uint16_t type, words;
	} cases[] = {
		{ 80, RING_KERNEL, 0 },
		{ 80, RING_KERNEL, 3 },
		{ 80, RING_KERNEL, 10 },
		{ 64, RING_KERNEL, 9 },
		{ 80, 999, 0xffff },
		{ 80, RING_PAD, 0 },
		{ 8, RING_PAD, 2000 },
		{ 77, RING_KERNEL, 9 },
		{ 8200, RING_KERNEL, 9 },
		{ UINT64_MAX - 7, RING_KERNEL, 9 },
		{ UINT64_MAX, RING_KERNEL, 9 },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		MADE m = make(&small);
		struct ring_reader *r = reader(&m);
		struct ring_lane *lane = lane_of(&m, 0);
		struct ring_record *at = (void *)(m.ring + lane->at);
		struct ring_state_now now;
		uint64_t n = 0;

		*at = (struct ring_record){ .type = cases[i].type, .words = cases[i].words };
		lane->head = cases[i].head;
		ring_poll(r, SIZE_MAX, any_record, &n);
		ring_now(r, &now);
		ck_assert_msg(n == 0 && now.bad_bytes > 0, "case %zu: %lu records, %lu bytes bad",
			      i, n, now.bad_bytes);
		lane->head = lane->tail;
		struct ring_call c = { .r = { .type = RING_CALL } };

		ck_assert(ring_write(m.ring, lane, false, &c.r, sizeof c));
		ring_poll(r, SIZE_MAX, any_record, &n);
		ck_assert_msg(n == 1, "case %zu does not go on", i);
		ring_close(r);
	}
}
END_TEST

/* A type from a later version is skipped. */
START_TEST(later_version)
{
	MADE m = make(&small);
	struct ring_reader *r = reader(&m);
	uint64_t words[4] = { 0 }, n = 0;
	struct ring_record *later = (void *)words;
	struct ring_state_now now;

	later->type = 900;
	ck_assert(ring_write(m.ring, lane_of(&m, 0), false, later, sizeof words));
	ck_assert(write_nth(&m, lane_of(&m, 0), 1));
	ck_assert_uint_eq(ring_poll(r, SIZE_MAX, any_record, &n), 1);
	ring_now(r, &now);
	ck_assert_uint_eq(now.bad_bytes, 0);
	ring_close(r);
}
END_TEST

static int open_after(void (*spoil)(struct made *m))
{
	MADE m = make(&small);
	struct ring_reader *r = NULL;
	struct err err = { 0 };

	spoil(&m);
	int rc = ring_open_fd(m.fd, getpid(), clock_mono_ns(), &r, &err);

	ck_assert(rc == 0 || *err.text);
	ring_close(r);
	return rc;
}
#define CONTROL(m) ((struct ring_control *)(m)->ring)
static void spoil_magic(struct made *m)
{
	CONTROL(m)->magic++;
}
static void spoil_version(struct made *m)
{
	CONTROL(m)->version++;
}
static void spoil_size(struct made *m)
{
	CONTROL(m)->size += 4096;
}
static void spoil_lanes(struct made *m)
{
	CONTROL(m)->lanes = RING_LANES_MAX + 1;
}
static void spoil_names(struct made *m)
{
	CONTROL(m)->names_size = UINT32_MAX - 7;
}
static void spoil_pid(struct made *m)
{
	CONTROL(m)->pid++;
}
static void spoil_place(struct made *m)
{
	lane_of(m, 3)->at = UINT32_MAX - 7;
}
static void spoil_lane_size(struct made *m)
{
	lane_of(m, 3)->size = 3 * 4096;
}
static void spoil_file(struct made *m)
{
	close(m->fd);
	m->fd = memfd_create("x", MFD_ALLOW_SEALING);
	ck_assert_int_eq(ftruncate(m->fd, m->size), 0);
}
static void spoil_nothing(struct made *m)
{
	(void)m;
}
START_TEST(not_opened)
{
	ck_assert_int_eq(open_after(spoil_nothing), 0);
	ck_assert_int_eq(open_after(spoil_magic), -EPROTO);
	ck_assert_int_eq(open_after(spoil_version), -EPROTO);
	ck_assert_int_eq(open_after(spoil_size), -EPROTO);
	ck_assert_int_eq(open_after(spoil_lanes), -EPROTO);
	ck_assert_int_eq(open_after(spoil_names), -EPROTO);
	ck_assert_int_eq(open_after(spoil_pid), -ENOENT);
	ck_assert_int_eq(open_after(spoil_place), -EPROTO);
	ck_assert_int_eq(open_after(spoil_lane_size), -EPROTO);
	ck_assert_int_eq(open_after(spoil_file), -EPROTO); /* could be truncated under the reader */
}
END_TEST

/* An unprivileged process that has the ring: for a second it writes anything anywhere, mostly to heads. */
static void scribble(struct made *m)
{
	static const uint8_t words[9] = { 2, 9, 6, 6, 4, 5, 5, 3, 3 };
	uint64_t x = 88172645463325252ull, until = clock_mono_ns() + 1000000000ull;

	if (setresuid(65534, 65534, 65534) && geteuid() == 0)
		_exit(1);
	while (clock_mono_ns() < until)
		for (int i = 0; i < 256; i++) {
			x ^= x << 13, x ^= x >> 7, x ^= x << 17;
			struct ring_lane *lane = lane_of(m, x % 6);

			if (i % 3 == 0) /* mostly whole words, at times more than possible */
				lane->head = lane->tail + ((x >> 20) % (lane->size + 64) &
							   (x & 15 ? ~7ull : ~0ull));
			else if (i % 3 == 1)
				*(uint64_t *)(m->ring +
					      ((x >> 8) % (m->size - RING_NAMES_AT) & ~7ull) +
					      RING_NAMES_AT) = x;
			else /* a fake record at the reader's position */
				*(uint64_t *)(m->ring +
					      (i & 1 ? RING_NAMES_AT + 4096 + ((x >> 8) & 0x1ff8)
						     : (lane->at + (lane->tail & (4095 & ~7ull))) &
							       0xffff)) =
					x % 9 | (uint64_t)words[x % 9] << 16;
		}
	_exit(0);
}
START_TEST(hostile)
{
	MADE m = make(&small);
	struct ring_reader *r = reader(&m);
	struct ring_state_now now;
	uint64_t n = 0, polls = 0;
	int status;
	pid_t pid = fork();

	if (!pid)
		scribble(&m);
	while (waitpid(pid, &status, WNOHANG) == 0) {
		ring_poll(r, SIZE_MAX, any_record, &n);
		ring_now(r, &now);
		polls++;
	}
	ck_assert_int_eq(status, 0);
	ck_assert_uint_gt(polls, 10);
	ck_assert_uint_gt(now.bad_bytes, 0);
	ck_assert_uint_gt(n, 0);
	ring_close(r);
}
END_TEST

/* A resting reader lets another one have the ring, and continues after it: each record is read once. */
START_TEST(by_turns)
{
	MADE m = make(&small);
	bool shared;
	struct ring_lane *lane = ring_lane_take(m.ring, RING_LANE_BUFFER, 9, &shared);
	struct order o = { .name = "gemm" };
	struct ring_reader *first = reader(&m), *second = NULL;
	struct ring_state_now now;
	struct err err = { 0 };
	uint64_t now_ns = clock_mono_ns();

	ck_assert_int_eq(ring_open_fd(m.fd, getpid(), now_ns, &second, &err), -EBUSY);
	ck_assert(write_nth(&m, lane, 0));
	ring_poll(first, SIZE_MAX, in_order, &o);
	ring_rest(first);
	ck_assert(write_nth(&m, lane, 1));
	ck_assert_uint_eq(ring_poll(first, SIZE_MAX, in_order, &o), 0);
	second = reader(&m);
	ring_poll(second, SIZE_MAX, in_order, &o);
	ck_assert_uint_eq(o.next, 2);
	ring_now(first, &now);
	ck_assert(!now.taken);
	ck_assert_int_eq(ring_again(first, now_ns, &err), -EBUSY);
	ck_assert(write_nth(&m, lane, 2));
	ring_close(second);
	ck_assert_int_eq(ring_again(first, now_ns, &err), 0);
	ring_poll(first, SIZE_MAX, in_order, &o);
	ck_assert_uint_eq(o.next, 3);
	/* Refuses a reader when another has it. */
	ring_rest(first);
	second = reader(&m);
	((struct ring_control *)m.ring)->heartbeat_ns = 0;
	ck_assert_int_eq(ring_again(first, now_ns, &err), 0);
	ring_now(second, &now);
	ck_assert(now.taken);
	ring_close(second);
	ring_now(first, &now);
	ck_assert(!now.taken);
	ring_close(first);
}
END_TEST

UNIT_MAIN("gpu-ring", by_turns, wraps, full, writers, names, concurrent_names, lies, later_version,
	  not_opened, hostile)
