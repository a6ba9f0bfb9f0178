// tier: test
/* Events from several rings, each in order, come out in one order, never beyond the barrier. */
#include "collect/resolve/order.h"
#include "unit.h"

struct seen {
	VEC(uint64_t) times;
	VEC(char) kinds;
	char names[4096];
};

static void on_sample(void *ctx, const union order_event *ev, const struct event_raw *raw)
{
	const struct event_sample *s = &ev->sample;

	struct seen *seen = ctx;

	vec_push(&seen->times, s->time_ns);
	vec_push(&seen->kinds, raw ? raw->stack[raw->stack_bytes - 1] : 's');
}

static void on_side(void *ctx, const struct side_record *r)
{
	struct seen *seen = ctx;

	vec_push(&seen->times, r->time_ns);
	vec_push(&seen->kinds, 'r');
	if (r->name)
		strncat(seen->names, r->name, sizeof seen->names - strlen(seen->names) - 1);
}

static void on_brief(void *ctx, const struct side_record *r)
{
	struct seen *seen = ctx;

	vec_push(&seen->times, r->time_ns);
	vec_push(&seen->kinds, 'b');
}

static const struct order_ops ops = { on_sample, on_side, on_brief };

static void seen_done(struct seen *s)
{
	vec_done(&s->times);
	vec_done(&s->kinds);
}

/* A sample whose stack ends in mark. */
static void add_raw(struct order *o, uint64_t time_ns, char mark)
{
	char room[sizeof(struct event_raw) + 512] = { 0 };
	struct event_raw *raw = (void *)room;

	raw->ev.sample = (struct event_sample){ .kind = EVENT_RAW, .time_ns = time_ns };
	raw->stack_bytes = 512;
	raw->stack[511] = mark;
	order_add_raw(o, raw);
}

static void add_sample(struct order *o, uint64_t time_ns)
{
	order_add_sample(o, &(struct event_sample){ .kind = EVENT_SAMPLE, .time_ns = time_ns });
}

/* Stacks sent with samples stay with them, also while they are pending. */
START_TEST(stacks_go_with_their_samples)
{
	struct order o = { 0 };
	struct seen seen = { 0 };

	add_raw(&o, 30, 'x');
	add_sample(&o, 20);
	add_raw(&o, 10, 'y');
	add_raw(&o, 40, 'z');
	ck_assert_uint_eq(order_oldest_raw_ns(&o), 10);
	order_take(&o, 20, &ops, &seen);
	ck_assert_uint_eq(order_oldest_raw_ns(&o), 30); /* later ones stay pending */
	order_take(&o, 30, &ops, &seen);
	ck_assert_uint_eq(order_oldest_raw_ns(&o), 40);
	order_take(&o, 35, &ops, &seen);
	ck_assert_uint_eq(seen.kinds.n, 3);
	ck_assert_mem_eq(seen.kinds.v, "ysx", 3);
	seen_done(&seen);
	order_done(&o); /* the last one with its stack */
}
END_TEST

START_TEST(sorted_up_to_barrier)
{
	struct order o = { 0 };
	struct seen seen = { 0 };

	add_sample(&o, 30);
	add_sample(&o, 50);
	order_add_side(&o, &(struct side_record){ .time_ns = 40, .name = "late" });
	order_add_side(&o, &(struct side_record){ .time_ns = 10, .name = "early " });
	add_sample(&o, 20);
	order_take(&o, 40, &ops, &seen);
	static const uint64_t want[] = { 10, 20, 30, 40 };
	ck_assert_uint_eq(seen.times.n, 4);
	ck_assert_mem_eq(seen.times.v, want, sizeof want);
	ck_assert_str_eq(seen.names, "early late");
	ck_assert_uint_eq(o.late, 0);
	order_take(&o, 100, &ops, &seen);
	ck_assert_uint_eq(seen.times.v[4], 50);
	seen_done(&seen);
	order_done(&o);
}
END_TEST

/* A mapping and a sample with the same timestamp come out in the order of reading. */
START_TEST(equal_times_preserve_arrival_order)
{
	struct order o = { 0 };
	struct seen seen = { 0 };

	order_add_side(&o, &(struct side_record){ .time_ns = 5 });
	add_sample(&o, 5);
	order_add_side(&o, &(struct side_record){ .time_ns = 5 });
	order_take(&o, 5, &ops, &seen);
	ck_assert_mem_eq(seen.kinds.v, "rsr", 3);
	seen_done(&seen);
	order_done(&o);
}
END_TEST

START_TEST(late_records_are_counted)
{
	struct order o = { 0 };
	struct seen seen = { 0 };

	add_sample(&o, 100);
	order_take(&o, 100, &ops, &seen);
	add_sample(&o, 90);
	ck_assert_uint_eq(o.late, 1);
	order_take(&o, 200, &ops, &seen);
	ck_assert_uint_eq(seen.times.n, 2);
	seen_done(&seen);
	order_done(&o);
}
END_TEST

static void add_life(struct order *o, uint32_t pid, uint64_t from_ns, uint64_t to_ns)
{
	order_add_side(
		o,
		&(struct side_record){
			.kind = SIDE_FORK, .time_ns = from_ns, .pid = pid, .tid = pid, .ppid = 1 });
	order_add_side(o, &(struct side_record){
				  .kind = SIDE_EXIT, .time_ns = to_ns, .pid = pid, .tid = pid });
}

static void over(void *ctx, const struct side_record *r)
{
	uint32_t *n_over = ctx;

	*n_over += r->is_over;
}

/* A process that started and ended is set apart if it has no event: neither a due one, nor a pending one, nor another thread's wait that it ended. */
START_TEST(brief_lives_are_set_apart)
{
	struct order o = { 0 };
	struct seen seen = { 0 };
	struct event_sample of_11 = { .kind = EVENT_SAMPLE, .time_ns = 20, .tgid = 11 };
	struct event_sample of_12 = { .kind = EVENT_SAMPLE, .time_ns = 50, .tgid = 12 };
	struct event_wait by_13 = { .sample = { .kind = EVENT_WAIT, .time_ns = 21, .tgid = 1 },
				    .wait = { .waker_tgid = 13 } };

	for (uint32_t pid = 10; pid < 14; pid++)
		add_life(&o, pid, pid, pid + 20);
	add_life(&o, 14, 14, 45);
	order_add_sample(&o, &of_11);
	order_add_sample(&o, &of_12);
	order_add_wait(&o, &by_13);
	order_take(&o, 40, &ops, &seen);
	ck_assert_uint_eq(seen.kinds.n, 11);
	ck_assert_mem_eq(seen.kinds.v,
			 "brrrrss"
			 "brrr",
			 11);
	seen_done(&seen);
	order_done(&o);
}
END_TEST

/* The record of a fork shows whether the child has ended. */
START_TEST(ended_children)
{
	static const struct order_ops count_over = { on_sample, over, over };
	struct order o = { 0 };
	uint32_t n_over = 0;

	add_life(&o, 10, 10, 30);
	add_life(&o, 11, 11, 50);
	order_take(&o, 40, &count_over, &n_over);
	ck_assert_uint_eq(n_over, 2); /* the fork of 10, and its exit */
	order_done(&o);
}
END_TEST

/* Random rings read in random slices: everything comes out once, in time order if the barrier is correct. */
START_TEST(random_rings)
{
	struct order o = { 0 };
	struct seen seen = { 0 };
	unsigned seed = 3;
	uint64_t next[4] = { 1, 1, 1, 1 }, fed = 0;

	for (uint64_t now = 0; now < 20000; now += 50) {
		for (int ring = 0; ring < 4; ring++) {
			for (; next[ring] <= now; fed++) {
				char name[16];

				snprintf(name, sizeof name, "%d", ring);
				if (rand_r(&seed) % 3)
					add_sample(&o, next[ring]);
				else
					order_add_side(&o,
						       &(struct side_record){ .time_ns = next[ring],
									      .name = name });
				next[ring] += 1 + rand_r(&seed) % 20;
			}
		}
		order_take(&o, now - rand_r(&seed) % 40 * (now > 40), &ops, &seen);
	}
	order_take(&o, UINT64_MAX, &ops, &seen);
	ck_assert_uint_eq(seen.times.n, fed);
	ck_assert_uint_eq(o.late, 0);
	for (size_t i = 1; i < seen.times.n; i++)
		ck_assert_uint_le(seen.times.v[i - 1], seen.times.v[i]);
	seen_done(&seen);
	order_done(&o);
}
END_TEST

UNIT_MAIN("order", sorted_up_to_barrier, stacks_go_with_their_samples,
	  equal_times_preserve_arrival_order, late_records_are_counted, brief_lives_are_set_apart,
	  ended_children, random_rings)
