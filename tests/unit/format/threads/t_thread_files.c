// tier: test
/* Accounts of threads, their text and their files, for a recording with known truth. */
#include "unit.h"

#include "shell.h"
#include "waits_profile.h"
#include "written.h"

#include "base/err.h"
#include "format/threads/thread_account.h"
#include "format/threads/thread_files.h"

#include <errno.h>

#define GOLDEN "tests/golden/threads/"

enum { MAIN, WORKER, LATE, IDLE, THREADS };

static void check_ms(int64_t ns, int64_t ms)
{
	ck_assert_int_eq(ns, ms * WAITS_MS);
}

static void check_sums(const struct thread_account *t, int64_t life_ms, int64_t on_ms,
		       int64_t off_ms, int64_t wait_ms)
{
	check_ms(t->life_ns, life_ms);
	check_ms(t->ns[STATE_ON_CPU], on_ms);
	check_ms(t->ns[STATE_OFF_CPU], off_ms);
	check_ms(t->ns[STATE_SCHED_WAIT], wait_ms);
}

static void check_reason(const struct profile *p, const struct thread_account *t, size_t i,
			 const char *name, int64_t ms)
{
	ck_assert_uint_lt(i, t->reasons.n);
	ck_assert_str_eq(profile_str(p, t->reasons.v[i].name), name);
	check_ms(t->reasons.v[i].ns, ms);
}

/* The same numbers from `wall` and from the three other types together; measured ones even from one of them. */
START_TEST(accounts_are_the_truth)
{
	static const unsigned with[] = {
		WAITS_WALL | WAITS_EXACT,
		WAITS_CPU | WAITS_OFF_CPU | WAITS_SCHED_WAIT | WAITS_EXACT,
		WAITS_CPU | WAITS_OFF_CPU | WAITS_SCHED_WAIT | WAITS_WALL | WAITS_EXACT,
		WAITS_OFF_CPU | WAITS_EXACT,
	};
	for (size_t i = 0; i < sizeof with / sizeof *with; i++) {
		struct profile *p = waits_profile(with[i]);
		struct thread_accounts a = { 0 };
		thread_accounts_make(p, &a);
		const struct thread_account *t = a.all.v;
		ck_assert_uint_eq(a.all.n, THREADS);
		check_ms(a.recording_ns, 10000);
		check_sums(&t[MAIN], 10000, 1000, 8900, 100);
		check_sums(&t[WORKER], 10000, 6000, 3000, 1000);
		check_sums(&t[LATE], 1000, 200, 800, 0);
		check_sums(&t[IDLE], 10000, 0, 10000, 0);
		check_reason(p, &t[MAIN], 0, "poll/epoll", 8000);
		check_reason(p, &t[MAIN], 1, "futex/lock", 800);
		check_reason(p, &t[MAIN], 2, with[i] & WAITS_WALL ? "off-CPU below 1ms" : "", 100);
		ck_assert_uint_eq(t[MAIN].reasons.n, 3);
		check_reason(p, &t[WORKER], 0, "disk I/O", 2500);
		check_ms(t[WORKER].waits[0].ns, 2500);
		ck_assert_uint_eq(t[WORKER].waits[0].n, 5);
		ck_assert_uint_eq(t[WORKER].n_waits,
				  with[i] == (WAITS_OFF_CPU | WAITS_EXACT) ? 1 : 2);
		struct thread_account sum;
		ck_assert_uint_eq(thread_accounts_sum(&a, 0, &sum), THREADS);
		check_sums(&sum, 31000, 7200, 22700, 1100);
		thread_accounts_done(&a);
		profile_free(p);
	}
}
END_TEST

/* Without measured times: only the samples' estimates. */
START_TEST(estimates_say_what_samples_say)
{
	struct profile *p = waits_profile(WAITS_WALL);
	struct thread_accounts a = { 0 };
	thread_accounts_make(p, &a);
	check_sums(&a.all.v[WORKER], 10000, 6000, 3000, 1000);
	check_sums(&a.all.v[LATE], 1000, 200, 800, 0);
	ck_assert(!a.all.v[LATE].is_exact);
	thread_accounts_done(&a);
	profile_free(p);

	p = waits_profile(WAITS_OFF_CPU);
	thread_accounts_make(p, &a);
	ck_assert_uint_eq(a.all.n, THREADS);
	ck_assert(a.is_known[STATE_OFF_CPU] && !a.is_known[STATE_ON_CPU]);
	check_sums(&a.all.v[WORKER], 2900, 0, 2500, 0); /* from the first wait to the last */
	thread_accounts_done(&a);
	profile_free(p);

	p = waits_profile(WAITS_CPU);
	thread_accounts_make(p, &a);
	ck_assert_uint_eq(a.all.n, 2); /* the others were in no sample */
	check_sums(&a.all.v[WORKER], 5990, 6000, 0, 0);
	ck_assert(a.is_known[STATE_ON_CPU] && !a.is_known[STATE_SCHED_WAIT]);
	thread_accounts_done(&a);
	profile_free(p);
}
END_TEST

/* A stopped thread is neither blocked nor waiting; a reused tid is one account. */
START_TEST(odd_threads_are_counted_once)
{
	struct waits_maker m = { .p = profile_new(), .with = WAITS_WALL };
	waits_types(&m);
	waits_thread(&m, 100, "app", 0, 0, 0, 0);
	waits_off(&m, WAITS_OFF_CPU, 0, 300, "main;[blocked: stopped]");
	waits_off(&m, WAITS_OFF_CPU, 300, 100, "main;[blocked: other]");
	struct thread_accounts a = { 0 };
	thread_accounts_make(m.p, &a);
	check_ms(a.all.v[0].stopped_ns, 300);
	check_sums(&a.all.v[0], 400, 0, 100, 0);
	thread_accounts_done(&a);

	m.with |= WAITS_EXACT;
	waits_thread(&m, 100, "app", 1000, 100, 600, 0);
	waits_thread(&m, 100, "again", 500, 100, 400, 0);
	thread_accounts_make(m.p, &a);
	ck_assert_uint_eq(a.all.n, 1);
	check_sums(&a.all.v[0], 1500, 200, 1000, 0);
	ck_assert_str_eq(profile_str(m.p, a.all.v[0].name), "again");
	thread_accounts_done(&a);
	profile_free(m.p);
}
END_TEST

static char *golden(const char *name)
{
	return shell("cat " GOLDEN "%s", name);
}

static char *text_in(const char *dir, const char *name)
{
	return shell("cat '%s/%s'", dir, name);
}

static void write_files(struct profile *p, const char *dir, const char *base,
			struct thread_files *out)
{
	struct err err = { 0 };
	struct format_write_opts opts = { 0 };
	ck_assert_msg(thread_files_write(p, dir, base, &opts, out, &err) == 0, "%s", err.text);
}

static void check_files(const char *dir, const char *want)
{
	char *got = shell("ls -A %s | LC_ALL=C sort", dir);
	ck_assert_str_eq(got, want);
	free(got);
}

START_TEST(every_thread_has_its_files)
{
	char dir[32], deep[64];
	struct thread_files files;
	struct profile *p = waits_profile(WAITS_CPU | WAITS_OFF_CPU | WAITS_WALL | WAITS_EXACT);
	temp_dir(dir);
	snprintf(deep, sizeof deep, "%s/not/there/yet", dir);
	for (int again = 0; again < 2; again++) { /* existing files are replaced */
		write_files(p, deep, "wall", &files);
		ck_assert_uint_eq(files.threads, THREADS);
		ck_assert_uint_eq(files.left_out, 0);
		free(files.summary);
	}
	check_files(deep, "thread_100_main.folded\nthread_100_main.svg\n"
			  "thread_100_main_analysis.txt\n"
			  "thread_101_worker_1____.folded\nthread_101_worker_1____.svg\n"
			  "thread_101_worker_1_____analysis.txt\n"
			  "thread_102_late.folded\nthread_102_late.svg\n"
			  "thread_102_late_analysis.txt\n"
			  "thread_103_idle.folded\nthread_103_idle.svg\n"
			  "thread_103_idle_analysis.txt\nwall_thread_analysis.txt\n");
	char *got = text_in(deep, "wall_thread_analysis.txt");
	char *want = golden("wall_thread_analysis.txt");
	ck_assert_str_eq(got, want);
	free(got);
	free(want);
	got = text_in(deep, "thread_101_worker_1____.folded");
	ck_assert_str_eq(got, "[off-CPU below 1ms]_[o] 500000\n"
			      "[sched-wait] 300000\n"
			      "start;work;memcpy_[c] 1000000\n"
			      "start;work;parse_[c] 5000000\n"
			      "start;work;read;pread64;[blocked: disk I/O]_[o] 2500000\n"
			      "start;work;read;pread64;[sched-wait] 700000\n");
	free(got);
	got = text_in(deep, "thread_102_late.svg");
	ck_assert_ptr_nonnull(strstr(got, "nanosleep"));
	ck_assert_ptr_null(strstr(got, "memcpy"));
	ck_assert_ptr_nonnull(strstr(got, "thread 102 (late): wall"));
	free(got);
	ck_assert_uint_gt(p->samples.n, 1000); /* all of them again */
	profile_free(p);
	shell_do("rm -r %s", dir);
}
END_TEST

START_TEST(unknown_values_are_reported)
{
	static const struct {
		unsigned with;
		const char *name;
	} cases[] = {
		{ WAITS_CPU, "cpu" },
		{ WAITS_OFF_CPU, "off-cpu" },
	};
	char dir[32], name[64];
	temp_dir(dir);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct profile *p = waits_profile(cases[i].with);
		struct thread_files files;
		write_files(p, dir, cases[i].name, &files);
		free(files.summary);
		snprintf(name, sizeof name, "%s_thread_analysis.txt", cases[i].name);
		char *got = text_in(dir, name), *want = golden(name);
		ck_assert_str_eq(got, want);
		free(got);
		free(want);
		profile_free(p);
	}
	shell_do("rm -r %s", dir);
}
END_TEST

START_TEST(a_single_thread_has_its_own_name)
{
	char dir[32];
	struct thread_files files;
	struct waits_maker m = { .p = profile_new(), .with = WAITS_WALL | WAITS_EXACT };
	waits_types(&m);
	waits_thread(&m, 7, "../../etc/x", 1000, 1000, 0, 0);
	waits_on(&m, 9000, 100, "main");
	temp_dir(dir);
	write_files(m.p, dir, "one", &files);
	check_files(dir, "one_single_thread_analysis.txt\nthread_7__._.._etc_x.folded\n"
			 "thread_7__._.._etc_x.svg\nthread_7__._.._etc_x_analysis.txt\n");
	free(files.summary);
	profile_free(m.p);
	shell_do("rm -r %s", dir);
}
END_TEST

START_TEST(only_so_many_threads_have_files)
{
	enum { MORE = 3 };
	char dir[32];
	struct thread_files files;
	struct waits_maker m = { .p = profile_new(), .with = WAITS_WALL | WAITS_EXACT };
	waits_types(&m);
	for (int i = 0; i < THREAD_FILES_MAX + MORE; i++)
		waits_thread(&m, 1000 + i, "t", 10000, i, 0, 0);
	waits_on(&m, 9000, 100, "main");
	temp_dir(dir);
	write_files(m.p, dir, "many", &files);
	ck_assert_uint_eq(files.threads, THREAD_FILES_MAX);
	ck_assert_uint_eq(files.left_out, MORE);
	char *n = shell("ls %s | grep -c svg; ls %s | grep -c 'thread_100[0-3]_.*svg'", dir, dir);
	ck_assert_str_eq(n, "512\n1\n"); /* those that did most */
	free(n);
	char *text = text_in(dir, "many_thread_analysis.txt");
	ck_assert_ptr_nonnull(strstr(text, "3 more threads, together"));
	free(text);
	free(files.summary);
	profile_free(m.p);
	shell_do("rm -r %s", dir);
}
END_TEST

START_TEST(unwritable_files_are_an_error)
{
	char dir[32], path[64];
	struct err err = { 0 };
	struct thread_files files;
	struct format_write_opts opts = { 0 };
	struct profile *p = waits_profile(WAITS_WALL), *empty = profile_new();
	temp_dir(dir);
	snprintf(path, sizeof path, "%s/file", dir);
	shell_do("touch %s", path);
	ck_assert_int_eq(thread_files_write(p, path, "x", &opts, &files, &err), -ENOTDIR);
	ck_assert_ptr_nonnull(strstr(err.text, path));
	snprintf(path, sizeof path, "%s/file/below", dir);
	ck_assert_int_eq(thread_files_write(p, path, "x", &opts, &files, &err), -ENOTDIR);
	opts.type = "heap";
	ck_assert_int_eq(thread_files_write(p, dir, "x", &opts, &files, &err), -ENOENT);
	ck_assert_int_eq(thread_files_write(empty, dir, "x", &opts, &files, &err), -ENOENT);
	check_files(dir, "file\n");
	profile_free(p);
	profile_free(empty);
	shell_do("rm -r %s", dir);
}
END_TEST

UNIT_MAIN("thread_files", accounts_are_the_truth, estimates_say_what_samples_say,
	  odd_threads_are_counted_once, every_thread_has_its_files, unknown_values_are_reported,
	  a_single_thread_has_its_own_name, only_so_many_threads_have_files,
	  unwritable_files_are_an_error)
