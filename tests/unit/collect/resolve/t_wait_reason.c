// tier: test
/* Why threads are blocked, by kernel stacks and system calls. */
#include "shell.h"
#include "unit.h"

#include "bpf/event.h"
#include "collect/resolve/wait_reason.h"

#include <sys/syscall.h>

/* As in /proc/kallsyms; functions without a reason are in between. */
static const char kallsyms[] = "ffffffff81000000 T _text\n"
			       "ffffffff81001000 T schedule\n"
			       "ffffffff81002000 t futex_wait_queue.isra.0\n"
			       "ffffffff81003000 T do_nanosleep\n"
			       "ffffffff81003000 T alias_at_the_same_place\n"
			       "ffffffff81004000 t do_sys_poll\n"
			       "ffffffff81005000 t anon_pipe_read\n"
			       "ffffffff81006000 t io_schedule\n"
			       "ffffffff81007000 T asm_exc_page_fault\n"
			       "ffffffff81008000 T ksys_read\n"
			       "ffffffff81009000 t do_nanosleeping\n"
			       "ffffffffc0000000 t jbd2_log_wait_commit\t[jbd2]\n"
			       "ffffffffc0001000 t other\t[jbd2]\n";

static struct wait_reasons reasons;
static char dir[32];

static void setup(const char *text)
{
	char path[64];

	temp_dir(dir);
	snprintf(path, sizeof path, "%s/kallsyms", dir);
	FILE *f = fopen(path, "w");
	ck_assert_ptr_nonnull(f);
	fputs(text, f);
	fclose(f);
	reasons = (struct wait_reasons){ 0 };
	wait_reasons_read(&reasons, path);
}

static void teardown(void)
{
	wait_reasons_done(&reasons);
	shell_do("rm -r %s", dir);
}

/* For a stack of two kernel addresses, leaf first; 0: none. */
static enum wait_reason reason(uint64_t leaf, uint64_t caller, int syscall)
{
	uint64_t space[sizeof(struct event_stack) / 8 + 3] = { 0 };
	struct event_stack *st = (struct event_stack *)space;

	st->n_kernel = leaf ? caller ? 2 : 1 : 0;
	st->n_user = 1;
	st->syscall = syscall + 1;
	st->addr[0] = leaf;
	st->addr[1] = caller;
	return wait_reason_of(&reasons, st);
}

enum { NO_SYSCALL = -1 };

START_TEST(from_kernel_functions)
{
	setup(kallsyms);
	ck_assert_int_eq(reason(0xffffffff81001010, 0xffffffff81002020, SYS_futex), WAIT_FUTEX);
	ck_assert_int_eq(reason(0xffffffff81001010, 0xffffffff81003fff, SYS_read), WAIT_SLEEP);
	ck_assert_int_eq(reason(0xffffffff81004001, 0, SYS_ppoll), WAIT_POLL);
	ck_assert_int_eq(reason(0xffffffff81005001, 0xffffffff81008001, SYS_read), WAIT_READ);
	/* A file read, and a fault that reads one. */
	ck_assert_int_eq(reason(0xffffffff81006001, 0xffffffff81008001, SYS_read), WAIT_DISK);
	ck_assert_int_eq(reason(0xffffffff81006001, 0xffffffff81007001, NO_SYSCALL),
			 WAIT_PAGE_FAULT);
	ck_assert_int_eq(reason(0xffffffffc0000ff0, 0, SYS_fsync), WAIT_DISK);
	/* A return address at the end of its function is still in it; a longer name is another one. */
	ck_assert_int_eq(reason(0xffffffff81005000, 0, NO_SYSCALL), WAIT_POLL);
	ck_assert_int_eq(reason(0xffffffff81009001, 0, NO_SYSCALL), WAIT_OTHER);
	teardown();
}
END_TEST

/* If nothing in the stack is known, the system call decides. */
START_TEST(from_system_calls)
{
	static const struct {
		int nr;
		enum wait_reason reason;
	} cases[] = {
		{ SYS_futex, WAIT_FUTEX },         { SYS_clock_nanosleep, WAIT_SLEEP },
		{ SYS_epoll_pwait, WAIT_POLL },    { SYS_wait4, WAIT_CHILD },
		{ SYS_recvfrom, WAIT_READ },       { SYS_sendmsg, WAIT_WRITE },
		{ SYS_fdatasync, WAIT_DISK },      { SYS_getpid, WAIT_OTHER },
		{ SYS_rt_sigsuspend, WAIT_OTHER },
	};

	setup(kallsyms);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		ck_assert_int_eq(reason(0xffffffff81008001, 0, cases[i].nr), cases[i].reason);
	ck_assert_int_eq(reason(0, 0, NO_SYSCALL), WAIT_OTHER);
	teardown();
}
END_TEST

/* Hidden addresses, no file, and invalid lines. */
START_TEST(hidden_and_bad)
{
	setup("0000000000000000 T do_nanosleep\n0000000000000000 t io_schedule\n\nfff\n"
	      "ffffffff81000000\nffffffff81000000 T\nzzzzzzzzzzzzzzzz T io_schedule\n");
	ck_assert_uint_eq(reasons.places.n, 0);
	ck_assert_int_eq(reason(0xffffffff81008001, 0, SYS_futex), WAIT_FUTEX);
	/* Outside of a system call, only a fault blocks. */
	ck_assert_int_eq(reason(0xffffffff81008001, 0, NO_SYSCALL), WAIT_PAGE_FAULT);
	wait_reasons_read(&reasons, "/nonexistent");
	ck_assert_uint_eq(reasons.places.n, 0);
	teardown();
}
END_TEST

UNIT_MAIN("wait_reason", from_kernel_functions, from_system_calls, hidden_and_bad)
