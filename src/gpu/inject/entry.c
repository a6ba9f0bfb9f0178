/* Loading: by the driver (CUDA_INJECTION64_PATH), which then calls InitializeInjection, or by
 * dlopen from a thread that an agent created. Either way the loading thread only starts the
 * helper's thread. */
#include "gpu/inject/library.h"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { STACK_SIZE = 256 << 10 };

struct library library;

static _Thread_local uint32_t own_tid;

uint32_t thread_id(void)
{
	if (!own_tid)
		own_tid = syscall(SYS_gettid);
	return own_tid;
}

/* A child has no helper and no CUDA: it must not write to any ring, in particular its parent's. */
static void in_child(void)
{
	void *ring = library.ring, *stub = library.stub;

	library.inert = true;
	library.window = 0;
	library.ring = library.stub = NULL;
	own_tid = 0;
	if (library.cubins.memory)
		munmap(library.cubins.memory, CUBINS_SIZE);
	library.cubins.memory = NULL;
	library.stalls = 0;
	if (ring)
		munmap(ring, ((struct ring_control *)ring)->size);
	if (stub)
		munmap(stub, RING_NAMES_AT);
}

/* Uses a small stack, unless the program's thread-local variables, which glibc puts there, do not
 * fit. */
static bool start_thread(size_t stack)
{
	pthread_attr_t attr;
	pthread_t thread;

	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	if (stack)
		pthread_attr_setstacksize(&attr, stack);
	bool ok = !pthread_create(&thread, &attr, helper_main, NULL);

	pthread_attr_destroy(&attr);
	return ok;
}

static void start(void)
{
	static uint32_t started;
	sigset_t all, before;

	if (__atomic_exchange_n(&started, 1, __ATOMIC_ACQ_REL))
		return;
	pthread_atfork(NULL, NULL, in_child);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	if (!start_thread(STACK_SIZE))
		start_thread(0);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

__attribute__((constructor)) static void loaded(void)
{
	start();
}

/* Called by the driver; anything but 0 is success. */
__attribute__((visibility("default"))) int InitializeInjection(void);
int InitializeInjection(void)
{
	start();
	return 1;
}
