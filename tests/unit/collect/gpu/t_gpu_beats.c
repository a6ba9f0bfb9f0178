// tier: test
/* The thread that beats for rings: it alone keeps an agent's window open. */
#include "made_ring.h"

#include "collect/gpu/gpu_beats.h"

#include <time.h>

static uint64_t beat_of(const struct made *m)
{
	return __atomic_load_n(&((struct ring_control *)m->ring)->heartbeat_ns, __ATOMIC_ACQUIRE);
}

static void beat(void *ring, uint64_t now_ns)
{
	ring_beat(ring, now_ns);
}

/* Waits until the ring has a later beat, at most 20 s; returns the beat. */
static uint64_t next_beat(const struct made *m, uint64_t before_ns)
{
	for (int i = 0; i < 2000 && beat_of(m) == before_ns; i++)
		nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
	return beat_of(m);
}

/* Each ring gets beats of the right time, one after the other, until it is removed. */
START_TEST(beats)
{
	MADE one = make(&small);
	MADE other = make(&small);
	struct ring_reader *first = reader(&one), *second = reader(&other);
	struct gpu_beats *b = gpu_beats_new();
	uint64_t at = beat_of(&one);

	ck_assert_ptr_nonnull(b);
	gpu_beats_add(b, beat, first);
	gpu_beats_add(b, beat, second);
	for (int i = 0; i < 3; i++) {
		uint64_t next = next_beat(&one, at);
		ck_assert_uint_gt(next, at);
		ck_assert_uint_le(next, clock_mono_ns());
		at = next;
	}
	ck_assert_uint_gt(beat_of(&other), 0);
	gpu_beats_remove(b, first);
	at = beat_of(&one);
	ring_close(first); /* nothing touches it from here on */
	uint64_t other_at = beat_of(&other);
	for (int i = 0; i < 2; i++)
		other_at = next_beat(&other, other_at);
	ck_assert_uint_le(beat_of(&one), at);
	gpu_beats_free(b);
	ring_close(second);
}
END_TEST

/* A ring that another agent has taken is the other's to beat for. */
START_TEST(not_for_others)
{
	MADE m = make(&small);
	MADE own = make(&small);
	struct ring_reader *r = reader(&m), *mine = reader(&own);
	struct gpu_beats *b = gpu_beats_new();
	struct ring_control *c = (struct ring_control *)m.ring;
	uint64_t at = beat_of(&own);

	__atomic_store_n(&c->agent, 99, __ATOMIC_RELEASE);
	__atomic_store_n(&c->heartbeat_ns, 1, __ATOMIC_RELEASE);
	gpu_beats_add(b, beat, r);
	gpu_beats_add(b, beat, mine);
	for (int i = 0; i < 4; i++) { /* three whole rounds at least */
		uint64_t next = next_beat(&own, at);
		ck_assert_uint_gt(next, at);
		at = next;
	}
	ck_assert_uint_eq(beat_of(&m), 1);
	gpu_beats_free(b);
	ring_close(r);
	ring_close(mine);
}
END_TEST

/* Without a thread, and without rings. */
START_TEST(none)
{
	gpu_beats_add(NULL, beat, NULL);
	gpu_beats_remove(NULL, NULL);
	gpu_beats_free(NULL);
	gpu_beats_free(gpu_beats_new());
}
END_TEST

UNIT_MAIN("gpu_beats", beats, not_for_others, none)
