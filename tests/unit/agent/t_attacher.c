// tier: test
/* The attaching process: it answers whatever its work does to it, and blocks nothing. */
#include "unit.h"

#include "agent/attaching.h"
#include "attach/attach_status.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct gpu_attach_library library = { .name = "libcresset-cuda.so",
						   .needs = "libnowhere.so" };
static char path[256];

static int no_maps(uint32_t pid, gpu_map_fn *fn, void *ctx)
{
	(void)pid, (void)fn, (void)ctx;
	return 0;
}
static int deadly_maps(uint32_t pid, gpu_map_fn *fn, void *ctx)
{
	(void)pid, (void)fn, (void)ctx;
	raise(SIGKILL);
	return 0;
}
static int no_file(uint32_t pid, const struct gpu_map *m)
{
	(void)pid, (void)m;
	return -ENOENT;
}
static const struct gpu_attach_view empty = { no_maps, no_file };
static const struct gpu_attach_view deadly = { deadly_maps, no_file };

static struct attacher begin(struct attacher_opts *opts)
{
	const char *build = getenv("BUILD");
	struct attacher a;
	struct err err;

	snprintf(path, sizeof path, "%s/libcresset-cuda.so", build ? build : "build");
	opts->library = &library;
	opts->path = opts->path ? opts->path : path;
	ck_assert_int_eq(attacher_start(opts, &a, &err), 0);
	return a;
}
static pid_t victim(void)
{
	pid_t pid = fork();

	if (pid == 0)
		for (;;)
			pause();
	return pid;
}
static void end(pid_t pid)
{
	ck_assert_int_eq(kill(pid, SIGKILL), 0); /* it is alive until now */
	waitpid(pid, NULL, 0);
}
static struct attacher_answer answer(const struct attacher *a)
{
	struct attacher_answer out;
	struct pollfd p = { .fd = a->fd, .events = POLLIN };

	ck_assert_int_eq(poll(&p, 1, 60000), 1);
	ck_assert_int_eq(attacher_receive(a, &out), 1);
	return out;
}

START_TEST(a_refusal_comes_back_with_its_words)
{
	struct attacher_opts opts = { .view = &empty };
	struct attacher a = begin(&opts);
	pid_t pid = victim();

	struct attacher_answer none;
	ck_assert_int_eq(attacher_receive(&a, &none), 0);
	ck_assert_int_eq(attacher_send(&a, pid, attach_start_of(pid)), 0);
	struct attacher_answer r = answer(&a);
	ck_assert_uint_eq(r.pid, pid);
	ck_assert_int_eq(r.rc, -ECANCELED);
	ck_assert_int_eq(r.report.refusal, GPU_ATTACH_NO_LIBRARY);
	ck_assert(strstr(r.err.text, "has not loaded libnowhere.so"));
	end(pid);
	attacher_stop(&a);
}
END_TEST

START_TEST(another_process_of_that_number_is_left_alone)
{
	struct attacher_opts opts = { .view = &deadly };
	struct attacher a = begin(&opts);
	pid_t pid = victim();

	ck_assert_uint_ne(attach_start_of(pid), 0);
	ck_assert_int_eq(attacher_send(&a, pid, attach_start_of(pid) + 1), 0);
	struct attacher_answer r = answer(&a);
	ck_assert_int_eq(r.rc, -ESRCH);
	ck_assert_uint_eq(r.report.held_ns, 0);
	end(pid);
	ck_assert_uint_eq(attach_start_of(pid), 0);
	attacher_stop(&a);
}
END_TEST

/* An attach that dies gets an answer, and the next one works. */
START_TEST(a_crash_costs_one_attach)
{
	struct attacher_opts opts = { .view = &deadly };
	struct attacher a = begin(&opts);
	pid_t pid = victim();

	for (int i = 0; i < 3; i++) {
		ck_assert_int_eq(attacher_send(&a, pid, attach_start_of(pid)), 0);
		struct attacher_answer r = answer(&a);
		ck_assert_uint_eq(r.pid, pid);
		ck_assert_int_eq(r.rc, -EIO);
		ck_assert(strstr(r.err.text, "crashed"));
	}
	end(pid);
	attacher_stop(&a);
}
END_TEST

START_TEST(a_missing_library_is_reported)
{
	struct attacher_opts opts = { .view = &empty, .path = "/nowhere/lib.so" };
	struct attacher a = begin(&opts);

	ck_assert_int_eq(attacher_send(&a, getpid(), attach_start_of(getpid())), 0);
	struct attacher_answer r = answer(&a);
	ck_assert_int_eq(r.rc, -ENOENT);
	ck_assert(strstr(r.err.text, "/nowhere/lib.so"));
	attacher_stop(&a);
}
END_TEST

START_TEST(it_ends_with_its_client_and_its_end_is_reported)
{
	struct attacher_opts opts = { .view = &empty };
	struct attacher a = begin(&opts), b = begin(&opts);
	struct attacher_answer r;
	int status;

	close(a.fd);
	ck_assert_int_eq(waitpid(a.pid, &status, 0), a.pid);
	ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	kill(b.pid, SIGKILL);
	ck_assert_int_eq(poll(&(struct pollfd){ .fd = b.fd, .events = POLLIN }, 1, 60000), 1);
	ck_assert_int_eq(attacher_receive(&b, &r), -EPIPE);
	ck_assert_int_lt(attacher_send(&b, 1, 1), 0);
	attacher_stop(&b);
}
END_TEST

UNIT_MAIN("attacher", a_refusal_comes_back_with_its_words,
	  another_process_of_that_number_is_left_alone, a_crash_costs_one_attach,
	  a_missing_library_is_reported, it_ends_with_its_client_and_its_end_is_reported)
