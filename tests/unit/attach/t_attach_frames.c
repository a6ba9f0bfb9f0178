// tier: test
/* The frames of a stopped thread decide whether it is in an allocator: walked in this process, from registers that it has just had. */
#include "attach/attach_frames.h"
#include "attach/attach_symbols.h"
#include "base/vec.h"
#include "collect/inspect/inspect.h"
#include "map_files.h"
#include "unit.h"

#include <execinfo.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#ifdef __x86_64__

static struct attach_frames *frames;
static struct attach_symbols symbols; /* the test adds functions that may not be on the stack */
static volatile int calls;

/* As struct pt_regs. */
static void take_regs(const ucontext_t *u, uint64_t regs[PT_REGS_WORDS])
{
	static const int from[] = { REG_R15, REG_R14, REG_R13, REG_R12, REG_RBP, REG_RBX, REG_R11,
				    REG_R10, REG_R9,  REG_R8,  REG_RAX, REG_RCX, REG_RDX, REG_RSI,
				    REG_RDI, -1,      REG_RIP, -1,      REG_EFL, REG_RSP, -1 };

	for (int i = 0; i < PT_REGS_WORDS; i++)
		regs[i] = from[i] < 0 ? 0 : u->uc_mcontext.gregs[from[i]];
}

/* Tables are made as walks need them. */
static struct attach_walk walk_from(const ucontext_t *u)
{
	uint64_t regs[PT_REGS_WORDS];
	struct attach_walk w = { 0 };

	take_regs(u, regs);
	for (int i = 0; i < 32 && !w.is_whole; i++) {
		attach_frames_update(frames);
		w = attach_frames_walk(frames, regs);
	}
	return w;
}

static __attribute__((noinline)) struct attach_walk walk_here(void)
{
	ucontext_t u;

	getcontext(&u);
	struct attach_walk w = walk_from(&u);
	calls++; /* no jump to the last call */
	return w;
}

static void begin(void)
{
	frames = attach_frames_new(getpid(), &attach_view);
	ck_assert_int_eq(attach_symbols_find(getpid(), &attach_view, &symbols, NULL), 0);
}

static void end(void)
{
	attach_frames_free(frames);
	attach_symbols_done(&symbols);
}

/* The same callers as the C library's unwinder finds. */
START_TEST(whole)
{
	T_NEEDS_MAP_FILES();
	void *back[64];

	begin();
	ucontext_t u;
	uint64_t regs[PT_REGS_WORDS];
	getcontext(&u);
	take_regs(&u, regs);
	struct attach_walk w = attach_frames_walk(frames, regs);
	ck_assert(!w.is_whole);
	ck_assert(w.is_early); /* no mapping is known yet */
	ck_assert(attach_frames_update(frames));
	w = attach_frames_walk(frames, regs);
	ck_assert(w.is_early); /* no table */
	w = walk_here();
	int n = backtrace(back, 64);
	ck_assert(w.is_whole);
	ck_assert(!w.is_early);
	ck_assert(!w.has_handler);
	ck_assert_uint_eq(w.n,
			  n + 1); /* this function is the first of theirs, the second of ours */
	for (int i = 1; i < n; i++)
		ck_assert_uint_eq(w.pc[i + 1] + 1, (uintptr_t)back[i]);
	ck_assert(attach_frames_are_free(frames, &w, &symbols));
	ck_assert(attach_frames_are_outside(frames, &w, &symbols));
	end();
}
END_TEST

static __attribute__((noinline)) uint64_t here_and_back(bool *is_free)
{
	struct attach_walk w = walk_here();

	*is_free = attach_frames_are_free(frames, &w, &symbols);
	calls++;
	return w.pc[1];
}

/* The function is on the stack while it is called, and its words stay there: only the first counts. */
START_TEST(stale)
{
	T_NEEDS_MAP_FILES();
	bool is_free = false;

	begin();
	uint64_t pc = here_and_back(&is_free);
	ck_assert(is_free);
	vec_push(&symbols.ranges, (struct attach_range){ pc, pc + 1, ATTACH_NO_CALL_FROM });
	here_and_back(&is_free);
	ck_assert(!is_free);
	struct attach_walk w = walk_here();
	ck_assert(w.is_whole);
	ck_assert(attach_frames_are_free(frames, &w, &symbols));
	end();
}
END_TEST

/* --- an allocator without a frame ---------------------------------------------------------------- */

static bool worker_is_free;
void t_attach_worker(void);
__attribute__((noinline, used)) void t_attach_worker(void)
{
	struct attach_walk w = walk_here();

	worker_is_free = w.is_whole && attach_frames_are_free(frames, &w, &symbols);
	calls++;
}
void t_attach_jumps(void);
__asm__(".text\n.globl t_attach_jumps\n.type t_attach_jumps, "
	"@function\nt_attach_jumps:\n.cfi_startproc\n"
	"jmp t_attach_worker\n.cfi_endproc\n.size t_attach_jumps, . - t_attach_jumps\n");

START_TEST(no_frame)
{
	T_NEEDS_MAP_FILES();
	begin();
	t_attach_jumps();
	ck_assert(worker_is_free);
	vec_push(&symbols.allocators, (uintptr_t)t_attach_jumps);
	t_attach_jumps();
	ck_assert(!worker_is_free);
	t_attach_worker();
	ck_assert(worker_is_free);
	end();
}
END_TEST

/* --- in the C library ---------------------------------------------------------------------------- */

static bool is_free_below, is_outside_below;
static int compare(const void *a, const void *b)
{
	struct attach_walk w = walk_here();

	is_free_below = attach_frames_are_free(frames, &w, &symbols);
	is_outside_below = attach_frames_are_outside(frames, &w, &symbols);
	return *(const char *)a - *(const char *)b;
}

START_TEST(below_libc)
{
	T_NEEDS_MAP_FILES();
	char two[] = "ba";

	begin();
	qsort(two, 2, 1, compare);
	ck_assert(is_free_below);
	ck_assert(!is_outside_below);
	end();
}
END_TEST

static bool is_whole_in_handler, is_free_in_handler, knows_handler;
static void on_signal(int sig)
{
	struct attach_walk w = walk_here();

	(void)sig;
	is_whole_in_handler = w.is_whole;
	knows_handler = w.has_handler;
	is_free_in_handler = attach_frames_are_free(frames, &w, &symbols);
}

START_TEST(handler)
{
	T_NEEDS_MAP_FILES();
	static char stack[256 << 10];
	struct sigaction sa = { .sa_handler = on_signal };
	stack_t other = { .ss_sp = stack, .ss_size = sizeof stack };

	begin();
	for (int i = 0; i < 2; i++) {
		sa.sa_flags = i ? SA_ONSTACK : 0;
		sigaltstack(&other, NULL);
		sigaction(SIGUSR1, &sa, NULL);
		raise(SIGUSR1);
		ck_assert(is_whole_in_handler);
		ck_assert(knows_handler);
		ck_assert(!is_free_in_handler);
	}
	end();
}
END_TEST

/* Registers may be anything. */
START_TEST(nonsense)
{
	T_NEEDS_MAP_FILES();
	uint64_t regs[PT_REGS_WORDS], seed = 1;
	ucontext_t u;

	begin();
	getcontext(&u);
	for (int i = 0; i < 2000; i++) {
		take_regs(&u, regs);
		for (int k = 0; k < 2; k++) {
			seed = seed * 6364136223846793005ull + 1442695040888963407ull;
			uint64_t value = seed >> 40 & 1 ? seed >> (seed >> 58)
							: regs[PT_SP] + (seed >> 44 & 0xff8);
			regs[seed >> 34 & 1 ? PT_SP : seed >> 33 & 1 ? PT_IP : PT_FP] = value;
		}
		if (i < 16)
			attach_frames_update(frames);
		struct attach_walk w = attach_frames_walk(frames, regs);
		ck_assert_uint_le(w.n, 512);
	}
	memset(regs, 0, sizeof regs);
	struct attach_walk w = attach_frames_walk(frames, regs);
	ck_assert(!w.is_whole);
	end();
}
END_TEST

UNIT_MAIN("attach_frames", whole, stale, no_frame, below_libc, handler, nonsense)

#else
START_TEST(none)
{
	T_SKIP("x86-64 only");
}
END_TEST
UNIT_MAIN("attach_frames", none)
#endif
