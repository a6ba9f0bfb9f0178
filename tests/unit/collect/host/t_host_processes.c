// tier: test
/* Metrics of processes: attribution of time, and the limit on names. */
#include "host_points_text.h"
#include "rand.h"

#include "collect/host/host_processes.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- processes -------------------------------------------------------------------------------- */

START_TEST(a_line_of_a_process)
{
	struct host_process_facts f;
	const char *line = "42 (a) b) c) R 1 1 1 0 -1 4194304 5 6 7 8 250 50 3 4 20 0 1 0 1000 9 "
			   "25 18446744073709551615 1\n";
	ck_assert_int_eq(host_process_parse(text_of(line), 100, 4096, &f), 0);
	ck_assert_uint_eq(f.on_cpu_ns, 3000000000);
	ck_assert_uint_eq(f.began_ns, 10000000000);
	ck_assert_uint_eq(f.resident_bytes, 25 * 4096);
	ck_assert_int_eq(host_process_parse(text_of("42 (a) R 1 1 1"), 100, 4096, &f), -EBADMSG);
	ck_assert_int_eq(host_process_parse(text_of("42"), 100, 4096, &f), -EBADMSG);
	ck_assert_int_eq(host_process_parse(text_of(""), 100, 4096, &f), -EBADMSG);
}
END_TEST

/* Processes by pid; those that began at UINT64_MAX are gone. */
struct fake {
	struct host_process_facts of[4096];
};

static bool read_fake(void *ctx, uint32_t pid, struct host_process_facts *out)
{
	struct fake *f = ctx;
	*out = f->of[pid];
	return f->of[pid].began_ns != UINT64_MAX;
}

enum { MS = 1000000 };

START_TEST(kernel_time_is_used_if_known)
{
	struct fake f = { 0 };
	struct host_processes h;
	struct host_points w;
	host_points_init(&w, NULL);
	host_processes_init(&h, read_fake, &f);
	w.time_ns = 200;
	f.of[1] = (struct host_process_facts){ 5, 7000ull * MS, 4096 };  /* was there before */
	f.of[2] = (struct host_process_facts){ 100, 300ull * MS, 8192 }; /* began meanwhile */
	f.of[3].began_ns = UINT64_MAX;                                   /* has ended */
	host_processes_sample(&h, 1, "old", 1000ull * MS);
	host_processes_sample(&h, 2, "new", 250ull * MS);
	host_processes_sample(&h, 3, "gone", 50ull * MS);
	host_processes_sample(&h, 3, "gone", 50ull * MS);
	host_processes_put(&h, 100, 100, &w);
	puts_these(&w, "process_cpu_time{old} 0 @100\nprocess_cpu_time{old} 1 @200\n"
		       "process_memory_usage{old} 4096 @200\n"
		       "process_cpu_time{new} 0 @100\nprocess_cpu_time{new} 0.3 @200\n"
		       "process_memory_usage{new} 8192 @200\n"
		       "process_cpu_time{gone} 0 @100\nprocess_cpu_time{gone} 0.1 @200\n");
	w.time_ns = 300;
	f.of[1].on_cpu_ns += 2500ull * MS;
	f.of[2].began_ns = 150; /* another process with that pid, not of this interval */
	host_processes_sample(&h, 1, "old", 2000ull * MS);
	host_processes_sample(&h, 2, "new", 10ull * MS);
	host_processes_put(&h, 200, 200, &w);
	puts_these(&w, "process_cpu_time{old} 3.5 @300\nprocess_memory_usage{old} 4096 @300\n"
		       "process_cpu_time{new} 0.31 @300\nprocess_memory_usage{new} 8192 @300\n");
	w.time_ns = 400; /* an idle one is left out, and begins with a point again */
	host_processes_sample(&h, 3, "gone", 500ull * MS);
	host_processes_put(&h, 300, 300, &w);
	puts_these(&w, "process_cpu_time{gone} 0.1 @300\nprocess_cpu_time{gone} 0.6 @400\n");
	host_processes_done(&h);
	host_points_done(&w);
}
END_TEST

START_TEST(one_name_is_one_series)
{
	struct fake f = { 0 };
	struct host_processes h;
	struct host_points w;
	host_points_init(&w, NULL);
	host_processes_init(&h, read_fake, &f);
	for (uint32_t pid = 1; pid <= 200; pid++) {
		f.of[pid] = (struct host_process_facts){ 1, 0, 4096 };
		host_processes_sample(&h, pid, "worker", 10ull * MS);
	}
	host_processes_put(&h, 100, 0, &w);
	puts_these(&w, "process_cpu_time{worker} 0\nprocess_cpu_time{worker} 2\n"
		       "process_memory_usage{worker} 262144\n"); /* of those that were read */
	host_processes_done(&h);
	host_points_done(&w);
}
END_TEST

/* The sum of all growth reported is the sum sampled, however many names come and go. */
START_TEST(names_are_bounded_and_nothing_is_counted_twice)
{
	struct fake *f = calloc(1, sizeof *f);
	struct rng rng = { 3 };
	struct host_processes h;
	int checked = 0;
	host_processes_init(&h, read_fake, f);
	for (uint32_t i = 0; i < 4096; i++)
		f->of[i].began_ns = UINT64_MAX;
	for (int interval = 0; interval < 200; interval++) {
		struct host_points w;
		double given = 0, last = 0;
		host_points_init(&w, NULL);
		for (int i = 0; i < 19; i++) {
			char name[32];
			uint32_t n = rng_below(&rng, 4000);
			snprintf(name, sizeof name, "name%u", n);
			host_processes_sample(&h, n, name, 100ull * MS);
		}
		uint64_t names = h.names.n;
		host_processes_put(&h, 0, 0, &w);
		ck_assert_uint_le(h.names.n, HOST_MAX_NAMES);
		ck_assert_uint_le(names, HOST_MAX_NAMES + 19);
		ck_assert_uint_le(w.m.series.n, 2 * HOST_BUSIEST);
		for (size_t i = 0; i < w.m.points.n; i++) {
			bool second = i && w.m.points.v[i].series == w.m.points.v[i - 1].series;
			given += second ? w.m.points.v[i].value - last : 0;
			last = w.m.points.v[i].value;
			bool alone =
				!second && (i + 1 == w.m.points.n ||
					    w.m.points.v[i + 1].series != w.m.points.v[i].series);
			given += alone ? NAN : 0;
		}
		if (!isnan(given)) { /* every name was reported with its start */
			ck_assert_double_eq_tol(given, 1.9, 1e-9);
			checked++;
		}
		host_points_done(&w);
	}
	ck_assert_int_gt(checked, 150);
	host_processes_done(&h);
	free(f);
}
END_TEST

UNIT_MAIN("host_processes", a_line_of_a_process, kernel_time_is_used_if_known,
	  one_name_is_one_series, names_are_bounded_and_nothing_is_counted_twice)
