// tier: test
// parts: 2
/* The walker compared with the truth, at every instruction. Programs run one instruction at a time, so that the effect of each call, return, signal
 * and jump on their stack is known (shadow_stack.h). At every instruction, the walker's stack must equal that one, up to the thread's start. Each
 * inexact stack is listed with its function and the reason; 99.9 % must be exact.
 *
 * CRESSET_ORACLE_STEPS: instructions of each program, instead of the ordinary number. CRESSET_ORACLE_ONLY: only programs with this in their build
 * command. CRESSET_ORACLE_OFFSETS: also prints the place within a function. */
#include "unit.h"

#include "base/vec.h"
#include "shadow_stack.h"
#include "stepped.h"

#include <sched.h>
#include <syscall.h>

enum { MAX_FRAMES = 256, MAX_MISSES = 256, INJECT_EVERY = 97 };

/* An inexact stack: in which function, and why. */
struct miss {
	char where[160], why[64];
	uint64_t n;
};
struct oracle {
	struct stepped p;
	struct shadow_stack shadow;
	uint64_t steps, exact, frames, injected;
	struct miss misses[MAX_MISSES];
	size_t n_misses;
	bool takes_signals; /* has a handler for SIGUSR1 */
};

struct program {
	const char *source, *build; /* oracle/SOURCE by this command */
	bool from_linker;           /* from the dynamic linker's first instruction on */
	bool inject;                /* signals at any instruction */
	uint64_t steps;             /* 0: ORDINARY_STEPS */
	unsigned least;             /* thousandths that must be exact; 0: ORDINARY_LEAST */
};
enum { ORDINARY_STEPS = 30000, ORDINARY_LEAST = 999 };

/* --- comparing ----------------------------------------------------------------------------------- */

static uint32_t truth(const struct oracle *o, uint64_t *frames)
{
	const struct shadow_stack *s = &o->shadow;
	uint32_t n = 0;

	frames[n++] = o->p.regs.rip;
	for (size_t i = s->entries.n; i-- > 0 && n < MAX_FRAMES; n++)
		frames[n] = s->entries.v[i].address - !s->entries.v[i].is_signal;
	return n;
}

static const char *end_name(const struct unwind_walk *w)
{
	static const char *const names[WALK_ENDS] = {
		[WALK_COMPLETE] = "ends early",   [WALK_NO_FP] = "no rule, no frame pointer",
		[WALK_UNREADABLE] = "unreadable", [WALK_DEPTH] = "depth",
		[WALK_RULE] = "rule unusable",    [WALK_ASTRAY] = "astray",
		[WALK_NOT_LOADED] = "not loaded",
	};
	return names[w->end] ? names[w->end] : "?";
}

static void note_miss(struct oracle *o, const uint64_t *got, const struct unwind_walk *w,
		      const uint64_t *want, uint32_t n_want)
{
	struct miss miss = { .n = 1 };
	uint32_t at = 0;
	size_t i = 0;

	while (at < w->n && at < n_want && got[at] == want[at])
		at++;
	stepped_name(&o->p, want[at ? at - 1 : 0], getenv("CRESSET_ORACLE_OFFSETS"), miss.where,
		     sizeof miss.where);
	snprintf(miss.why, sizeof miss.why, "%s",
		 at < w->n && at < n_want ? "wrong caller"
		 : at < w->n              ? "goes on after the end"
					  : end_name(w));
	while (i < o->n_misses && (strcmp(o->misses[i].where, miss.where) != 0 ||
				   strcmp(o->misses[i].why, miss.why) != 0))
		i++;
	if (i < o->n_misses)
		o->misses[i].n++;
	else if (i < MAX_MISSES)
		o->misses[o->n_misses++] = miss;
}

static void compare(struct oracle *o)
{
	uint64_t want[MAX_FRAMES], got[MAX_FRAMES];
	uint32_t n_want = truth(o, want);
	struct unwind_walk w = stepped_walk(&o->p, got, MAX_FRAMES);
	bool same = w.n == n_want && w.end == WALK_COMPLETE &&
		    memcmp(got, want, n_want * sizeof *got) == 0;

	o->steps++;
	o->frames += n_want;
	o->exact += same;
	if (!same)
		note_miss(o, got, &w, want, n_want);
}

/* --- stepping ------------------------------------------------------------------------------------ */

/* Handles system calls that change what the test has to know. */
static void watch_call(struct oracle *o, const struct user_regs_struct *before)
{
	struct user_regs_struct *r = &o->p.regs;
	uint64_t stack[3];

	switch (before->rax) {
	case SYS_mmap:
	case SYS_munmap:
	case SYS_mprotect:
		stepped_read_maps(&o->p);
		break;
	case SYS_sigaltstack:
		if (before->rdi && stepped_read(&o->p, stack, sizeof stack, before->rdi)) {
			o->shadow.other_lo = stack[0];
			o->shadow.other_hi = stack[0] + stack[2];
		}
		break;
	case SYS_rt_sigaction:
		o->takes_signals |= before->rdi == SIGUSR1 && r->rax == 0;
		break;
	}
}

static bool is_syscall(const uint8_t *code, size_t len)
{
	return len > 1 && code[0] == 0x0f && code[1] == 0x05;
}

/* At a return, the address may differ from the one that was pushed: it may be that of a landing pad. */
static void look_at_return(struct oracle *o, const uint8_t *code, size_t len)
{
	size_t n = o->shadow.entries.n;
	struct shadow_entry *top = n ? &o->shadow.entries.v[n - 1] : NULL;

	if (top && shadow_is_return(code, len) && top->place == o->p.regs.rsp)
		stepped_read(&o->p, &top->address, 8, top->place);
}

static int next_signal(struct oracle *o, const struct program *p)
{
	int sig = WSTOPSIG(o->p.status);

	if (sig != SIGTRAP)
		return sig;
	if (!p->inject || !o->takes_signals || o->steps % INJECT_EVERY)
		return 0;
	o->injected++;
	return SIGUSR1;
}

static void step(struct oracle *o, const struct program *p)
{
	struct user_regs_struct before = o->p.regs;
	uint8_t code[16];
	size_t len = stepped_code(&o->p, before.rip, code, sizeof code);
	int sig = next_signal(o, p);

	look_at_return(o, code, len);
	compare(o);
	stepped_step(&o->p, sig);
	if (o->p.ended)
		return;
	if (sig && shadow_signal(&o->shadow, &before, &o->p.regs, stepped_read, &o->p))
		return;
	shadow_step(&o->shadow, code, len, &before, &o->p.regs, stepped_read, &o->p);
	if (is_syscall(code, len))
		watch_call(o, &before);
}

/* --- one program --------------------------------------------------------------------------------- */

static int by_count(const void *a, const void *b)
{
	const struct miss *x = a, *y = b;

	return x->n < y->n ? 1 : x->n > y->n ? -1 : strcmp(x->where, y->where);
}

static void report(struct oracle *o, const struct program *p)
{
	printf("# %7.3f %% of %6lu instructions, %4.1f frames, %lu signals  %s: %s%s\n",
	       100.0 * o->exact / o->steps, o->steps, (double)o->frames / o->steps, o->injected,
	       p->source, p->build, p->from_linker ? ", from the dynamic linker on" : "");
	qsort(o->misses, o->n_misses, sizeof *o->misses, by_count);
	for (size_t i = 0; i < o->n_misses; i++)
		printf("#     %6lu  %-26s %s\n", o->misses[i].n, o->misses[i].why,
		       o->misses[i].where);
	fflush(stdout);
}

static void run(struct oracle *o, const struct program *p, const char *dir)
{
	const char *more = getenv("CRESSET_ORACLE_STEPS");
	uint64_t max = more ? strtoull(more, NULL, 10) : p->steps ? p->steps : ORDINARY_STEPS;
	char path[64];

	snprintf(path, sizeof path, "%s/prog", dir);
	shell_do("%s -o %s tests/unit/oracle/%s 2>&1", p->build, path, p->source);
	stepped_start(&o->p, (char *[]){ path, NULL });
	if (!p->from_linker && o->p.regs.rip != stepped_entry(&o->p))
		stepped_run_to(&o->p, stepped_entry(&o->p));
	while (!o->p.ended && o->steps < max)
		step(o, p);
	stepped_kill(&o->p);
	report(o, p);
	ck_assert_uint_ge(o->exact * 1000, o->steps * (p->least ? p->least : ORDINARY_LEAST));
	ck_assert_msg(!WIFEXITED(o->p.status) || WEXITSTATUS(o->p.status) == 0, "%s: status %x",
		      p->build, o->p.status);
}

/* Two switches for each step: on one CPU they take a third of the time. */
static void stay_here(void)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	sched_setaffinity(0, sizeof one, &one);
}

static void check_all(const struct program *programs, size_t n)
{
	static struct oracle o;
	const char *only = getenv("CRESSET_ORACLE_ONLY");
	char dir[32];

	stay_here();
	temp_dir(dir);
	for (size_t i = 0; i < n; i++) {
		if (only && !strstr(programs[i].build, only))
			continue;
		memset(&o, 0, sizeof o);
		run(&o, &programs[i], dir);
		stepped_done(&o.p);
		vec_done(&o.shadow.entries);
	}
	shell_do("rm -rf %s", dir);
}

#define BUILT(source_, ...) \
	{ \
		.source = source_, .build = __VA_ARGS__ \
	}
#define CHECK_ALL(...) \
	do { \
		static const struct program all_[] = { __VA_ARGS__ }; \
		check_all(all_, sizeof all_ / sizeof *all_); \
	} while (0)

/* --- ------------------------------------------------------------------------------------------- */

#define FP   " -fno-omit-frame-pointer"
#define NOFP " -fomit-frame-pointer"

/* Most are bound at the start: lazy binding, which some use, runs the same code in all of them. */
#define NOW " -Wl,-z,now"

START_TEST(gcc_levels)
{
	CHECK_ALL(BUILT("shapes.c", "gcc -O0" NOW), BUILT("shapes.c", "gcc -O1" NOFP NOW),
		  BUILT("shapes.c", "gcc -O2" NOFP NOW), BUILT("shapes.c", "gcc -Os" NOFP NOW));
}
END_TEST

START_TEST(gcc_optimized)
{
	CHECK_ALL(BUILT("shapes.c", "gcc -O2" FP NOW),
		  BUILT("shapes.c", "gcc -O3 -march=haswell" NOFP NOW),
		  BUILT("shapes.c", "gcc -O2 -mstackrealign -fstack-protector-all "
				    "-fstack-clash-protection" NOW));
}
END_TEST

START_TEST(clang_levels)
{
	CHECK_ALL(BUILT("shapes.c", "clang-14 -O0" NOFP NOW),
		  BUILT("shapes.c", "clang-14 -O1" NOFP NOW),
		  BUILT("shapes.c", "clang-14 -Os" NOFP NOW));
}
END_TEST

START_TEST(clang_optimized)
{
	CHECK_ALL(BUILT("shapes.c", "clang-14 -O2" NOFP NOW),
		  BUILT("shapes.c", "clang-19 -O2" FP NOW),
		  BUILT("shapes.c", "clang-19 -O3 -march=haswell" NOFP NOW));
}
END_TEST

START_TEST(bound_lazily)
{
	CHECK_ALL(BUILT("shapes.c", "gcc -O2 -no-pie -Wl,-z,lazy"),
		  BUILT("shapes.c", "gcc -O2 -Wl,-z,lazy -fcf-protection"));
}
END_TEST

START_TEST(in_the_dynamic_linker)
{
	CHECK_ALL(BUILT("shapes.c", "gcc -O2", .from_linker = true));
}
END_TEST

START_TEST(without_dynamic_linker)
{
	CHECK_ALL(BUILT("shapes.c", "gcc -O2 -static -s", .steps = 50000),
		  BUILT("shapes.c", "clang-14 -O2 -static-pie", .steps = 70000));
}
END_TEST

START_TEST(signals)
{
	CHECK_ALL(BUILT("signals.c", "gcc -O0", .inject = true),
		  BUILT("signals.c", "gcc -O2" NOFP NOW, .inject = true),
		  BUILT("signals.c", "gcc -O2" FP " -static", .inject = true, .steps = 50000),
		  BUILT("signals.c", "clang-14 -O2" NOW, .inject = true));
}
END_TEST

/* For the last few hundred instructions of a throw, the unwinder has the landing frame's registers where it saved those of its caller: a frame in
 * between that needs its frame pointer finds another one. */
START_TEST(exceptions)
{
	CHECK_ALL(BUILT("throws.cc", "g++ -O0" NOW, .steps = 150000, .least = 980));
}
END_TEST

START_TEST(exceptions_optimized)
{
	CHECK_ALL(BUILT("throws.cc", "g++ -O2 -static-libgcc -static-libstdc++", .steps = 60000,
			.least = 990),
		  BUILT("throws.cc", "clang++-14 -O2" NOW, .steps = 60000, .least = 990));
}
END_TEST

UNIT_MAIN("walk_oracle", gcc_levels, gcc_optimized, clang_levels, clang_optimized, bound_lazily,
	  in_the_dynamic_linker, without_dynamic_linker, signals, exceptions, exceptions_optimized)
