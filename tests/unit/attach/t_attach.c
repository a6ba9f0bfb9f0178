// tier: test
/* Late attach, without another process: parsing of /proc, names of mappings, the safe system calls; and the code that runs inside a process, run in
 * this one, where the tracer never comes. The rest needs processes: tests/live/attach.sh. */
#include "attach/attach_call.h"
#include "attach/attach_code.h"
#include "attach/attach_refuse.h"
#include "attach/attach_status.h"
#include "attach/attach_symbols.h"
#include "attach/attach_thread.h"
#include "base/err.h"
#include "base/vec.h"
#include "collect/inspect/inspect.h"
#include "map_files.h"
#include "unit.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

START_TEST(system_calls)
{
	struct attach_syscall c = { .nr = 99 };

	ck_assert(attach_syscall_parse(
		"7 0x7f00 0x1 0xffffffff 0x0 0x0 0x8 0x7ffd10 0x7f52ca0c1f16", &c));
	ck_assert_int_eq(c.nr, 7);
	ck_assert_uint_eq(c.args[0], 0x7f00);
	ck_assert_uint_eq(c.args[5], 8);
	ck_assert_uint_eq(c.sp, 0x7ffd10);
	ck_assert_uint_eq(c.pc, 0x7f52ca0c1f16);
	ck_assert(attach_syscall_parse("-1 0x7ffd10 0x55d0", &c)); /* not in any: a page fault */
	ck_assert_int_eq(c.nr, -1);
	ck_assert_uint_eq(c.sp, 0x7ffd10);
	ck_assert_uint_eq(c.pc, 0x55d0);
	c.nr = 99;
	static const char *const bad[] = { "running",
					   "",
					   "7",
					   "7 0x1 0x2 0x3",
					   "-2 0x1 0x2 0x3 0x4 0x5 0x6 0x7 0x8",
					   "x 0x1 0x2",
					   "99999999999 0x1 0x2 0x3 0x4 0x5 0x6 0x7 0x8" };
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		ck_assert_msg(!attach_syscall_parse(bad[i], &c), "'%s' was taken", bad[i]);
	ck_assert_int_eq(c.nr, 99);
}
END_TEST

START_TEST(status)
{
	static const char text[] = "Name:\tState:\tZ\nState:\tS "
				   "(sleeping)\nTgid:\t41\nPPid:\t7\nTracerPid:\t12\nVmSize:\t 10 "
				   "kB\nSigPnd:\t0000000000000200\n"
				   "ShdPnd:\t0000000000000001\nSigBlk:\t0000000000004000\nSeccomp:"
				   "\t2\nSeccomp_filters:\t1\nx86_Thread_features:\tshstk wrss \n";
	struct attach_status s = { 0 };

	ck_assert(attach_status_parse(text, strlen(text), &s));
	ck_assert_int_eq(s.state, 'S');
	ck_assert_uint_eq(s.tgid, 41);
	ck_assert_uint_eq(s.ppid, 7);
	ck_assert_uint_eq(s.tracer, 12);
	ck_assert(s.has_memory);
	ck_assert_int_eq(s.seccomp, 2);
	ck_assert(s.has_shadow_stack);
	ck_assert_uint_eq(s.pending, 0x201);
	ck_assert_uint_eq(s.blocked, 0x4000);
	ck_assert(!attach_status_parse("State:\tS\n", 9, &s));
	ck_assert(!attach_status_parse("", 0, &s));
	ck_assert_int_eq(attach_status_read(getpid(), 0, &s), 0);
	ck_assert_uint_eq(s.tgid, getpid());
	ck_assert_uint_eq(s.ppid, getppid());
	ck_assert_int_eq(s.state, 'R');
	ck_assert(!attach_is_frozen(getpid(), 0));
}
END_TEST

START_TEST(age)
{
	static const char text[] =
		"41 (a) b) 1) S 7 41 41 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 123456 9";
	uint64_t ticks = 0;

	ck_assert(attach_start_parse(text, strlen(text), &ticks));
	ck_assert_uint_eq(ticks, 123456);
	ck_assert(!attach_start_parse("41 (a) S 7", 10, &ticks));
	ck_assert(!attach_start_parse("", 0, &ticks));
	uint64_t ns = attach_age_ns(getpid());
	ck_assert_uint_lt(ns, 60ull * 1000000000);
	ck_assert_uint_gt(attach_age_ns(1), ns);
	ck_assert(attach_age_ns(UINT32_MAX) == UINT64_MAX);
}
END_TEST

START_TEST(names_of_mappings)
{
	ck_assert(attach_is_library("/memfd:libx.so (deleted)", "libx.so"));
	ck_assert(attach_is_library("/usr/lib/libx.so", "libx.so"));
	ck_assert(attach_is_library("/usr/lib/libx.so.1", "libx.so"));
	ck_assert(attach_is_library("/tmp/libx.so.41.ab (deleted)", "libx.so"));
	ck_assert(!attach_is_library("/usr/lib/libx.sox", "libx.so"));
	ck_assert(!attach_is_library("/usr/lib/liblibx.so", "libx.so"));
	ck_assert(!attach_is_library("/libx.so/other", "libx.so"));
	ck_assert(!attach_is_library("", "libx.so"));
}
END_TEST

/* In these the kernel or the C library holds a lock, or the loader may be at work. */
START_TEST(never_there)
{
	static const int calls[] = {
		SYS_brk,    SYS_mmap,   SYS_munmap, SYS_mprotect,      SYS_madvise,
		SYS_mremap, SYS_openat, SYS_write,  SYS_rt_sigsuspend, SYS_vfork,
		SYS_clone,  SYS_exit,   -1
	};

	for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
		ck_assert_ptr_null(attach_parking_call(calls[i]));
	ck_assert_str_eq(attach_parking_call(SYS_poll), "poll");
	for (int why = 0; why < GPU_ATTACH_REFUSALS; why++) {
		struct err err = { 0 };
		ck_assert_ptr_nonnull(gpu_attach_refusal_words[why]);
		if (why == GPU_ATTACH_NOT_REFUSED)
			continue;
		attach_say(why, 41, "DETAIL", &err);
		ck_assert(strncmp(err.text, "process 41 ", 11) == 0);
		ck_assert_ptr_null(strchr(err.text, '\n'));
	}
}
END_TEST

/* Compared with the loader's view of this process. */
START_TEST(symbols)
{
	T_NEEDS_MAP_FILES();
	struct attach_symbols s = { 0 };
	struct err err = { 0 };
	void *libc = dlopen("libc.so.6", RTLD_NOW);
	uint64_t loader = getauxval(AT_BASE);
	size_t kinds[ATTACH_WAITS + 1] = { 0 };

	if (!libc || !loader)
		T_SKIP("no glibc of x86-64 here");
	ck_assert_int_eq(attach_symbols_find(getpid(), &attach_view, &s, &err), 0);
	ck_assert_uint_eq(s.pthread_create, (uintptr_t)dlsym(libc, "pthread_create"));
	ck_assert_uint_eq(s.pthread_detach, (uintptr_t)dlsym(libc, "pthread_detach"));
	ck_assert_uint_eq(s.dlopen, (uintptr_t)dlsym(libc, "dlopen"));
	ck_assert_uint_eq(s.dlerror, (uintptr_t)dlsym(libc, "dlerror"));
	ck_assert_uint_eq(s.munmap, (uintptr_t)dlsym(libc, "munmap"));
	ck_assert_uint_eq(s.errno_location, (uintptr_t)dlsym(libc, "__errno_location"));
	bool in_cond = false, in_malloc = false, in_loader = false;
	for (size_t i = 0; i < s.ranges.n; i++) {
		const struct attach_range *r = &s.ranges.v[i];
		uint64_t cond = (uintptr_t)dlsym(libc, "pthread_cond_timedwait") + 100,
			 malloc = (uintptr_t)dlsym(libc, "malloc");
		kinds[r->kind]++;
		in_cond |= r->kind == ATTACH_WAITS && cond >= r->start && cond < r->end;
		in_malloc |=
			r->kind == ATTACH_NO_CALL_FROM && malloc >= r->start && malloc < r->end;
		in_loader |= r->kind == ATTACH_NO_CALL_FROM && loader + 0x8000 >= r->start &&
			     loader + 0x8000 < r->end;
	}
	ck_assert(in_cond); /* the default one of its versions */
	ck_assert(in_malloc);
	ck_assert(in_loader);
	ck_assert_mem_eq((void *)(uintptr_t)s.shelter.system_call, "\x0f\x05\xc3", 3);
	ck_assert_mem_eq((void *)(uintptr_t)s.shelter.loop, "\x5c\xc3", 2);
	ck_assert_uint_ge(kinds[ATTACH_NO_WORD], 1);
	if (s.loader_lock) { /* since glibc 2.34 */
		ck_assert_uint_gt(s.loader_lock, loader);
		ck_assert_uint_lt(s.loader_lock, loader + (1 << 20));
		ck_assert_uint_eq(*(uint32_t *)(uintptr_t)s.loader_lock, 0);
	}
	attach_symbols_done(&s);
}
END_TEST

static volatile bool handler_is_safe;
static struct attach_symbols in_handler;

/* Its stack has the signal frame: the interrupted code may hold anything. */
static void on_signal(int sig)
{
	struct attach_place p = { .nr = SYS_poll,
				  .sp = (uintptr_t)__builtin_frame_address(0) & ~7ull,
				  .pc = 1 };

	(void)sig;
	handler_is_safe =
		attach_place_words(getpid(), &p, attach_stack_end(getpid(), &attach_view, p.sp),
				   &in_handler) == ATTACH_WORDS_CLEAR;
}

START_TEST(handler)
{
	T_NEEDS_MAP_FILES();
	struct attach_symbols all = { 0 };

	ck_assert_int_eq(attach_symbols_find(getpid(), &attach_view, &all, NULL), 0);
	for (size_t i = 0; i < all.ranges.n; i++)
		if (all.ranges.v[i].kind == ATTACH_NO_WORD)
			vec_push(&in_handler.ranges, all.ranges.v[i]);
	struct attach_place here = { .nr = SYS_poll,
				     .sp = (uintptr_t)__builtin_frame_address(0) & ~7ull,
				     .pc = 1 };
	uint64_t end = attach_stack_end(getpid(), &attach_view, here.sp);
	ck_assert_int_eq(attach_place_words(getpid(), &here, end, &in_handler), ATTACH_WORDS_CLEAR);
	handler_is_safe = true;
	signal(SIGUSR1, on_signal);
	raise(SIGUSR1);
	ck_assert(!handler_is_safe);
	attach_symbols_done(&all);
	attach_symbols_done(&in_handler);
}
END_TEST

/* --- a stack ------------------------------------------------------------------------------------- */

static __attribute__((noinline)) uint64_t return_address(void)
{
	return (uintptr_t)__builtin_return_address(0);
}

/* A handmade stack, in this process: its content decides. */
START_TEST(stacks)
{
	static uint64_t stack[512];
	uint64_t back = return_address();
	struct attach_symbols s = { 0 };
	struct attach_range forbidden = { back - 64, back + 64, ATTACH_NO_CALL_FROM };
	struct attach_place p = { .nr = SYS_poll, .sp = (uintptr_t)stack, .pc = 1 };
	uint64_t end = (uintptr_t)(stack + 512);

	vec_push(&s.ranges, forbidden);
	ck_assert_int_eq(attach_place_words(getpid(), &p, end, &s), ATTACH_WORDS_CLEAR);
	stack[500] = back; /* a frame of malloc further down */
	ck_assert_int_eq(attach_place_words(getpid(), &p, end, &s), ATTACH_WORDS_SPEAK_AGAINST);
	p.sp = (uintptr_t)(stack + 501);
	ck_assert_int_eq(attach_place_words(getpid(), &p, end, &s), ATTACH_WORDS_CLEAR);
	p.sp = (uintptr_t)stack;
	stack[500] = back - 1; /* not after a call: an address kept for another reason */
	ck_assert_int_eq(attach_place_words(getpid(), &p, end, &s), ATTACH_WORDS_CLEAR);
	s.ranges.v[0].kind = ATTACH_NO_WORD; /* a signal handler returns there */
	ck_assert_int_eq(attach_place_words(getpid(), &p, end, &s), ATTACH_WORDS_SPEAK_AGAINST);
	s.ranges.v[0].kind = ATTACH_WAITS;
	p.nr = SYS_futex;
	stack[500] = 0;
	ck_assert_int_eq(attach_place_words(getpid(), &p, end, &s),
			 ATTACH_NOT_PARKED); /* of some lock */
	stack[9] = back;
	ck_assert_int_eq(attach_place_words(getpid(), &p, end, &s),
			 ATTACH_WORDS_CLEAR); /* of a condition */
	ck_assert_int_eq(attach_place_words(getpid(), &p, p.sp, &s),
			 ATTACH_NOT_PARKED); /* its stack is not known */
	ck_assert_int_eq(attach_place_words(getpid(), &p, p.sp + (2 << 20), &s), ATTACH_NOT_PARKED);
	p.nr = SYS_mmap;
	ck_assert_int_eq(attach_place_words(getpid(), &p, end, &s), ATTACH_NOT_PARKED);
	attach_symbols_done(&s);
}
END_TEST

/* --- the code in the process --------------------------------------------------------------------- */

#ifdef __x86_64__

static void take_regs(const ucontext_t *u, uint64_t regs[ATTACH_REGS])
{
	static const int from[ATTACH_REGS] = {
		REG_RAX, REG_RBX, REG_RCX, REG_RDX, REG_RSI, REG_RDI, REG_RBP, REG_RSP, REG_R8,
		REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP, REG_EFL
	};

	for (int i = 0; i < ATTACH_REGS; i++)
		regs[i] = u->uc_mcontext.gregs[from[i]];
	regs[ATTACH_FLAGS] = 0x202;
}

static void fill(int fd, const ucontext_t *u, uint64_t mask)
{
	struct attach_words w = {
		.pthread_create = (uintptr_t)dlsym(RTLD_DEFAULT, "pthread_create"),
		.pthread_detach = (uintptr_t)dlsym(RTLD_DEFAULT, "pthread_detach"),
		.munmap = (uintptr_t)dlsym(RTLD_DEFAULT, "munmap"),
		.errno_location = (uintptr_t)dlsym(RTLD_DEFAULT, "__errno_location"),
		.mask = mask,
		.open_nr = SYS_memfd_create,
		.open_flags = MFD_CLOEXEC,
		.name = "t_attach",
	};

	syscall(SYS_sched_getattr, 0, w.sched, 56, 0);
	take_regs(u, w.regs);
	ck_assert_int_eq(pwrite(fd, attach_code, ATTACH_WORDS, 0), ATTACH_WORDS);
	ck_assert_int_eq(pwrite(fd, &w, sizeof w, ATTACH_WORDS), sizeof w);
}

static struct attach_words words_now(int fd)
{
	struct attach_words w = { 0 };

	ck_assert_int_eq(attach_words_read(fd, &w), 0);
	return w;
}

/* The tracer is killed while the thread runs the code: the thread parks, waits, and continues as before. */
START_TEST(no_client)
{
	static volatile int turns;
	static ucontext_t u;
	struct timespec from, to, nap = { 0, 10000000 };
	sigset_t mask, before;
	int fd = memfd_create("t_attach", 0), copy = dup(fd), end = 2;

	ck_assert_int_eq(ftruncate(fd, ATTACH_BYTES), 0);
	char *base = mmap(NULL, ATTACH_BYTES, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	ck_assert_ptr_ne(base, MAP_FAILED);
	pthread_sigmask(SIG_BLOCK, NULL, &before);
	clock_gettime(CLOCK_MONOTONIC, &from);
	getcontext(&u);
	if (turns++ == 0) {
		sigset_t usual;
		sigemptyset(&usual);
		sigaddset(&usual, SIGUSR2); /* the mask to be restored; the current one differs */
		fill(copy, &u, 1ull << (SIGUSR2 - 1));
		errno = 77;
		__asm__ volatile("mov %0, %%r12\n mov %1, %%r13\n mov %2, %%r14\n lea "
				 "(%%r13,%%r14), %%rsp\n jmp *%%r13\n"
				 :
				 : "a"((uint64_t)copy), "b"(base), "c"((uint64_t)ATTACH_BYTES)
				 : "memory");
	}
	ck_assert_int_eq(errno, 77);
	ck_assert_int_eq(turns, 2);
	clock_gettime(CLOCK_MONOTONIC, &to);
	ck_assert_int_ge(to.tv_sec - from.tv_sec, 2);
	pthread_sigmask(SIG_SETMASK, &before, &mask);
	ck_assert(sigismember(&mask, SIGUSR2));

	struct attach_words w = words_now(fd);
	ck_assert_int_eq(w.done, 1);
	ck_assert_int_eq(w.create_rc, 0);
	for (int i = 0; i < 500 && w.stage < ATTACH_OPENED; i++, w = words_now(fd))
		nanosleep(&nap, NULL);
	ck_assert_int_eq(w.stage, ATTACH_OPENED);
	ck_assert_int_eq(w.fd, copy); /* the lowest free one: the descriptor it got is closed */
	ck_assert_int_eq(
		pwrite(fd, &end, sizeof end, ATTACH_WORDS + offsetof(struct attach_words, go)),
		sizeof end);
	int gone = 0;
	for (int i = 0; i < 500 && !gone; i++) {
		gone = msync(base, 4096, MS_ASYNC) == -1 &&
		       errno == ENOMEM; /* unmapped by the new thread, which lives on */
		nanosleep(&nap, NULL);
	}
	ck_assert(gone);
	ck_assert_int_eq(words_now(fd).stage, ATTACH_FINISHED);
	ck_assert_int_eq(fcntl(w.fd, F_GETFD), -1);
}
END_TEST

#endif

UNIT_MAIN("attach", system_calls, status, age, names_of_mappings, never_there, symbols, handler,
	  stacks, no_client)
