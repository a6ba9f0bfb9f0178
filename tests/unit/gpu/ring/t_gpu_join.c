// tier: test
/* The attribution of GPU time, compared with answers computed by gpu_scenario.py. */
#include "unit.h"

#include "base/vec.h"
#include "gpu/ring/join.h"
#include "gpu/ring/sampler.h"

enum { PIDS = 3, STACKS = 8, WORKS = 8, TIDS = 32 };

struct call {
	uint64_t us, ns;
	uint32_t pid, tid, correlation, stack, work, weight;
};
struct cell {
	uint64_t ns, low, high;
};
struct scenario {
	VEC(struct call) calls;
	uint64_t answer[PIDS][STACKS][WORKS];
	struct cell got[PIDS][STACKS][WORKS];
	uint64_t estimates;
};

static void scenario_read(struct scenario *s, int seed, int launches)
{
	char command[128], line[256];

	memset(s, 0, sizeof *s);
	snprintf(command, sizeof command, "python3 tests/unit/gpu_scenario.py %d %d", seed,
		 launches);
	FILE *f = popen(command, "r");

	ck_assert_ptr_nonnull(f);
	while (fgets(line, sizeof line, f)) {
		struct call c = { 0 };
		uint32_t pid, stack, work;
		uint64_t ns;

		if (sscanf(line, "launch %lu %u %u %u %u %u %lu", &c.us, &c.pid, &c.tid,
			   &c.correlation, &c.stack, &c.work, &c.ns) == 7)
			vec_push(&s->calls, c);
		else if (sscanf(line, "answer %u %u %u %lu", &pid, &stack, &work, &ns) == 4)
			s->answer[pid][stack][work] = ns;
		else
			ck_abort_msg("%s", line);
	}
	ck_assert_int_eq(pclose(f), 0);
	ck_assert_uint_gt(s->calls.n, 0);
}

static void on_share(void *ctx, const struct gpu_share *share)
{
	struct scenario *s = ctx;
	struct cell *c = &s->got[share->pid][share->stack][share->work];

	ck_assert_uint_le(share->low_ns, share->ns);
	ck_assert_uint_ge(share->high_ns, share->ns);
	c->ns += share->ns;
	c->low += share->low_ns;
	c->high += share->high_ns;
	s->estimates += !share->is_exact;
}

/* Feeds a scenario with `apart` launches between a call, its stack and its work, in the order that `how` selects. */
static void feed(struct scenario *s, struct gpu_join *j, int how, size_t apart)
{
	size_t n = s->calls.n;

	for (size_t i = 0; i < n + 2 * apart; i++)
		for (int turn = 0; turn < 3; turn++) {
			int what = (turn + how) % 3;
			size_t at = i - turn * apart;

			if (i < turn * apart || at >= n)
				continue;
			const struct call *c = &s->calls.v[at];

			if (what == 0)
				gpu_join_call(j, c->pid, c->correlation, c->tid);
			else if (what == 1 && c->weight)
				gpu_join_stack(j, c->pid, c->correlation, c->stack, c->weight, 0);
			else if (what == 2)
				gpu_join_work(j, c->pid, c->correlation, c->work, c->us, c->ns,
					      1000 * c->us);
		}
	gpu_join_finish(j, 1000 * s->calls.v[n - 1].us);
	gpu_join_flush(j);
}

/* Every launch has a stack: all time is attributed exactly, in any order of arrival. */
START_TEST(exact)
{
	for (int how = 0; how < 3; how++) {
		struct scenario s;

		scenario_read(&s, 1 + how, 30000);
		for (size_t i = 0; i < s.calls.n; i++)
			s.calls.v[i].weight = 1;
		struct gpu_join *j = gpu_join_new(&(struct gpu_join_opts){ .hold_ns = UINT64_MAX },
						  on_share, &s);

		feed(&s, j, how, how * 400);
		for (int p = 0; p < PIDS; p++)
			for (int k = 0; k < STACKS; k++)
				for (int w = 0; w < WORKS; w++)
					ck_assert_uint_eq(s.got[p][k][w].ns, s.answer[p][k][w]);
		ck_assert_uint_eq(s.estimates, 0);
		ck_assert_uint_eq(gpu_join_counts(j).estimated_ns + gpu_join_counts(j).unknown_ns,
				  0);
		gpu_join_free(j);
		vec_done(&s.calls);
	}
}
END_TEST

/* Gives each launch the weight that the library would. */
static uint64_t sample_all(struct scenario *s, uint32_t per_s, uint32_t seed)
{
	struct launch_sampler samplers[TIDS] = { 0 };
	uint64_t weights = 0;

	for (size_t i = 0; i < s->calls.n; i++) {
		struct call *c = &s->calls.v[i];

		c->weight = launch_sample(&samplers[c->tid], per_s, seed * TIDS + c->tid,
					  1000 * c->us + 1);
		weights += c->weight;
	}
	return weights;
}

/* The sum over all stacks is exact for each work; the truth is in the interval in 95 of 100 cells. */
static void check_cells(struct scenario *s, int *cells, int *inside)
{
	for (int p = 0; p < PIDS; p++)
		for (int w = 0; w < WORKS; w++) {
			uint64_t got = 0, want = 0;

			for (int k = 0; k < STACKS; k++) {
				const struct cell *c = &s->got[p][k][w];

				got += c->ns;
				want += s->answer[p][k][w];
				if (k && (s->answer[p][k][w] || c->ns)) {
					++*cells;
					*inside += c->low <= s->answer[p][k][w] &&
						   s->answer[p][k][w] <= c->high;
				}
			}
			ck_assert_uint_eq(got, want);
		}
}

START_TEST(estimates)
{
	int cells = 0, inside = 0;
	uint64_t stacks = 0, launches = 0;

	for (int seed = 1; seed <= 14; seed++) {
		struct scenario s;

		scenario_read(&s, seed, 24000);
		uint64_t weights = sample_all(&s, 500, seed);

		/* Weights add up to the launches, except for the last gap of each thread. */
		ck_assert_uint_le(weights, s.calls.n);
		ck_assert_uint_gt(weights, s.calls.n - s.calls.n / 50);
		for (size_t i = 0; i < s.calls.n; i++)
			stacks += s.calls.v[i].weight != 0;
		launches += s.calls.n;
		struct gpu_join *j = gpu_join_new(&(struct gpu_join_opts){ 0 }, on_share, &s);

		feed(&s, j, seed % 3, 100);
		ck_assert_uint_gt(s.estimates, 0);
		check_cells(&s, &cells, &inside);
		gpu_join_free(j);
		vec_done(&s.calls);
	}
	fprintf(stderr, "%d of %d cells inside; %.1f %% of %lu launches had a stack\n", inside,
		cells, 100.0 * stacks / launches, launches);
	ck_assert_uint_lt(stacks, launches / 5);
	ck_assert_int_gt(cells, 600);
	ck_assert_int_ge(100 * inside, 95 * cells);
}
END_TEST

/* The sampler keeps its rate for any pattern of calls, and gives every launch a stack below that rate. */
START_TEST(rates)
{
	static const struct {
		uint32_t per_s, gap_ns, at_least, at_most;
	} cases[] = {
		{ 100, 20000000, 500, 500 }, /* 50 a second: all of them */
		{ 100, 100000, 800, 1250 },  /* 10 000 a second */
		{ 100, 2000, 800, 1250 },    /* 500 000 */
		{ 1000, 100000, 8000, 12500 }, { 0, 1000000, 10000, 10000 }, /* no limit */
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct launch_sampler s = { 0 };
		uint64_t hits = 0, weights = 0, n = 0;

		for (uint64_t t = 1; t < 10000000001ull; t += cases[i].gap_ns, n++) {
			uint32_t weight = launch_sample(&s, cases[i].per_s, 5, t);

			hits += weight != 0;
			weights += weight;
		}
		ck_assert_msg(hits >= cases[i].at_least && hits <= cases[i].at_most,
			      "case %zu: %lu hits", i, hits);
		ck_assert_uint_eq(weights + s.skipped, n);
	}
}
END_TEST

/* Without any stack, or for forgotten launches, the time is reported as nobody's. */
START_TEST(unknown)
{
	struct scenario s;

	memset(&s, 0, sizeof s);
	struct gpu_join *j =
		gpu_join_new(&(struct gpu_join_opts){ .max_launches = 4 }, on_share, &s);

	gpu_join_call(j, 1, 10, 7);
	gpu_join_work(j, 1, 10, 3, 0, 500, 0);
	gpu_join_stack(j, 1, 11, 2, 1, 0);
	for (uint32_t c = 20; c < 24; c++)
		gpu_join_call(j, 1, c, 7);
	gpu_join_work(j, 1, 11, 4, 0, 700, 0);
	gpu_join_finish(j, 1999999999);
	ck_assert_uint_eq(s.got[1][0][3].ns + s.estimates, 0);
	gpu_join_stack(j, 1, 10, 2, 1, 0); /* too late for its launch, not for its work */
	gpu_join_finish(j, 2000000000);
	gpu_join_flush(j);
	ck_assert_uint_eq(s.got[1][2][3].ns, 500);
	ck_assert_uint_eq(s.got[1][0][4].ns, 700);
	ck_assert_uint_eq(s.got[1][0][4].low, 0);
	ck_assert_uint_eq(gpu_join_counts(j).unknown_ns, 700);
	ck_assert_uint_eq(gpu_join_counts(j).exact_ns, 500);
	ck_assert_uint_ge(gpu_join_counts(j).forgotten, 2);
	gpu_join_flush(j);
	ck_assert_uint_eq(s.estimates, 1);
	gpu_join_free(j);
}
END_TEST

/* Another program in the same process: correlation ids start again, for other launches. */
START_TEST(forgotten)
{
	struct scenario s;

	memset(&s, 0, sizeof s);
	struct gpu_join *j =
		gpu_join_new(&(struct gpu_join_opts){ .max_launches = 4 }, on_share, &s);

	gpu_join_stack(j, 1, 10, 2, 1, 0);
	gpu_join_stack(j, 2, 10, 3, 1, 0);
	gpu_join_work(j, 1, 11, 4, 0, 70, 0);
	gpu_join_work(j, 2, 12, 4, 0, 40, 0);
	gpu_join_forget(j, 1);
	gpu_join_stack(j, 1, 11, 2, 1, 0); /* not for pending work */
	gpu_join_stack(j, 2, 12, 3, 1, 0);
	gpu_join_work(j, 1, 10, 3, 0, 500, 0);
	gpu_join_work(j, 2, 10, 3, 0, 300, 0);
	for (uint32_t c = 20; c < 30; c++) /* entries are reused */
		gpu_join_stack(j, 2, c, 5, 1, 0);
	gpu_join_work(j, 2, 29, 3, 0, 9, 0);
	gpu_join_flush(j);
	ck_assert_uint_eq(s.got[1][2][3].ns, 0);
	ck_assert_uint_eq(s.got[1][0][3].ns, 500);
	ck_assert_uint_eq(s.got[1][0][4].ns, 70);
	ck_assert_uint_eq(s.got[2][3][3].ns, 300);
	ck_assert_uint_eq(s.got[2][5][3].ns, 9);
	ck_assert_uint_eq(s.got[2][0][4].ns + s.got[2][3][4].ns, 40);
	gpu_join_free(j);
}
END_TEST

UNIT_MAIN("gpu-join", exact, estimates, rates, unknown, forgotten)
