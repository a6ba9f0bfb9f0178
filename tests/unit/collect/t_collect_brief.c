// tier: test
/* Programs that start and end between two readings: their records are skipped, except if a sample met them or they still run. */
#include "base/clock.h"
#include "collect/collect.h"
#include "collect/collect_state.h"
#include "may_bpf.h"
#include "profile/profile.h"
#include "unit.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PROGRAMS = 60, BUSY_EACH = 10, RATE_HZ = 99 };
#define BUSY_NS 60000000ull

static struct collector *begin(struct profile *p)
{
	const struct collect_opts opts = { .sampler = { .freq_hz = RATE_HZ,
							.events = COLLECT_CPU } };
	struct collector *c = NULL;
	struct err err = { 0 };

	ck_assert_msg(collect_open(&opts, profile_sink(p), &c, &err) == 0, "%s", err.text);
	ck_assert_msg(collect_start(c, &err) == 0, "%s", err.text);
	return c;
}

static void end(struct collector *c, struct profile *p)
{
	struct err err = { 0 };

	ck_assert_int_eq(collect_stop(c, &err), 0);
	collect_free(c);
	profile_free(p);
}

static uint32_t run_program(uint64_t busy_ns)
{
	pid_t pid = fork();

	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		for (uint64_t end_ns = clock_cpu_ns() + busy_ns; clock_cpu_ns() < end_ns;)
			;
		execl("/bin/true", "true", NULL);
		_exit(127);
	}
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	return pid;
}

static size_t sides_of(const struct collector *c, uint32_t pid)
{
	size_t n = 0;

	for (size_t i = 0; i < c->order.sides.n; i++)
		n += c->order.sides.v[i].rec.pid == pid;
	return n;
}

static size_t samples_of(const struct collector *c, uint32_t pid)
{
	size_t n = 0;

	for (size_t i = 0; i < c->order.samples.n; i++)
		n += c->order.samples.v[i].ev.sample.tgid == pid;
	return n;
}

START_TEST(only_what_a_sample_met)
{
	size_t n_skipped = 0, n_met = 0;
	int hold[2];

	T_NEEDS_BPF();
	struct profile *p = profile_new();
	struct collector *c = begin(p);
	ck_assert_int_eq(pipe(hold), 0);
	collector_read_side(c);
	pid_t alive = fork();
	if (alive == 0) {
		char end;

		close(hold[1]);
		_exit(read(hold[0], &end, 1) != 0);
	}
	for (int i = 0; i < PROGRAMS; i++) {
		uint32_t pid = run_program(i % BUSY_EACH ? 0 : BUSY_NS);

		collector_read_side(c);
		if (c->brief.has_lost) /* by others: then nothing is skipped */
			continue;
		if (samples_of(c, pid)) {
			ck_assert_uint_ge(sides_of(c, pid), 3); /* fork, exec, exit */
			n_met++;
		} else {
			ck_assert_uint_eq(sides_of(c, pid), 0);
			n_skipped++;
		}
	}
	ck_assert_uint_ge(n_met, 1);
	ck_assert_uint_ge(n_skipped, 1);
	ck_assert_uint_ge(sides_of(c, alive), 1);
	close(hold[1]);
	ck_assert_int_eq(waitpid(alive, NULL, 0), alive);
	end(c, p);
}
END_TEST

UNIT_MAIN("collect_brief", only_what_a_sample_met)
