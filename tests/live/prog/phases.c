/* phases NAME: calls itself NAME and burns in phase_0 until SIGUSR1, then in phase_1, and so on up to phase_7: code of a file that was read before
 * and that nobody has seen yet. */
// build: -O1 -fno-omit-frame-pointer -fno-optimize-sibling-calls
#include <signal.h>
#include <stdint.h>
#include <sys/prctl.h>

static volatile sig_atomic_t phase;

static void next(int sig)
{
	(void)sig;
	phase = phase + 1;
}

/* No two are the same code. */
#define PHASE(n) \
	__attribute__((noinline)) static void phase_##n(void) \
	{ \
		volatile uint64_t x = n; \
\
		while (phase == n) \
			x = x * 6364136223846793005ull + 1442695040888963407ull + n; \
	}
PHASE(0);
PHASE(1);
PHASE(2);
PHASE(3);
PHASE(4);
PHASE(5);
PHASE(6);
PHASE(7);

int main(int argc, char **argv)
{
	static void (*const phases[])(void) = { phase_0, phase_1, phase_2, phase_3,
						phase_4, phase_5, phase_6, phase_7 };

	if (argc < 2)
		return 2;
	prctl(PR_SET_NAME, argv[1], 0, 0, 0);
	signal(SIGUSR1, next);
	for (unsigned i = 0; i < sizeof phases / sizeof *phases; i++)
		phases[i]();
	return 0;
}
