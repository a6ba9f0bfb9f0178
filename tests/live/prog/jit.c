/* jit CPU_SECONDS [NAME]: makes a function at run time, writes its name to /tmp/perf-PID.map, and calls it again and again from
 * jit_caller. The code keeps a frame pointer: push rbp; mov rbp,rsp; mov ecx,imm; loop: dec ecx; jnz loop; pop rbp; ret. */
// build: -O1 -fno-omit-frame-pointer -fno-optimize-sibling-calls
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static const unsigned char code[] = { 0x55, 0x48, 0x89, 0xe5, 0xb9, 0x00, 0x00, 0x00,
				      0x04, 0xff, 0xc9, 0x75, 0xfc, 0x5d, 0xc3 };

__attribute__((noinline)) void jit_caller(void (*fn)(void), double seconds)
{
	while (clock() < seconds * CLOCKS_PER_SEC)
		fn();
}

int main(int argc, char **argv)
{
	char path[64];
	void *mem = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memcpy(mem, code, sizeof code);
	snprintf(path, sizeof path, "/tmp/perf-%d.map", getpid());
	FILE *f = fopen(path, "w");
	fprintf(f, "%lx %zx %s\n", (unsigned long)mem, sizeof code,
		argc > 2 ? argv[2] : "jitted function <made> at run time");
	fclose(f);
	jit_caller((void (*)(void))mem, argc > 1 ? strtod(argv[1], NULL) : 1);
	unlink(path);
	return 0;
}
