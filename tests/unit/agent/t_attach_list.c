// tier: test
/* Which programs get the GPU library automatically, and when: choice, retries, reused pids, bounds. */
#include "unit.h"

#include "agent/attach_list.h"

#include <errno.h>

#define S 1000000000ull

enum { PIDS = 4096 };
struct world { /* the answers about processes */
	uint64_t start[PIDS];
	bool chosen[PIDS];
	unsigned asked;
};
static bool takes(void *ctx, uint32_t pid)
{
	struct world *w = ctx;

	w->asked++;
	return w->chosen[pid];
}
static uint64_t start_of(void *ctx, uint32_t pid)
{
	const struct world *w = ctx;

	return w->start[pid];
}
static struct world world;
static struct attach_list list;

static void begin(void)
{
	const struct attach_list_opts opts = { takes, start_of, &world };

	world = (struct world){ 0 };
	attach_list_init(&list, &opts);
}
static void run(uint32_t pid, uint64_t start, bool chosen)
{
	world.start[pid] = start;
	world.chosen[pid] = chosen;
}
static uint32_t next(uint64_t now_ns)
{
	uint64_t start = 0;
	uint32_t pid = attach_list_next(&list, now_ns, &start);

	ck_assert_uint_eq(start, pid ? world.start[pid] : 0);
	return pid;
}
static struct attach_told told(int rc, enum gpu_attach_refusal why, uint64_t now_ns)
{
	const struct gpu_attach_report report = { .refusal = why, .loaded = rc == 0 };

	return attach_list_update(&list, why ? -ECANCELED : rc, &report, now_ns);
}

START_TEST(selected_process_gets_it_once)
{
	begin();
	run(7, 70, true);
	run(8, 80, false);
	attach_list_mapped(&list, 7, 10 * S);
	attach_list_mapped(&list, 8, 10 * S);
	attach_list_mapped(&list, 9, 10 * S); /* gone before it was looked at */
	ck_assert_uint_eq(list.n, 2);
	ck_assert_uint_eq(next(10 * S + ATTACH_SETTLE_NS - 1), 0);
	ck_assert_uint_eq(world.asked, 0);
	ck_assert_uint_eq(next(13 * S), 7);
	ck_assert_int_eq(told(0, 0, 14 * S).end, ATTACH_END_LOADED);
	attach_list_mapped(&list, 7, 15 * S); /* another part of the same library */
	for (uint64_t t = 15; t < 500; t++)
		ck_assert_uint_eq(next(t * S), 0);
	attach_list_done(&list);
}
END_TEST

/* Labels may be known later; a program that is never chosen costs less and less. */
START_TEST(labels_may_arrive_later)
{
	begin();
	run(8, 80, false);
	attach_list_mapped(&list, 8, 0);
	for (uint64_t t = 1; t <= 3600; t++)
		ck_assert_uint_eq(next(t * S), 0);
	ck_assert_uint_ge(world.asked, 3600 / 64);
	ck_assert_uint_le(world.asked, 3600 / 64 + 8);
	world.chosen[8] = true;
	uint32_t pid = 0;
	for (uint64_t t = 3601; t <= 3665 && !pid; t++)
		pid = next(t * S);
	ck_assert_uint_eq(pid, 8);
	attach_list_done(&list);
}
END_TEST

START_TEST(one_at_a_time_with_pauses_and_in_turn)
{
	begin();
	for (uint32_t pid = 1; pid <= 3; pid++) {
		run(pid, pid, true);
		attach_list_mapped(&list, pid, (4 - pid) * S);
	}
	ck_assert_uint_eq(next(20 * S), 3); /* it has waited longest */
	ck_assert_uint_eq(next(50 * S), 0);
	told(0, 0, 60 * S);
	ck_assert_uint_eq(next(60 * S + ATTACH_PAUSE_NS - 1), 0);
	ck_assert_uint_eq(next(60 * S + ATTACH_PAUSE_NS), 2);
	told(0, 0, 61 * S);
	ck_assert_uint_eq(next(70 * S), 1);
	attach_list_done(&list);
}
END_TEST

/* Only a few requests are outstanding at once, and each program gets its turn. */
START_TEST(looks_are_bounded)
{
	begin();
	for (uint32_t pid = 1; pid <= 100; pid++) {
		run(pid, pid, pid == 100);
		attach_list_mapped(&list, pid, 0);
	}
	uint32_t pid = 0;
	for (uint64_t now_ns = 3 * S; !pid && now_ns < 4 * S; now_ns += ATTACH_LOOK_NS) {
		unsigned before = world.asked;
		pid = next(now_ns);
		ck_assert_uint_le(world.asked - before, ATTACH_LOOKS);
		ck_assert_uint_eq(next(now_ns + ATTACH_LOOK_NS - 1), 0);
	}
	ck_assert_uint_eq(pid, 100);
	attach_list_done(&list);
}
END_TEST

START_TEST(temporary_refusals_are_retried_a_few_times)
{
	static const enum gpu_attach_refusal passing[] = {
		GPU_ATTACH_STOPPED, GPU_ATTACH_UNINTERRUPTIBLE, GPU_ATTACH_TRACED,
		GPU_ATTACH_YOUNG,   GPU_ATTACH_SHARED_MEMORY,   GPU_ATTACH_NO_THREAD,
	};

	for (size_t i = 0; i < sizeof passing / sizeof *passing; i++) {
		uint64_t last_s = 0, pauses[ATTACH_TRIES] = { 0 };
		unsigned tries = 0, news = 0;
		struct attach_told t = { 0 };

		begin();
		run(5, 50, true);
		attach_list_mapped(&list, 5, 0);
		for (uint64_t s = 1; s < 7200; s++) {
			if (!next(s * S))
				continue;
			ck_assert_uint_lt(tries, ATTACH_TRIES);
			t = told(0, passing[i], s * S);
			news += t.is_news;
			pauses[tries++] = s - last_s;
			last_s = s;
		}
		ck_assert_uint_eq(tries, ATTACH_TRIES);
		ck_assert_int_eq(t.end, ATTACH_END_GIVEN_UP);
		ck_assert_uint_eq(news, 1);
		for (unsigned k = 2; k < tries; k++)
			ck_assert_uint_eq(pauses[k], 3 * pauses[k - 1]);
		attach_list_done(&list);
	}
}
END_TEST

/* All other refusals are final. */
START_TEST(permanent_refusals_are_not_retried)
{
	for (int why = GPU_ATTACH_GONE; why < GPU_ATTACH_REFUSALS; why++) {
		unsigned tries = 0;
		enum attach_end end = ATTACH_END_LATER;

		begin();
		run(5, 50, true);
		attach_list_mapped(&list, 5, 0);
		for (uint64_t s = 1; s < 7200; s++)
			if (next(s * S)) {
				end = told(0, why, s * S).end;
				tries++;
			}
		bool is_gone = why == GPU_ATTACH_GONE || why == GPU_ATTACH_ZOMBIE ||
			       why == GPU_ATTACH_IS_THREAD || why == GPU_ATTACH_KERNEL_THREAD ||
			       why == GPU_ATTACH_NO_LIBRARY;
		if (tries == 1)
			ck_assert_int_eq(end, is_gone ? ATTACH_END_GONE : ATTACH_END_REFUSED);
		else
			ck_assert_int_eq(end, ATTACH_END_GIVEN_UP);
		ck_assert_uint_eq(list.n, is_gone ? 0 : 1); /* a final one is remembered */
		attach_list_done(&list);
	}
}
END_TEST

START_TEST(failures_are_permanent_except_locks)
{
	static const int codes[] = { -ETIMEDOUT, -EIO, -EBADMSG, -ENOENT };

	for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
		begin();
		run(5, 50, true);
		attach_list_mapped(&list, 5, 0);
		ck_assert_uint_eq(next(3 * S), 5);
		struct attach_told t = told(codes[i], 0, 3 * S);
		ck_assert_int_eq(t.end, ATTACH_END_FAILED);
		ck_assert(t.is_news);
		ck_assert_uint_eq(next(3600 * S), 0);
		attach_list_done(&list);
	}
	begin();
	run(5, 50, true);
	attach_list_mapped(&list, 5, 0);
	ck_assert_uint_eq(next(3 * S), 5);
	ck_assert_int_eq(told(-EBUSY, 0, 3 * S).end, ATTACH_END_LATER);
	ck_assert_uint_eq(next(8 * S), 5);
	/* It ended: before it was touched, or afterwards. */
	ck_assert_int_eq(told(-ESRCH, 0, 9 * S).end, ATTACH_END_GONE);
	attach_list_mapped(&list, 5, 10 * S);
	ck_assert_uint_eq(next(20 * S), 5);
	const struct gpu_attach_report touched = { .held_ns = 1 };
	ck_assert_int_eq(attach_list_update(&list, -ESRCH, &touched, 21 * S).end,
			 ATTACH_END_FAILED);
	attach_list_done(&list);
}
END_TEST

START_TEST(another_program_is_checked_again)
{
	begin();
	run(5, 50, true);
	attach_list_mapped(&list, 5, 0);
	ck_assert_uint_eq(next(3 * S), 5);
	ck_assert_int_eq(told(0, GPU_ATTACH_STATIC, 3 * S).end, ATTACH_END_REFUSED);
	attach_list_exec(&list, 5, 100 * S);
	ck_assert_uint_eq(next(101 * S), 0);
	ck_assert_uint_eq(next(103 * S), 5);
	attach_list_exec(&list, 5, 103 * S);                          /* while being attached to */
	ck_assert_int_eq(told(0, 0, 104 * S).end, ATTACH_END_LOADED); /* into the old program */
	ck_assert_uint_eq(next(106 * S), 5);
	told(0, 0, 107 * S);
	attach_list_exec(&list, 6, 107 * S); /* a program that never had a GPU library */
	ck_assert_uint_eq(list.n, 1);
	attach_list_done(&list);
}
END_TEST

START_TEST(another_process_of_the_same_number_is_another)
{
	begin();
	run(5, 50, true);
	attach_list_mapped(&list, 5, 0);
	ck_assert_uint_eq(next(3 * S), 5);
	told(0, 0, 4 * S);
	run(5, 51, true); /* its end was not reported */
	attach_list_mapped(&list, 5, 10 * S);
	ck_assert_uint_eq(next(11 * S), 0);
	ck_assert_uint_eq(next(13 * S), 5);
	attach_list_ended(&list, 5); /* meanwhile */
	ck_assert_uint_eq(list.n, 0);
	told(0, GPU_ATTACH_GONE, 13 * S);
	/* A waiting program is another one when its turn comes. */
	attach_list_mapped(&list, 5, 20 * S);
	run(5, 52, true);
	ck_assert_uint_eq(next(23 * S), 0);
	ck_assert_uint_eq(next(26 * S), 5);
	told(0, 0, 26 * S);
	run(5, 0, true);
	attach_list_forked(&list, 1, 5, 27 * S); /* a child of a program without the library */
	ck_assert_uint_eq(list.n, 0);
	attach_list_done(&list);
}
END_TEST

START_TEST(children_have_what_their_parents_have)
{
	begin();
	run(5, 50, false);
	run(6, 60, true);
	run(7, 70, true);
	attach_list_mapped(&list, 5, 0);
	attach_list_forked(&list, 5, 6, S);
	attach_list_forked(&list, 4, 7, S);
	ck_assert_uint_eq(list.n, 2);
	ck_assert_uint_eq(next(4 * S), 6);
	attach_list_done(&list);
}
END_TEST

START_TEST(memory_is_bounded)
{
	begin();
	for (uint32_t pid = 1; pid <= ATTACH_LIST_MAX + 100; pid++) {
		run(pid, pid, true);
		attach_list_mapped(&list, pid, S);
	}
	ck_assert_uint_eq(list.n, ATTACH_LIST_MAX);
	ck_assert_uint_eq(list.left_out, 100);
	ck_assert_uint_le(list.all.n, ATTACH_LIST_MAX);
	/* The end of half of them is not reported. */
	for (uint32_t pid = 1; pid <= ATTACH_LIST_MAX / 2; pid++)
		run(pid, 0, true);
	attach_list_mapped(&list, ATTACH_LIST_MAX + 1, S + ATTACH_SWEEP_NS - 1);
	ck_assert_uint_eq(list.left_out, 101);
	attach_list_mapped(&list, ATTACH_LIST_MAX + 1, S + ATTACH_SWEEP_NS);
	ck_assert_uint_eq(list.n, ATTACH_LIST_MAX / 2 + 1);
	for (uint32_t round = 0; round < 3; round++) /* entries are reused */
		for (uint32_t pid = 2000; pid < 2400; pid++) {
			run(pid, pid + round, true);
			attach_list_mapped(&list, pid, 100 * S);
			attach_list_ended(&list, pid);
		}
	ck_assert_uint_le(list.all.n, ATTACH_LIST_MAX);
	attach_list_done(&list);
}
END_TEST

UNIT_MAIN("attach_list", selected_process_gets_it_once, labels_may_arrive_later,
	  one_at_a_time_with_pauses_and_in_turn, looks_are_bounded,
	  temporary_refusals_are_retried_a_few_times, permanent_refusals_are_not_retried,
	  failures_are_permanent_except_locks, another_program_is_checked_again,
	  another_process_of_the_same_number_is_another, children_have_what_their_parents_have,
	  memory_is_bounded)
