// tier: test
/* Names of code made at run time, from a worker that may hang: here the test is the worker, so it hangs where the test wants it to. */
#include "collect/walker/jit.h"

#include "base/hash.h"
#include "collect/process/object.h"
#include "collect/process/process.h"
#include "collect/walker/account.h"
#include "collect/worker/code_worker.h"
#include "collect/worker/helper.h"
#include "profile/profile.h"
#include "unit.h"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

enum { INNOCENT = 12345, HANGS = 54321 }; /* users */

static struct jit_table table;
static struct profile *profile;
static struct accounts accounts;
static struct object_table objects;
static struct map leaves;
static struct helper *helper;
static struct stream worker; /* the other end */
static uint32_t series;

static void begin(void)
{
	int ends[2];

	profile = profile_new();
	struct sink *sink = profile_sink(profile);
	uint32_t type = sink->ops->type(sink, &(struct type){ .name = sink_string(sink, "cpu") });
	series = sink->ops->series(sink, &(struct series){ .type = type });
	accounts_init(&accounts, &(struct account_opts){ .sink = sink });
	object_table_init(&objects, 16);
	ck_assert_int_eq(helper_new(&helper), 0);
	jit_table_init(&table, sink, &accounts, &objects, &leaves, helper);
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	stream_open(&table.worker, ends[0], CODE_MAX_TO_COLLECTOR);
	stream_open(&worker, ends[1], CODE_MAX_TO_WORKER);
}

static void end(void)
{
	jit_table_done(&table);
	stream_close(&worker);
	helper_free(helper);
	object_table_done(&objects);
	accounts_done(&accounts);
	map_done(&leaves);
	profile_free(profile);
}

/* A process of this user, which does nothing. */
static struct process program_of(uid_t uid)
{
	int ready[2];
	char byte;

	ck_assert_int_eq(pipe(ready), 0);
	pid_t pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		bool is_other = setgid(uid) == 0 && setuid(uid) == 0;
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* setuid clears it */
		if (is_other && write(ready[1], "", 1) == 1)
			pause();
		_exit(1);
	}
	close(ready[1]);
	ck_assert_int_eq(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	return (struct process){ .pid = pid };
}

static void end_program(struct process *p)
{
	kill(p->pid, SIGKILL);
	waitpid(p->pid, NULL, 0);
}

static void sample(struct process *p)
{
	struct sample s = { .time_ns = 1, .value = 1, .series = series, .pid = p->pid };
	uint64_t stack[] = { JIT_ADDRESS | 0x1000 };

	jit_hold(&table, p, &s, ACCOUNT_NONE, stack, 1);
}

/* The next message to the worker, which the test is. */
static enum code_message next_message(uint32_t *id)
{
	struct stream_message m;
	struct pollfd p = { .fd = worker.fd, .events = POLLIN };
	int rc;

	ck_assert_int_eq(stream_flush(&table.worker), 0);
	while ((rc = stream_next(&worker, &m)) == 0) {
		ck_assert_int_eq(poll(&p, 1, 10000), 1);
		ck_assert_int_eq(stream_read(&worker), 1);
	}
	ck_assert_int_eq(rc, 1);
	memcpy(id, m.payload, sizeof *id);
	return m.type;
}

static void await(enum code_message type, const struct jit *j)
{
	uint32_t id;

	ck_assert_int_eq(next_message(&id), type);
	ck_assert_uint_eq(id, j->id);
}

static void says(enum code_message what, const struct jit *j)
{
	ck_assert_int_eq(stream_put(&worker, what, &j->id, sizeof j->id, -1), 0);
	ck_assert_int_eq(stream_flush(&worker), 0);
}

static void serves(const struct jit *j)
{
	says(CODE_BEGIN, j);
	says(CODE_DONE, j);
}

static void answers(const struct jit *j)
{
	struct {
		struct code_names_head head;
		uint32_t number;
		char name[8];
	} answer = { { .id = j->id, .n = 1, .has_files = 1 }, 1, "named" };
	size_t len = offsetof(typeof(answer), name) + sizeof "named";

	says(CODE_BEGIN, j);
	ck_assert_int_eq(stream_put(&worker, CODE_NAMES, &answer, len, -1), 0);
	ck_assert_int_eq(stream_flush(&worker), 0);
}

/* The worker has not responded for longer than it may. */
static void wait_in_vain(void)
{
	jit_run(&table);
	ck_assert(stream_is_open(&table.worker));
	table.progress_ns = 0;
	jit_run(&table);
}

static size_t sent_about(const struct jit *j)
{
	size_t n = 0;

	for (size_t i = 0; i < table.sent.n; i++)
		n += table.sent.v[i].id == j->id;
	return n;
}

static uint64_t stuck(void)
{
	struct helper_stats s;

	helper_get_stats(helper, &s);
	return s.ends[HELPER_CODE][HELPER_STUCK];
}

/* Requests of three processes wait; the worker hangs at the second one, when it takes note of it. Before, the first request's process was left alone,
 * with its user, and the second one was requested again. */
START_TEST(a_process_that_blocks_the_worker_is_left_alone)
{
	if (geteuid())
		T_SKIP("needs root");
	begin();
	struct process first = program_of(INNOCENT), second = program_of(HANGS),
		       third = program_of(HANGS);
	sample(&first);
	await(CODE_PROCESS, first.jit);
	jit_ask_all(&table, 0);
	await(CODE_ASK, first.jit);
	sample(&second);
	sample(&third);
	jit_ask_all(&table, 0);
	await(CODE_PROCESS, second.jit);
	serves(first.jit); /* its description; its names are next */
	answers(first.jit);
	jit_run(&table);
	ck_assert_uint_eq(profile->samples.n, 1);
	sample(&first);
	jit_ask_all(&table, 0);
	says(CODE_BEGIN, second.jit);
	wait_in_vain();
	ck_assert_uint_eq(stuck(), 1);
	ck_assert(second.jit->is_left);
	ck_assert(!first.jit->is_left && !third.jit->is_left);
	ck_assert(!left_alone_has(&table.left_users, INNOCENT, 0, true));
	ck_assert(left_alone_has(&table.left_users, HANGS, 0, true));
	/* Names of the first one are requested again; not names of the user left alone. */
	ck_assert_uint_gt(sent_about(first.jit), 0);
	ck_assert_uint_eq(sent_about(second.jit) + sent_about(third.jit), 0);
	ck_assert_uint_eq(profile->samples.n, 3);
	ck_assert_uint_eq(profile->meta.loss[LOSS_CODE_UNREAD], 2);
	end();
	end_program(&first);
	end_program(&second);
	end_program(&third);
}
END_TEST

/* The files of another process of a user left alone are not even opened. */
START_TEST(others_of_its_user_are_left_alone)
{
	if (geteuid())
		T_SKIP("needs root");
	begin();
	struct process first = program_of(HANGS), second = program_of(HANGS);
	sample(&first);
	await(CODE_PROCESS, first.jit);
	says(CODE_BEGIN, first.jit);
	wait_in_vain(); /* although no names were requested */
	ck_assert_uint_eq(stuck(), 1);
	ck_assert(first.jit->is_left);
	sample(&second);
	ck_assert(!second.jit->is_told);
	jit_ask_all(&table, 0);
	jit_close(&table, &second, 0);
	ck_assert_uint_eq(table.sent.n, 0);
	ck_assert_uint_eq(profile->samples.n, 2);
	end();
	end_program(&first);
	end_program(&second);
}
END_TEST

/* A worker that has started with no process, as one that gets no CPU: no process is at fault. */
START_TEST(no_process_is_left_alone_for_a_worker_that_has_not_started)
{
	begin();
	struct process p = program_of(getuid());
	sample(&p);
	jit_ask_all(&table, 0);
	wait_in_vain();
	ck_assert_uint_eq(stuck(), 1);
	ck_assert(!p.jit->is_left);
	ck_assert_uint_gt(sent_about(p.jit), 0); /* to the next worker */
	end();
	end_program(&p);
}
END_TEST

/* The process may have ended when the worker hangs at the last of its files: then its user is known. */
START_TEST(a_process_that_has_ended_is_known_by_its_user)
{
	if (geteuid())
		T_SKIP("needs root");
	begin();
	struct process p = program_of(HANGS);
	sample(&p);
	struct jit gone = *p.jit;
	jit_ask_all(&table, 0);
	serves(&gone);
	answers(&gone);
	jit_run(&table);
	jit_close(&table, &p, 0); /* all of its names are there: it is forgotten */
	ck_assert_uint_eq(table.all.n, 0);
	await(CODE_PROCESS, &gone);
	await(CODE_ASK, &gone);
	await(CODE_CLOSE, &gone);
	says(CODE_BEGIN, &gone);
	wait_in_vain();
	ck_assert_uint_eq(stuck(), 1);
	ck_assert(left_alone_has(&table.left_users, HANGS, 0, true));
	end();
	end_program(&p);
}
END_TEST

/* Reports of the worker must match its messages, in order. */
START_TEST(a_worker_that_is_out_of_order_is_replaced)
{
	static const enum code_message wrong[] = { CODE_NAMES, CODE_DONE, CODE_CLOSE };

	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		begin();
		struct process p = program_of(getuid());
		sample(&p);
		await(CODE_PROCESS, p.jit);
		says(wrong[i], p.jit);
		jit_run(&table);
		struct helper_stats s;
		helper_get_stats(helper, &s);
		ck_assert_uint_eq(s.ends[HELPER_CODE][HELPER_DIED], 1);
		end();
		end_program(&p);
	}
}
END_TEST

/* The real one: each message is served by a report of the start and one of the end, in order. */
START_TEST(the_worker_reports_with_which_process_it_starts)
{
	static const enum code_message expected[][2] = { { CODE_BEGIN, CODE_DONE },
							 { CODE_BEGIN, CODE_NAMES },
							 { CODE_BEGIN, CODE_DONE } };
	struct code_process_head process = { .id = 7, .pid = getpid() };
	struct {
		struct code_ask_head head;
		struct code_ask ask;
	} ask = { { .id = 7, .n = 1 }, { 0x1000, 1 } };
	struct stream s;

	ck_assert_int_eq(helper_new(&helper), 0);
	int fd = helper_start(helper, HELPER_CODE);
	ck_assert_int_ge(fd, 0);
	stream_open(&s, fd, CODE_MAX_TO_COLLECTOR);
	stream_put(&s, CODE_PROCESS, &process, sizeof process, -1);
	stream_put(&s, CODE_ASK, &ask, sizeof ask, -1);
	stream_put(&s, CODE_CLOSE, &process.id, sizeof process.id, -1);
	ck_assert_int_eq(stream_flush(&s), 0);
	for (size_t i = 0; i < 6; i++) {
		struct stream_message m;
		struct pollfd p = { .fd = fd, .events = POLLIN };
		uint32_t id;

		while (stream_next(&s, &m) == 0) {
			ck_assert_int_eq(poll(&p, 1, 60000), 1);
			ck_assert_int_eq(stream_read(&s), 1);
		}
		memcpy(&id, m.payload, sizeof id);
		ck_assert_uint_eq(m.type, expected[i / 2][i % 2]);
		ck_assert_uint_eq(id, 7);
	}
	stream_close(&s);
	helper_free(helper);
}
END_TEST

UNIT_MAIN("jit", a_process_that_blocks_the_worker_is_left_alone, others_of_its_user_are_left_alone,
	  no_process_is_left_alone_for_a_worker_that_has_not_started,
	  a_process_that_has_ended_is_known_by_its_user, a_worker_that_is_out_of_order_is_replaced,
	  the_worker_reports_with_which_process_it_starts)
