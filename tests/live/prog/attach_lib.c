/* What tests attach to programs: counts itself into the program that has it, and keeps one thread, which waits, as the real one does. The thread that
 * loads it must have its signals blocked, and not those that end or call others (attach_call.c says which).
 *
 * ATTACH_LIB_STAY: with 0 in the environment there is no thread. */
// build: -shared -fPIC -O1
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern int attached_count __attribute__((weak));
extern int attached_badly __attribute__((weak));

static void *stay(void *arg)
{
	for (;;)
		pause();
	return arg;
}

__attribute__((constructor)) static void loaded(void)
{
	static const int open[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP },
			 shut[] = { SIGTERM, SIGINT, SIGUSR1, SIGCHLD };
	const char *wish = getenv("ATTACH_LIB_STAY");
	pthread_t thread;
	sigset_t mask;
	int bad = 0;

	if (!&attached_count)
		return;
	pthread_sigmask(SIG_BLOCK, NULL, &mask);
	for (size_t i = 0; i < sizeof open / sizeof *open; i++)
		bad |= sigismember(&mask, open[i]);
	for (size_t i = 0; i < sizeof shut / sizeof *shut; i++)
		bad |= !sigismember(&mask, shut[i]);
	if (bad)
		__atomic_store_n(&attached_badly, 1, __ATOMIC_SEQ_CST);
	if (!wish || strcmp(wish, "0") != 0)
		pthread_create(&thread, NULL, stay, NULL);
	__atomic_add_fetch(&attached_count, 1, __ATOMIC_SEQ_CST);
}
