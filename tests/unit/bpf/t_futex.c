// tier: test
/* Which waits are for a lock: words of real mutexes, conditions, semaphores and other objects of the C library. */
#include "unit.h"

#include "bpf/futex.h"

#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

_Static_assert(FUTEX_OP_WAIT == FUTEX_WAIT && FUTEX_OP_WAKE == FUTEX_WAKE &&
		       FUTEX_OP_LOCK_PI == FUTEX_LOCK_PI && FUTEX_OP_UNLOCK_PI == FUTEX_UNLOCK_PI &&
		       FUTEX_OP_WAIT_BITSET == FUTEX_WAIT_BITSET &&
		       FUTEX_OP_WAKE_BITSET == FUTEX_WAKE_BITSET &&
		       FUTEX_OP_PRIVATE == FUTEX_PRIVATE_FLAG && FUTEX_OWNER == FUTEX_TID_MASK &&
		       FUTEX_WAITED == FUTEX_WAITERS && FUTEX_SYSCALL == SYS_futex,
	       "as in linux/futex.h");

static uint32_t my_tid(void)
{
	return (uint32_t)syscall(SYS_gettid);
}

/* What a thread that waits for the object at `at` with this call would be. */
static struct lock_wait at(const void *at, uint32_t op, uint32_t expected)
{
	struct futex_words w;

	memcpy(&w, at, sizeof w);
	return lock_of_futex((uintptr_t)at, op, expected, &w);
}

static void init(pthread_mutex_t *m, int type, int robust, int protocol, int shared)
{
	pthread_mutexattr_t a;

	pthread_mutexattr_init(&a);
	pthread_mutexattr_settype(&a, type);
	pthread_mutexattr_setrobust(&a, robust);
	pthread_mutexattr_setprotocol(&a, protocol);
	pthread_mutexattr_setpshared(&a, shared);
	ck_assert_int_eq(pthread_mutex_init(m, &a), 0);
}

/* Taken by this thread; a waiter changes the word of a plain one to 2. */
START_TEST(mutexes_name_this_thread)
{
	static const int types[] = { PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE,
				     PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_ADAPTIVE_NP };

	for (int i = 0; i < 16; i++) {
		int robust = i & 4 ? PTHREAD_MUTEX_ROBUST : PTHREAD_MUTEX_STALLED;
		int shared = i & 8 ? PTHREAD_PROCESS_SHARED : PTHREAD_PROCESS_PRIVATE;
		uint32_t op = FUTEX_WAIT | (shared ? 0 : FUTEX_PRIVATE_FLAG);
		uint32_t want = (robust ? LOCK_ROBUST : LOCK_PLAIN) | (shared ? LOCK_SHARED : 0);
		pthread_mutex_t m;
		struct lock_wait l;

		init(&m, types[i & 3], robust, PTHREAD_PRIO_NONE, shared);
		ck_assert_int_eq(pthread_mutex_lock(&m), 0);
		m.__data.__lock = robust ? (int)(my_tid() | FUTEX_WAITERS) : 2;
		l = at(&m, op, (uint32_t)m.__data.__lock);
		ck_assert_uint_eq(l.how, want);
		ck_assert_uint_eq(l.owner, my_tid());
		ck_assert_uint_eq(l.address, (uintptr_t)&m);
		l = at(&m, op - FUTEX_WAIT + FUTEX_WAIT_BITSET, (uint32_t)m.__data.__lock);
		ck_assert_uint_eq(l.how, want);
	}
}
END_TEST

START_TEST(mutexes_with_inheritance_name_this_thread)
{
	pthread_mutex_t m;

	init(&m, PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_INHERIT,
	     PTHREAD_PROCESS_PRIVATE);
	ck_assert_int_eq(pthread_mutex_lock(&m), 0);
	for (uint32_t op = 0; op < 16; op++) {
		struct lock_wait l = at(&m, op | FUTEX_PRIVATE_FLAG | FUTEX_CLOCK_REALTIME, 0);
		int is_lock = op == FUTEX_LOCK_PI || op == 13 /* FUTEX_LOCK_PI2 */;

		ck_assert_uint_eq(l.how, is_lock ? LOCK_PI : LOCK_NONE);
		ck_assert_uint_eq(l.owner, is_lock ? my_tid() : 0);
	}
}
END_TEST

/* A free mutex, one that changed since the call, one with another word than the call's, and one with a word of another protocol. */
START_TEST(other_states_have_no_owner)
{
	pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

	m.__data.__lock = 2;
	ck_assert_uint_eq(at(&m, FUTEX_WAIT_PRIVATE, 2).how, LOCK_NONE);
	m.__data.__lock = 0;
	ck_assert_int_eq(pthread_mutex_lock(&m), 0);
	ck_assert_uint_eq(at(&m, FUTEX_WAIT_PRIVATE, 2).how, LOCK_NONE);
	m.__data.__lock = 2;
	ck_assert_uint_eq(at(&m, FUTEX_WAIT_PRIVATE, 1).how, LOCK_NONE);
	ck_assert_uint_eq(at(&m, FUTEX_WAIT_PRIVATE, 2).how, LOCK_PLAIN);
	m.__data.__kind |= 64; /* priority protection */
	ck_assert_uint_eq(at(&m, FUTEX_WAIT_PRIVATE, 2).how, LOCK_NONE);
	m.__data.__kind = 0;
	m.__data.__nusers = 0;
	ck_assert_uint_eq(at(&m, FUTEX_WAIT_PRIVATE, 2).how, LOCK_NONE);
	ck_assert_uint_eq(at(&m, FUTEX_WAIT_PRIVATE, FUTEX_WAITERS).how, LOCK_NONE);
}
END_TEST

/* Whatever the word is that a thread waits for in them, with a taken mutex right after them. */
START_TEST(other_objects_have_no_owner)
{
	struct {
		union {
			pthread_cond_t condition;
			sem_t semaphore;
			pthread_rwlock_t rwlock;
			pthread_barrier_t barrier;
		} u;
		pthread_mutex_t m;
	} all;

	for (int what = 0; what < 4; what++) {
		memset(&all, 0, sizeof all);
		init(&all.m, PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_NONE,
		     PTHREAD_PROCESS_PRIVATE);
		ck_assert_int_eq(pthread_mutex_lock(&all.m), 0);
		all.m.__data.__lock = 2;
		if (what == 0)
			pthread_cond_init(&all.u.condition, NULL);
		else if (what == 1)
			sem_init(&all.u.semaphore, 0, 2);
		else if (what == 2)
			pthread_rwlock_wrlock(&all.u.rwlock);
		else
			pthread_barrier_init(&all.u.barrier, NULL, 2);
		for (size_t word = 0; word + 4 <= sizeof all.u; word += 4) {
			uint32_t expected;

			memcpy(&expected, (char *)&all + word, sizeof expected);
			ck_assert_uint_eq(at((char *)&all + word, FUTEX_WAIT_PRIVATE, expected).how,
					  LOCK_NONE);
		}
	}
}
END_TEST

START_TEST(calls_that_unlock)
{
	const struct lock_wait own = { 0x7000a040, 5, LOCK_PLAIN },
			       shared = { 0x7000a040, 5, LOCK_PLAIN | LOCK_SHARED };

	for (uint32_t op = 0; op < 16; op++)
		ck_assert_int_eq(futex_unlocks(own.address, op | FUTEX_PRIVATE_FLAG, &own) != 0,
				 op == FUTEX_WAKE || op == FUTEX_WAKE_BITSET ||
					 op == FUTEX_UNLOCK_PI);
	ck_assert(!futex_unlocks(own.address + 0x1000, FUTEX_WAKE_PRIVATE, &own));
	ck_assert(
		futex_unlocks(own.address + 0x1000, FUTEX_WAKE, &shared)); /* in another process */
	ck_assert(!futex_unlocks(own.address + 8, FUTEX_WAKE, &shared));
}
END_TEST

UNIT_MAIN("futex", mutexes_name_this_thread, mutexes_with_inheritance_name_this_thread,
	  other_states_have_no_owner, other_objects_have_no_owner, calls_that_unlock)
