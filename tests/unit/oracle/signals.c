/* Signal handlers: on the stack and on an alternate one, nested, left by a jump; for signals that are sent, raised by an instruction, or injected at
 * any instruction by the tracer (SIGUSR1). */
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile int sink;
static volatile int depth;
static sigjmp_buf back;

__attribute__((noinline)) static int leaf(int a)
{
	return a * 3 + sink;
}

/* Plain, and the one that is injected. */
static void on_any(int sig)
{
	sink += leaf(sig);
}

static void on_info(int sig, siginfo_t *info, void *context)
{
	volatile char area[300];

	area[sig] = info->si_code + (context != NULL);
	sink += leaf(area[sig]);
	if (depth++ < 2)
		raise(SIGUSR2);
	depth--;
}

static void on_fault(int sig)
{
	volatile int v[50];

	v[sig] = leaf(sig);
	siglongjmp(back, v[sig] | 1);
}

__attribute__((noinline)) static int fault(volatile int *p)
{
	return leaf(2) + *p;
}
__attribute__((noinline)) static int work(int n)
{
	char area[100];

	memset(area, n, sizeof area);
	return n ? work(n - 1) + leaf(area[n]) : leaf(0);
}

static void handle(int sig, void *handler, int flags)
{
	struct sigaction action = { .sa_flags = flags };

	action.sa_sigaction = (void (*)(int, siginfo_t *, void *))handler;
	sigaction(sig, &action, NULL);
}

int main(void)
{
	stack_t other = { .ss_size = 65536 };
	int *volatile nowhere = NULL;

	other.ss_sp = malloc(other.ss_size);
	sigaltstack(&other, NULL);
	handle(SIGUSR2, on_info, SA_SIGINFO | SA_ONSTACK | SA_NODEFER);
	handle(SIGHUP, on_info, SA_SIGINFO | SA_NODEFER);
	handle(SIGSEGV, on_fault, SA_ONSTACK);
	handle(SIGBUS, on_fault, 0);
	handle(SIGUSR1, on_any, SA_RESTART);
	sink += work(5);
	raise(SIGHUP);
	kill(getpid(), SIGUSR2);
	if (sigsetjmp(back, 1) == 0)
		sink += fault(nowhere);
	handle(SIGSEGV, on_fault, 0);
	if (sigsetjmp(back, 1) == 0)
		sink += fault(nowhere);
	sink += work(20);
	return 0;
}
