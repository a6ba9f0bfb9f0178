// tier: test
/* The processes that read of others may die at any moment, or never return: this is counted, others take their place, and there is a limit. */
#include "collect/worker/helper.h"

#include "base/clock.h"
#include "base/stream.h"
#include "collect/proc/mapped_file.h"
#include "collect/worker/far_files.h"
#include "collect/worker/proc_reader.h"
#include "unit.h"
#include "workers.h"

#include <errno.h>
#include <sys/sysmacros.h>
#include <unistd.h>

static struct helper *helper;

static pid_t nursery(void)
{
	return await_child(getpid(), "cresset-nursery");
}

static void begin(void)
{
	ck_assert_int_eq(helper_new(&helper), 0);
}

static struct stream begin_worker(enum helper_work work)
{
	struct stream s;
	int fd = helper_start(helper, work);

	ck_assert_int_ge(fd, 0);
	stream_open(&s, fd, 1 << 16);
	return s;
}

static bool is_closed(const struct stream *s)
{
	struct pollfd p = { .fd = s->fd, .events = POLLIN };

	return poll(&p, 1, WORKERS_TRIES * WORKERS_PAUSE_MS) == 1;
}

static struct helper_stats stats(void)
{
	struct helper_stats s;

	helper_get_stats(helper, &s);
	return s;
}

START_TEST(a_nursery_that_dies_is_found_and_renewed)
{
	begin();
	ck_assert(helper_check(helper));
	pid_t first = nursery();
	ck_assert_int_eq(kill(first, SIGKILL), 0);
	for (int i = 0; i < WORKERS_TRIES && helper_check(helper); i++)
		poll(NULL, 0, WORKERS_PAUSE_MS);
	ck_assert(!helper_check(helper));
	ck_assert_int_eq(helper_start(helper, HELPER_CODE), -EPIPE);
	ck_assert_uint_eq(stats().nursery_ends, 1);
	ck_assert_int_eq(helper_renew(helper), 0);
	ck_assert(helper_check(helper));
	struct stream s = begin_worker(HELPER_CODE);
	ck_assert_int_ne(nursery(), first);
	await_child(nursery(), "cresset-code");
	stream_close(&s);
	helper_free(helper);
}
END_TEST

START_TEST(a_worker_that_dies_closes_its_stream)
{
	begin();
	struct stream s = begin_worker(HELPER_CODE);

	ck_assert_int_eq(kill(await_child(nursery(), "cresset-code"), SIGKILL), 0);
	ck_assert(is_closed(&s));
	helper_end(helper, HELPER_CODE, HELPER_DIED, &s);
	ck_assert(!stream_is_open(&s));
	ck_assert_uint_eq(stats().ends[HELPER_CODE][HELPER_DIED], 1);
	ck_assert_uint_eq(stats().stuck[HELPER_CODE], 0);
	s = begin_worker(HELPER_CODE);
	await_child(nursery(), "cresset-code");
	stream_close(&s);
	helper_free(helper);
}
END_TEST

/* A worker that is stopped does not answer; the nursery kills it, and it does not count any more. */
START_TEST(a_stuck_worker_counts_until_it_ends)
{
	begin();
	struct stream s = begin_worker(HELPER_FAR);

	stop_child(await_child(nursery(), "cresset-far"), nursery(), "cresset-far");
	helper_end(helper, HELPER_FAR, HELPER_STUCK, &s);
	ck_assert_uint_eq(stats().ends[HELPER_FAR][HELPER_STUCK], 1);
	for (int i = 0; i < WORKERS_TRIES && stats().stuck[HELPER_FAR]; i++)
		poll(NULL, 0, WORKERS_PAUSE_MS);
	ck_assert_uint_eq(stats().stuck[HELPER_FAR], 0);
	helper_free(helper);
}
END_TEST

/* A nursery that is stopped ends nobody: so its workers stay, as those do that the kernel does not end. */
START_TEST(too_many_stuck_workers_get_no_other)
{
	begin();
	pid_t n = nursery();
	stop_child(n, getpid(), "cresset-nursery");
	for (int i = 0; i < HELPER_MAX_STUCK; i++) {
		struct stream s = begin_worker(HELPER_FAR);
		helper_end(helper, HELPER_FAR, HELPER_STUCK, &s);
	}
	ck_assert_uint_eq(stats().stuck[HELPER_FAR], HELPER_MAX_STUCK);
	ck_assert_int_eq(helper_start(helper, HELPER_FAR), -EBUSY);
	struct stream other = begin_worker(HELPER_CODE);
	stream_close(&other);
	ck_assert_int_eq(kill(n, SIGCONT), 0);
	for (int i = 0; i < WORKERS_TRIES && stats().stuck[HELPER_FAR]; i++)
		poll(NULL, 0, WORKERS_PAUSE_MS);
	struct stream s = begin_worker(HELPER_FAR);
	stream_close(&s);
	helper_free(helper);
}
END_TEST

static void ask_for_own_file(struct far_files *f)
{
	char path[256];
	struct stat st;
	ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);

	ck_assert_int_gt(n, 0);
	path[n] = 0;
	ck_assert_int_eq(stat(path, &st), 0);
	const struct mapped_file file = { .pid = getpid(),
					  .path = path,
					  .maj = major(st.st_dev),
					  .min = minor(st.st_dev),
					  .ino = st.st_ino };
	ck_assert_uint_ne(far_files_ask(f, &file), 0);
}

/* What was asked of a worker that dies is asked of the next one; before, the file's device was left alone. */
START_TEST(a_file_comes_from_the_next_worker)
{
	struct far_file file = { .fd = -1 };

	begin();
	struct far_files *f = far_files_new(helper);
	ask_for_own_file(f);
	while (!far_files_take(f, &file))
		poll(NULL, 0, WORKERS_PAUSE_MS);
	ck_assert_int_ge(file.fd, 0);
	close(file.fd);
	pid_t worker = await_child(nursery(), "cresset-far");
	stop_child(worker, nursery(), "cresset-far");
	ask_for_own_file(f);
	ck_assert_int_eq(kill(worker, SIGKILL), 0);
	while (!far_files_take(f, &file))
		poll(NULL, 0, WORKERS_PAUSE_MS);
	ck_assert_int_ge(file.fd, 0);
	close(file.fd);
	ck_assert_uint_eq(stats().ends[HELPER_FAR][HELPER_DIED], 1);
	far_files_free(f);
	helper_free(helper);
}
END_TEST

static bool skip_map(void *ctx, const struct proc_map *m)
{
	(void)ctx, (void)m;
	return true;
}

/* The worker reports at most what the kernel counted for it. */
START_TEST(cpu_time_counts_also_after_a_worker_has_ended)
{
	uint32_t others = 0;

	begin();
	struct proc_reader *r = proc_reader_new(helper);
	uint64_t before_ns = helper_cpu_ns(helper);
	int64_t used_ns = 0;
	while (used_ns < 2000000) {
		uint64_t begin_ns = clock_thread_ns(), ns = proc_reader_clock_ns(r);
		int rc = proc_reader_maps(r, getpid(), skip_map, NULL, &others);

		ck_assert(rc == 0 || rc == -EAGAIN);
		used_ns += (int64_t)(proc_reader_clock_ns(r) - ns) -
			   (int64_t)(clock_thread_ns() - begin_ns);
		poll(NULL, 0, 1);
	}
	ck_assert_uint_ge(helper_cpu_ns(helper) - before_ns, used_ns);

	pid_t worker = await_child(nursery(), "cresset-read");
	ck_assert_int_eq(kill(worker, SIGKILL), 0);
	for (int i = 0; i < WORKERS_TRIES && kill(worker, 0) == 0; i++)
		poll(NULL, 0, WORKERS_PAUSE_MS);
	ck_assert_int_eq(kill(worker, 0), -1);
	ck_assert_uint_ge(helper_cpu_ns(helper) - before_ns, used_ns);

	ck_assert_int_eq(kill(nursery(), SIGKILL), 0);
	for (int i = 0; i < WORKERS_TRIES && helper_check(helper); i++)
		poll(NULL, 0, WORKERS_PAUSE_MS);
	ck_assert_uint_ge(helper_cpu_ns(helper) - before_ns, used_ns);
	proc_reader_free(r);
	helper_free(helper);
}
END_TEST

UNIT_MAIN("helper", a_nursery_that_dies_is_found_and_renewed, a_worker_that_dies_closes_its_stream,
	  a_stuck_worker_counts_until_it_ends, too_many_stuck_workers_get_no_other,
	  a_file_comes_from_the_next_worker, cpu_time_counts_also_after_a_worker_has_ended)
