// tier: test
/* perf.data: mappings of processes over time, and the order of records. */
#include "perf_data_world.h"
#include "rand.h"

#include "format/perf_data/perf_data_reader.h"
#include "format/perf_data/perf_data_space.h"

/* --- processes -------------------------------------------------------------------------------- */

START_TEST(forks_execs_and_threads)
{
	struct pdf f = { .sample_type = PDF_SAMPLE_TYPE };
	const uint64_t in_exec[] = { PERF_CONTEXT_KERNEL, KERNEL_TEXT, PERF_CONTEXT_USER, 0x1010,
				     0 };
	f.id = clock_event.id;
	pdf_comm(&f, 0, 10, 10, "shell", 1);
	pdf_mmap(&f, 10, 0x1000, 0x1000, 0, "/bin/sh", 2);
	pdf_task(&f, PERF_RECORD_FORK, 11, 11, 10, 10, 3);
	put_at(&f, 11, 11, 4, 0x1010);
	pdf_mmap(&f, 10, 0x1000, 0x100, 0, "/bin/late", 5); /* the parent's only */
	put_at(&f, 11, 11, 6, 0x1011);
	put_at(&f, 10, 10, 7, 0x1012);
	put_at(&f, 10, 10, 8, 0x1112); /* what is left of /bin/sh */
	pdf_comm(&f, PERF_RECORD_MISC_COMM_EXEC, 11, 11, "tool", 9);
	pdf_sample(&f, PERF_RECORD_MISC_KERNEL, 11, 11, 10, 1000, in_exec);
	pdf_mmap(&f, 11, 0x8000, 0x1000, 0, "/bin/tool", 11);
	put_at(&f, 11, 11, 12, 0x8001);
	put_at(&f, 11, 11, 13, 0x1010); /* nothing is there any more */
	pdf_task(&f, PERF_RECORD_FORK, 11, 12, 11, 11, 14);
	pdf_comm(&f, 0, 11, 12, "worker", 15);
	put_at(&f, 11, 12, 16, 0x8002);
	pdf_task(&f, PERF_RECORD_EXIT, 11, 11, 10, 10, 17);
	put_at(&f, 11, 12, 18, 0x8003);
	pdf_task(&f, PERF_RECORD_EXIT, 11, 12, 11, 11, 19);
	pdf_task(&f, PERF_RECORD_FORK, 11, 11, 10, 10, 20); /* the number again */
	put_at(&f, 11, 11, 21, 0x8004);
	static const struct {
		const char *stack, *comm, *process;
	} want[] = {
		{ "/bin/sh+0x10", "shell", "shell" },
		{ "/bin/sh+0x11", "shell", "shell" },
		{ "/bin/late+0x12", "shell", "shell" },
		{ "/bin/sh+0x112", "shell", "shell" },
		{ "/bin/sh+0x10;[unknown]@[kernel]", "tool", "tool" },
		{ "/bin/tool+0x1", "tool", "tool" },
		{ "[unknown]", "tool", "tool" },
		{ "/bin/tool+0x2", "worker", "tool" },
		{ "/bin/tool+0x3", "worker", "tool" },
		{ "[unknown]", "shell", "shell" },
	};
	struct profile *p = read_file(pdf_file(&f, &clock_event, 1));
	ck_assert_uint_eq(p->samples.n, sizeof want / sizeof *want);
	for (size_t i = 0; i < p->samples.n; i++) {
		ck_assert_str_eq(stack_text(p, i), want[i].stack);
		ck_assert_str_eq(label_text(p, i, "comm"), want[i].comm);
		ck_assert_str_eq(label_text(p, i, "process"), want[i].process);
	}
	ck_assert_uint_eq(p->meta.loss[LOSS_INPUT_SKIPPED], 0);
	profile_free(p);
	buf_done(&f.data);
}
END_TEST

/* Overlapping mappings, compared with an array of one object per byte. */
START_TEST(spaces_are_like_bytes)
{
	enum { SIZE = 200, ROUNDS = 4000 };
	struct rng r = { 11 };
	struct pd_world w = { 0 };
	uint32_t object[SIZE] = { 0 }, from[SIZE] = { 0 };
	for (uint32_t i = 1; i <= ROUNDS; i++) {
		uint64_t start = rng_below(&r, SIZE), end = start + 1 + rng_below(&r, SIZE - start);
		struct pd_map m = { start, end, 1000, i };
		ck_assert(pd_world_map(&w, 1, &m));
		for (uint64_t at = start; at < end; at++) {
			object[at] = i;
			from[at] = start;
		}
		const struct pd_space *s = pd_process_get(&w, 1)->space;
		ck_assert_uint_eq(w.n_maps, s->maps.n);
		for (uint64_t at = 0; at < SIZE; at++) {
			const struct pd_map *found = pd_space_find(s, at);
			ck_assert_uint_eq(found ? found->object : 0, object[at]);
			if (found)
				ck_assert_uint_eq(at - found->start + found->pgoff,
						  1000 + at - from[at]);
		}
	}
	pd_world_done(&w);
}
END_TEST

/* Many processes come and go without leaving mappings behind, except for the last few. */
START_TEST(ended_processes_are_forgotten)
{
	enum { PROCESSES = 20000 };
	struct pd_world w = { 0 };
	for (uint32_t pid = 1; pid <= PROCESSES; pid++) {
		ck_assert(pd_world_fork(&w, pid, pid, 0, 0, true));
		for (uint64_t i = 0; i < 20; i++) {
			struct pd_map m = { i << 12, (i + 1) << 12, 0, 1 };
			ck_assert(pd_world_map(&w, pid, &m));
		}
		pd_world_exit(&w, pid, pid);
	}
	ck_assert_uint_le(w.n_maps, 20 * (PD_ENDED + 1));
	pd_world_done(&w);
}
END_TEST

START_TEST(mappings_have_a_limit)
{
	struct pd_world w = { 0 };
	uint64_t kept = 0;
	for (uint64_t i = 0; i < 2 * PD_MAX_MAPS; i++) {
		struct pd_map m = { i * 2, i * 2 + 1, 0, 1 };
		kept += pd_world_map(&w, 1, &m);
	}
	ck_assert_uint_le(kept, PD_MAX_MAPS);
	ck_assert_uint_ge(kept, PD_MAX_MAPS - 2);
	pd_world_done(&w);
}
END_TEST

/* Children of a process with very many mappings that each add one: a few may, then only as many as were paid for by other new mappings. */
START_TEST(copies_have_a_limit)
{
	enum { MAPS = PD_MAX_MAPS - 2, CHILDREN = 100, FREE = 10 };
	struct pd_world w = { 0 };
	const struct pd_map one = { 1, 2, 0, 1 };
	uint64_t copied = 0;
	for (uint64_t i = 0; i < MAPS; i++)
		ck_assert(pd_world_map(&w, 1, &(struct pd_map){ i * 2, i * 2 + 1, 0, 1 }));
	w.moved = PD_MAX_MOVED + w.added * PD_MOVED_EACH - 2 * FREE * MAPS;
	for (uint32_t pid = 2; pid < 2 + CHILDREN; pid++) {
		ck_assert(pd_world_fork(&w, pid, pid, 1, 1, true));
		copied += pd_world_map(&w, pid, &one);
		pd_world_exit(&w, pid, pid);
	}
	ck_assert_uint_ge(copied, FREE);
	ck_assert_uint_le(copied, FREE + 2);
	ck_assert(pd_world_map(&w, 1000, &one)); /* needs no copy */
	pd_world_done(&w);
}
END_TEST

/* --- order ------------------------------------------------------------------------------------ */

/* As written by perf: in each round one CPU after another. The mappings of a process that ran on both are sorted by time. */
START_TEST(records_are_put_in_order)
{
	struct pdf f = { .sample_type = PDF_SAMPLE_TYPE };
	f.id = clock_event.id;
	pdf_comm(&f, 0, 10, 10, "app", 0);
	pdf_mmap(&f, 10, 0x1000, 0x1000, 0, "/first", 0);
	put_at(&f, 10, 10, 100, 0x1000); /* CPU 0 */
	put_at(&f, 10, 10, 300, 0x1000);
	pdf_mmap(&f, 10, 0x1000, 0x1000, 0, "/second", 200); /* CPU 1 */
	pdf_round(&f);
	put_at(&f, 10, 10, 500, 0x1000);
	pdf_mmap(&f, 10, 0x1000, 0x1000, 0, "/third", 250);
	put_at(&f, 10, 10, 240, 0x1000);
	pdf_round(&f);
	struct profile *p = read_file(pdf_file(&f, &clock_event, 1));
	static const char *const want[] = { "/first+0x0", "/second+0x0", "/third+0x0",
					    "/third+0x0" };
	ck_assert_uint_eq(p->samples.n, 4);
	for (size_t i = 0; i < 4; i++)
		ck_assert_str_eq(stack_text(p, i), want[i]);
	ck_assert_uint_eq(p->meta.loss[LOSS_LATE], 0);
	profile_free(p);
	buf_done(&f.data);
}
END_TEST

struct given {
	uint64_t last, n, backwards;
};

static void note_given(void *ctx, const void *record, size_t len)
{
	struct given *g = ctx;
	uint64_t time;
	ck_assert_uint_ge(len, sizeof time);
	memcpy(&time, record, sizeof time);
	g->backwards += time < g->last;
	g->last = time;
	g->n++;
}

/* If nothing is older than the previous round, everything comes out in order. */
START_TEST(rounds_are_enough)
{
	enum { ROUNDS = 200, EACH = 100 };
	struct rng r = { 3 };
	struct given g = { 0 };
	struct pd_queue q;
	pd_queue_init(&q, note_given, &g);
	size_t most = 0;
	for (uint64_t round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < EACH; i++) {
			uint64_t time = round * 1000 + rng_below(&r, 1999);
			pd_queue_add(&q, time, &time, sizeof time);
		}
		pd_queue_round(&q);
		most = q.heap.n > most ? q.heap.n : most;
	}
	pd_queue_flush(&q);
	ck_assert_uint_eq(g.n, ROUNDS * EACH);
	ck_assert_uint_eq(g.backwards, 0);
	ck_assert_uint_eq(q.late, 0);
	ck_assert_uint_lt(most, 4 * EACH);
	pd_queue_done(&q);
}
END_TEST

/* Without rounds memory is bounded, and records that come too late are counted. */
START_TEST(the_queue_has_a_limit)
{
	enum { LONG = 1 << 16, FIT = PD_MAX_QUEUED_BYTES / LONG, N = FIT + FIT / 2 };
	static uint64_t record[LONG / sizeof(uint64_t)];
	struct given g = { 0 };
	struct pd_queue q;
	pd_queue_init(&q, note_given, &g);
	for (uint64_t i = 0; i < N; i++) {
		record[0] = N - i;
		pd_queue_add(&q, record[0], record, sizeof record);
		ck_assert_uint_le(q.bytes, PD_MAX_QUEUED_BYTES);
	}
	ck_assert_uint_ge(q.late, N - FIT - 1);
	pd_queue_flush(&q);
	ck_assert_uint_eq(g.n, N);
	pd_queue_done(&q);
}
END_TEST

UNIT_MAIN("perf_data_space", forks_execs_and_threads, spaces_are_like_bytes,
	  ended_processes_are_forgotten, mappings_have_a_limit, copies_have_a_limit,
	  records_are_put_in_order, rounds_are_enough, the_queue_has_a_limit)
