// tier: test
/* CPython read from outside while it runs, while its memory is torn, and when it is gone: the work is bounded, and a frame has its own name or
 * none. */
#include "base/err.h"
#include "live_python.h"
#include "rand.h"
#include "runtime/cpython_parts.h"

#include <time.h>

enum { MAX_THREADS = 64, MAX_DEPTH = 512 };

/* Memory that was read once, and with that many bytes changed; the number of reads is bounded. */
struct torn {
	struct live *live;
	struct rng rng;
	unsigned one_of; /* one word in this many reads as another */
	uint64_t reads;
};

static uint64_t changed(struct torn *t, uint64_t word)
{
	switch (rng_below(&t->rng, 5)) {
	case 0:
		return word ^ 1ull << rng_below(&t->rng, 64);
	case 1:
		return word + 8 * rng_below(&t->rng, 64);
	case 2:
		return rng_next(&t->rng);
	case 3:
		return t->live->row.runtimes[0].head_at;
	default:
		return 0;
	}
}

static int torn_read(void *ctx, uint64_t addr, void *out, size_t len)
{
	struct torn *t = ctx;
	int rc = live_read(t->live, addr, out, len);
	uint64_t word;

	t->reads++;
	if (rng_below(&t->rng, t->one_of * 4) == 0)
		return -EFAULT;
	for (size_t at = 0; rc == 0 && at + 8 <= len; at += 8) {
		if (rng_below(&t->rng, t->one_of))
			continue;
		memcpy(&word, (char *)out + at, 8);
		word = changed(t, word);
		memcpy((char *)out + at, &word, 8);
	}
	return rc;
}

/* The names and files that exist: a torn read may yield only these, or the torn bytes themselves. */
static void walk_torn(struct torn *t, const struct cpython_layout *layout, uint64_t counts[2])
{
	const struct runtime_memory memory = { torn_read, t };
	struct cpython_thread threads[MAX_THREADS];
	struct cpython_frame frames[MAX_DEPTH];
	struct cpython_code code;
	size_t n = cpython_threads(layout, t->live->row.runtimes[0].head_at, &memory, threads,
				   MAX_THREADS);

	for (size_t i = 0; i < n; i++) {
		size_t k = cpython_frames(layout, threads[i].state, &memory, frames, MAX_DEPTH);

		for (size_t f = 0; f < k && f < 8; f++) {
			int rc = cpython_code_read(layout, &memory,
						   frames[f].words[0] & CPYTHON_ADDRESS,
						   frames[f].words[1] >> 32, 0, &code);

			counts[rc == 0]++;
			if (rc < 0)
				continue;
			ck_assert_uint_le(strlen(code.name), CPYTHON_MAX_NAME * 4 + 3);
			ck_assert_uint_le(code.lines_size, CPYTHON_MAX_LINES);
			cpython_code_done(&code);
		}
	}
}

/* At most its frames for each thread, eight of those with names, and a few reads for each name. */
enum {
	MAX_READS_A_WALK =
		MAX_THREADS * 3 + MAX_THREADS * (MAX_DEPTH * 2 + 16) * 2 + MAX_THREADS * 8 * 16
};

START_TEST(torn_memory_is_read_in_bounded_time)
{
	struct pythons all;

	pythons_find(&all);
	if (!all.n)
		T_SKIP("no CPython here");
	for (size_t i = 0; i < all.n; i++) {
		struct live l;
		uint64_t counts[2] = { 0 };

		live_python(&l, &all.v[i], "threads.py", NULL);
		live_ready(&l);
		for (unsigned one_of = 4; one_of <= 4096; one_of *= 4) {
			struct torn torn = { &l, { 77 + one_of }, one_of, 0 };

			for (int k = 0; k < 10; k++) {
				torn.reads = 0;
				walk_torn(&torn, layout_of(&l, 0), counts);
				ck_assert_uint_le(torn.reads, MAX_READS_A_WALK);
			}
		}
		/* Both: intact ones are read, others are reported. */
		ck_assert_uint_gt(counts[0], 0);
		ck_assert_uint_gt(counts[1], 0);
		live_end(&l);
	}
}
END_TEST

/* A code object is gone, or replaced by another, or the process is gone: this is reported, and what was read before stays. */
START_TEST(freed_code_has_no_name)
{
	struct pythons all;

	pythons_find(&all);
	if (!all.n)
		T_SKIP("no CPython here");
	for (size_t i = 0; i < all.n; i++) {
		struct live l;
		struct told first, second;
		struct runtime_frames frame;
		uint64_t words[2], others[2];

		live_python(&l, &all.v[i], "corpus.py", NULL);
		ck_assert(live_line(&l) && take_told(l.line, &first));
		while (live_line(&l) && *l.line != 'C')
			;
		ck_assert(take_told(l.line, &second));
		live_ready(&l);
		stamped(&l, first.addr, first.begins, words);
		words[1] += 1ull << 32;
		ck_assert_int_eq(cpython_runtime.name_frame(l.process, words, &frame),
				 RUNTIME_GONE);
		words[1] -= 1ull << 32;
		ck_assert_int_eq(cpython_runtime.name_frame(l.process, words, &frame),
				 RUNTIME_NAMED);
		stamped(&l, second.addr, second.begins, others);
		kill(-l.child, SIGKILL);
		ck_assert_int_eq(waitpid(l.child, NULL, 0), l.child);
		ck_assert_int_eq(cpython_runtime.name_frame(l.process, others, &frame),
				 RUNTIME_UNREADABLE);
		ck_assert_int_eq(cpython_runtime.name_frame(l.process, words, &frame),
				 RUNTIME_NAMED);
		const struct runtime_counts *counts = cpython_runtime.counts(l.process);
		ck_assert_uint_eq(counts->frames[RUNTIME_NAMED], 2);
		ck_assert_uint_eq(counts->frames[RUNTIME_GONE], 1);
		ck_assert_uint_eq(counts->frames[RUNTIME_UNREADABLE], 1);
		free(first.name);
		free(first.file);
		free(second.name);
		free(second.file);
		live_end(&l);
	}
}
END_TEST

/* tests/unit/python/churn.py: f_N is in f_N.py, from line N % 50 + 1 on. */
static bool check_one_of_many(const struct runtime_frame *f)
{
	char file[64];
	unsigned n;

	if (sscanf(f->name, "f_%u", &n) != 1)
		return false;
	snprintf(file, sizeof file, "f_%u.py", n);
	ck_assert_str_eq(f->file, file);
	ck_assert_uint_eq(f->start_line, n % 50 + 1);
	return true;
}

/* Addresses are reused while they are read: a frame has its own name, or none. */
static unsigned look_at_frames(struct live *l)
{
	const struct runtime_memory memory = { live_read, l };
	struct cpython_thread threads[MAX_THREADS];
	struct cpython_frame frames[16];
	struct runtime_frames frame;
	unsigned right = 0;
	size_t n = cpython_threads(layout_of(l, 0), l->row.runtimes[0].head_at, &memory, threads,
				   MAX_THREADS);

	for (size_t k = 0; k < n; k++) {
		size_t depth =
			cpython_frames(layout_of(l, 0), threads[k].state, &memory, frames, 16);
		for (size_t f = 0; f < depth; f++)
			if (cpython_runtime.name_frame(l->process, frames[f].words, &frame) ==
			    RUNTIME_NAMED)
				right += check_one_of_many(&frame.v[0]);
	}
	return right;
}

enum { ENOUGH = 300, DEADLINE_S = 40 };

static void look_until_enough(struct live *l, const char *of)
{
	time_t end = time(NULL) + DEADLINE_S;
	unsigned right = 0;

	while (right < ENOUGH && time(NULL) < end)
		right += look_at_frames(l);
	const struct runtime_counts *counts = cpython_runtime.counts(l->process);
	printf("# %s: %u right, %lu gone, %lu unreadable\n", of, right,
	       (unsigned long)counts->frames[RUNTIME_GONE],
	       (unsigned long)counts->frames[RUNTIME_UNREADABLE]);
	ck_assert_uint_ge(right, ENOUGH);
}

START_TEST(names_of_changing_code)
{
	struct pythons all;

	pythons_find(&all);
	if (!all.n)
		T_SKIP("no CPython here");
	for (size_t i = 0; i < all.n; i++) {
		struct live l;

		live_python(&l, &all.v[i], "churn.py", NULL);
		live_ready(&l);
		look_until_enough(&l, all.v[i].path);
		live_end(&l);
	}
}
END_TEST

/* 3.6 without the name of its list: found by the running thread, when there is one. */
START_TEST(oldest_one_without_its_list)
{
	struct pythons all;
	const struct python *p = NULL;

	pythons_find(&all);
	for (size_t i = 0; i < all.n; i++)
		if (all.v[i].minor == 6 && strstr(all.v[i].path, "/bin/"))
			p = &all.v[i];
	if (!p)
		T_SKIP("no CPython 3.6 here");
	char dir[32], preload[96], *text = shell("cat tests/unit/python/churn.py");
	char *argv[] = { "/usr/bin/env", preload, (char *)p->path, "-c", text, NULL };
	struct err err = { 0 };
	struct live l;
	time_t end = time(NULL) + DEADLINE_S;
	int rc;

	temp_dir(dir);
	shell_do("cp \"$(dirname %s)\"/../lib/libpython3.6m.so.1.0 %s && strip %s/*", p->path, dir,
		 dir);
	snprintf(preload, sizeof preload, "LD_PRELOAD=%s/libpython3.6m.so.1.0", dir);
	live_start(&l, "", argv);
	while (live_line(&l) && *l.line != 'E')
		;
	do
		rc = live_try(&l, &err);
	while (rc == -EAGAIN && time(NULL) < end);
	ck_assert_msg(rc == 0, "%s", err.text);
	ck_assert_uint_eq(l.n_places, 1);
	look_until_enough(&l, preload);
	live_end(&l);
	shell_do("rm -rf %s", dir);
	free(text);
}
END_TEST

UNIT_MAIN("cpython torn", torn_memory_is_read_in_bounded_time, freed_code_has_no_name,
	  names_of_changing_code, oldest_one_without_its_list)
