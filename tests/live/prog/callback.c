/* callback CPU_SECONDS: code made at run time, with a frame pointer as all such code, calls back to a function that has none:
 * main → enters → code in memory → called_back. push rbp; mov rbp,rsp; call rdi; pop rbp; ret. */
// build: -O2 -fomit-frame-pointer
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

static const unsigned char code[] = { 0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3 };
static volatile double seconds;

__attribute__((noinline)) void called_back(void)
{
	volatile unsigned room[64] = { 0 };

	while ((double)clock() < seconds * CLOCKS_PER_SEC)
		for (unsigned i = 0; i < 1000000; i++)
			room[i & 63] += i;
}

/* Keeps its own frame by rbp, so that what the code in memory saved leads on. */
__attribute__((noinline, optimize("no-omit-frame-pointer"))) void enters(void (*fn)(void (*)(void)))
{
	fn(called_back);
	__asm__ volatile("");
}

int main(int argc, char **argv)
{
	void *mem = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memcpy(mem, code, sizeof code);
	seconds = argc > 1 ? strtod(argv[1], NULL) : 1;
	enters((void (*)(void (*)(void)))mem);
	return 0;
}
