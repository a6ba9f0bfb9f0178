// tier: test
/* Programs that begin, as the kernel tells of them: those that are not known, those that are urgent, and none while it is quiet. */
#include "base/clock.h"
#include "base/err.h"
#include "bpf/program_file.h"
#include "collect/kernel/program_news.h"
#include "collect/kernel/sampler.h"
#include "shell.h"

#include <signal.h>
#include <sys/epoll.h>
#include <sys/wait.h>

enum { TAG = 7, LONG_MS = 10000 };

static struct sampler *sampler;
static struct program_news *news;
static int epoll_fd;
static char program[64], other[64];

/* A child that runs the program once it is told to: nobody else's programs are targets. */
struct child {
	pid_t pid;
	int go;
};

static struct child child_of(const char *path)
{
	int go[2];
	char byte;

	ck_assert_int_eq(pipe(go), 0);
	pid_t pid = fork();
	if (pid == 0) {
		close(go[1]);
		if (read(go[0], &byte, 1) != 1)
			_exit(126);
		execl(path, path, NULL);
		_exit(127);
	}
	close(go[0]);
	return (struct child){ pid, go[1] };
}

static void setup(const uint32_t *pids, size_t n)
{
	struct sampler_opts opts = { .target = TARGET_PID, .ids = pids, .n_ids = n };
	struct err err = { 0 };

	sampler_opts_settle(&opts);
	epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	ck_assert_msg(sampler_open(&opts, epoll_fd, 1, &sampler, &err) == 0, "%s", err.text);
	ck_assert_msg(sampler_watch_programs(sampler, epoll_fd, TAG, &news, &err) == 0, "%s",
		      err.text);
}

static void teardown(void)
{
	program_news_close(news);
	sampler_close(sampler);
	close(epoll_fd);
	unlink(program);
	unlink(other);
}

static void run(struct child *c)
{
	int status;

	ck_assert_int_eq(write(c->go, "", 1), 1);
	close(c->go);
	ck_assert_int_eq(waitpid(c->pid, &status, 0), c->pid);
	ck_assert_int_eq(status, 0);
}

static bool has_news(int ms)
{
	struct epoll_event ev;
	int n = epoll_wait(epoll_fd, &ev, 1, ms);

	ck_assert_int_ge(n, 0);
	if (n)
		ck_assert_uint_eq(ev.data.u64, TAG);
	return n;
}

static void take(void)
{
	program_news_take(news);
	program_news_learn(news);
	ck_assert(!has_news(0));
}

/* Files of their own. */
static void copy_programs(void)
{
	snprintf(program, sizeof program, "/tmp/cresset-program-%d", getpid());
	snprintf(other, sizeof other, "/tmp/cresset-other-%d", getpid());
	shell_do("cp /bin/true %s && cp /bin/true %s", program, other);
}

#define CHILDREN(n, ...) \
	struct child c[n] = { __VA_ARGS__ }; \
	uint32_t pids[n]; \
	for (size_t i = 0; i < (n); i++) \
		pids[i] = c[i].pid; \
	setup(pids, n)

/* The first run of each is news; the second one is not, if it comes soon. */
START_TEST(known)
{
	if (geteuid())
		T_SKIP("needs root");
	copy_programs();
	CHILDREN(3, child_of(program), child_of(program), child_of(other));
	run(&c[0]);
	ck_assert(has_news(LONG_MS));
	take();
	uint64_t since_ns = clock_mono_ns();
	run(&c[1]);
	bool is_soon = clock_mono_ns() - since_ns < PROGRAM_KNOWN_NS / 2;
	ck_assert(!is_soon || !has_news(0));
	if (has_news(0))
		take();
	run(&c[2]);
	ck_assert(has_news(LONG_MS));
	teardown();
}
END_TEST

START_TEST(urgent)
{
	if (geteuid())
		T_SKIP("needs root");
	copy_programs();
	CHILDREN(3, child_of(program), child_of(program), child_of(program));
	run(&c[0]);
	ck_assert(has_news(LONG_MS));
	program_news_take(news);
	program_news_urgent(news, pids[0]);
	program_news_learn(news);
	for (int i = 1; i < 3; i++) {
		run(&c[i]);
		ck_assert(has_news(LONG_MS));
		take();
	}
	teardown();
}
END_TEST

/* News that nobody waited for is there afterwards. */
START_TEST(quiet)
{
	if (geteuid())
		T_SKIP("needs root");
	copy_programs();
	CHILDREN(1, child_of(program));
	program_news_quiet(news, true);
	run(&c[0]);
	ck_assert(!has_news(0));
	program_news_quiet(news, false);
	ck_assert(has_news(LONG_MS));
	take();
	teardown();
}
END_TEST

/* Another file with the inode number of a deleted one is another program: where numbers are used again at once, as on tmpfs, either the number or the
 * generation differs while the old file is open, and nobody knows the new one otherwise. */
START_TEST(replaced)
{
	if (geteuid())
		T_SKIP("needs root");
	copy_programs();
	CHILDREN(2, child_of(program), child_of(program));
	int kept = open(program, O_RDONLY | O_CLOEXEC); /* as user space does */
	run(&c[0]);
	ck_assert(has_news(LONG_MS));
	take();
	shell_do("rm %s && cp /bin/true %s", program, program);
	run(&c[1]);
	ck_assert(has_news(LONG_MS));
	close(kept);
	teardown();
}
END_TEST

/* Programs of others do not wake a recording of some. */
START_TEST(others)
{
	if (geteuid())
		T_SKIP("needs root");
	copy_programs();
	CHILDREN(1, child_of(program));
	for (int i = 0; i < 5; i++)
		shell_do("%s", other);
	ck_assert(!has_news(0));
	run(&c[0]);
	ck_assert(has_news(LONG_MS));
	teardown();
}
END_TEST

UNIT_MAIN("program_news", known, urgent, quiet, replaced, others)
