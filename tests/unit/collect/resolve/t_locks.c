// tier: test
/* Owners that are threads, counts of waits that stand for others, and names of locks in running programs. */
#include "resolve_world.h"
#include "unit.h"

#include "bpf/event.h"
#include "collect/proc/proc_stat.h"
#include "collect/resolve/locks.h"

#include <pthread.h>
#include <sys/syscall.h>

static void *tell_and_wait(void *arg)
{
	int *ends = arg;
	uint32_t tid = (uint32_t)syscall(SYS_gettid);
	char c;

	ck_assert_int_eq(write(ends[1], &tid, sizeof tid), sizeof tid);
	return read(ends[2], &c, 1) < 0 ? arg : NULL;
}

static struct wait_info wait_for_owner(uint32_t owner, uint32_t how)
{
	return (struct wait_info){ .lock = { .address = 64, .owner = owner, .how = how } };
}

START_TEST(owners_are_threads)
{
	struct locks l = { 0 };
	uint32_t me = (uint32_t)getpid(), tid;
	int ends[4];
	pthread_t thread;
	struct wait_info w;

	ck_assert_int_eq(pipe(ends) | pipe(ends + 2), 0);
	ck_assert_int_eq(pthread_create(&thread, NULL, tell_and_wait, ends), 0);
	ck_assert_int_eq(read(ends[0], &tid, sizeof tid), sizeof tid);
	w = wait_for_owner(tid, LOCK_PLAIN);
	ck_assert(locks_has_owner(&l, me, &w, 1));
	w = wait_for_owner(me, LOCK_ROBUST);
	ck_assert(locks_has_owner(&l, me, &w, 1));
	w = wait_for_owner(1, LOCK_PLAIN); /* a process, but no thread of this one */
	ck_assert(!locks_has_owner(&l, me, &w, 1));
	w.lock.how |= LOCK_SHARED;
	ck_assert(locks_has_owner(&l, me, &w, 1));
	w = wait_for_owner(1, LOCK_PI);
	ck_assert(locks_has_owner(&l, me, &w, 1));
	w = wait_for_owner(7, LOCK_PLAIN | LOCK_UNLOCKED); /* it unlocked it, and has ended since */
	w.waker_tid = 7;
	ck_assert(locks_has_owner(&l, me, &w, 1));
	ck_assert_int_eq(write(ends[3], "", 1), 1);
	pthread_join(thread, NULL);
	/* This is remembered for a while. */
	w = wait_for_owner(tid, LOCK_PLAIN);
	ck_assert(locks_has_owner(&l, me, &w, LOCK_OWNERS_KEPT_NS));
	while (access("/proc/self/task", F_OK) == 0 &&
	       proc_find_thread(me, tid) == PROC_THREAD_FOUND)
		;
	ck_assert(!locks_has_owner(&l, me, &w, 3 * LOCK_OWNERS_KEPT_NS));
	locks_done(&l);
}
END_TEST

/* Very many owners take a limited memory. */
START_TEST(memory_is_bounded)
{
	struct locks l = { 0 };

	for (uint32_t i = 0; i < 3 * LOCK_OWNERS_MAX; i++) {
		struct wait_info w = wait_for_owner(0x3f000000 + i, LOCK_PLAIN);

		ck_assert(!locks_has_owner(&l, (uint32_t)getpid(), &w, 1));
		ck_assert_uint_le(l.owners.n, LOCK_OWNERS_MAX);
	}
	locks_done(&l);
}
END_TEST

START_TEST(counts_add_up)
{
	struct locks l = { 0 };
	int64_t sum = 0;

	for (int i = 0; i < 1000; i++)
		sum += locks_count(&l, 1.4);
	ck_assert_int_ge(sum, 1399);
	ck_assert_int_le(sum, 1400);
	ck_assert_int_eq(locks_count(&(struct locks){ 0 }, 1), 1);
}
END_TEST

/* --- whole samples ---------------------------------------------------------------------------- */

static const char lock_text[] =
	"#include <stdio.h>\n#include <stdlib.h>\n"
	"int initialized = 7, zeroed[100000]; static char *heap;\n"
	"int work_here(int n) { return n + 1; }\n"
	"int main(void) { heap = malloc(64); printf(\"%lx\\n\", (long)work_here);\n"
	"  printf(\"%lx\\n%lx\\n%lx\\n\", (long)&initialized, (long)&zeroed[70000], (long)heap);\n"
	"  fflush(stdout); while (getchar() != EOF); return 0; }\n";

static struct resolve_types lock_types(void)
{
	struct sink *s = profile_sink(profile);

	return (struct resolve_types){
		.cpu = type,
		.off_cpu = TYPE_NONE,
		.sched_wait = TYPE_NONE,
		.wall = TYPE_NONE,
		.lock = s->ops->type(s, &(struct type){ .name = sink_string(s, "lock") }),
		.lock_waits =
			s->ops->type(s, &(struct type){ .name = sink_string(s, "lock-waits") }),
		.period_ns = 10101010,
	};
}

/* A wait of a thread in work_here for a lock there, of 5 ms. */
static void wait_at(const struct child *c, uint64_t lock, uint32_t how)
{
	uint64_t space[sizeof(struct event_stack) / 8 + 2];
	struct event_stack *st = (struct event_stack *)space;
	struct event_wait ev = {
		.sample = { .kind = EVENT_WAIT,
			    .time_ns = clock_mono_ns(),
			    .tgid = (uint32_t)c->pid,
			    .tid = (uint32_t)c->pid,
			    .comm = "waiter",
			    .stack_hash = next_hash },
		.wait = { .start_ns = clock_mono_ns() - 5000000,
			  .off_ns = 5000000,
			  .weight_ns = 5000000,
			  .parts = WAIT_OFF_CPU,
			  .waker_tgid = (uint32_t)c->pid,
			  .waker_tid = (uint32_t)c->pid,
			  .waker_hash = next_hash,
			  .waker_comm = "holder",
			  .lock = { lock, (uint32_t)c->pid, how } },
	};

	*st = (struct event_stack){
		.kind = EVENT_STACK, .n_kernel = 1, .n_user = 1, .stack_hash = next_hash++
	};
	st->addr[0] = 0xffffffff81000000ull;
	st->addr[1] = c->addr;
	resolve_stack_contents(resolver, st);
	resolve_event(resolver, &(union order_event){ .wait = ev }, NULL);
}

static uint64_t vaddr_of(const char *name, const char *symbol)
{
	char *text = shell("nm %s/%s | awk '$3 == \"%s\" { print $1 }'", dir, name, symbol);
	uint64_t vaddr = strtoull(text, NULL, 16);

	free(text);
	ck_assert_uint_gt(vaddr, 0);
	return vaddr;
}

static void check_names(const char *flags)
{
	char want[256];

	if (!setup())
		T_SKIP(NEEDS);
	compile(lock_text, flags, "locks");
	struct child c = run_program("locks", "");
	uint64_t initialized = read_addr(c.out), zeroed = read_addr(c.out), heap = read_addr(c.out);
	struct resolve_types types = lock_types();

	apply();
	resolve_set_sink(resolver, profile_sink(profile), &types, NULL);
	wait_at(&c, initialized, LOCK_PLAIN | LOCK_UNLOCKED);
	wait_at(&c, zeroed, LOCK_PLAIN);
	wait_at(&c, heap, LOCK_PLAIN | LOCK_PENDING);
	wait_at(&c, zeroed, LOCK_NONE);
	resolve_symbolize(resolver);
	ck_assert_uint_eq(profile->samples.n,
			  5); /* sum and count of two, the sum of the pending one */
	snprintf(want, sizeof want,
		 "work_here;[held by: holder];work_here;[lock: locks+0x%" PRIx64 "]",
		 vaddr_of("locks", "initialized"));
	ck_assert_str_eq(stack_of(0), want);
	ck_assert_str_eq(stack_of(1), want);
	ck_assert_int_eq(profile->samples.value[0], 5000000);
	ck_assert_int_eq(profile->samples.value[1], 1);
	snprintf(want, sizeof want, "work_here;[not unlocked];[lock: locks+0x%" PRIx64 "]",
		 vaddr_of("locks", "zeroed") + 70000 * sizeof(int));
	ck_assert_str_eq(stack_of(2), want);
	ck_assert_str_eq(stack_of(4), "work_here;[still held];[lock]");
	end_program(&c);
	teardown();
}

START_TEST(names_in_a_pie)
{
	check_names("-pie -fPIE");
}
END_TEST

START_TEST(names_in_a_fixed_program)
{
	check_names("-no-pie");
}
END_TEST

UNIT_MAIN("locks", owners_are_threads, memory_is_bounded, counts_add_up, names_in_a_pie,
	  names_in_a_fixed_program)
