/* jit_late CPU_SECONDS: runs code made at run time, and writes the perf map that names it late_name right before it ends. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static const uint8_t loop[] = { 0x55, 0x48, 0x89, 0xe5, 0x48, 0x89, 0xf9,
				0x48, 0xff, 0xc9, 0x75, 0xfb, 0x5d, 0xc3 };

int main(int argc, char **argv)
{
	char path[64];
	void *code = mmap(NULL, 65536, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memcpy(code, loop, sizeof loop);
	for (double end = argc > 1 ? atof(argv[1]) : 1; (double)clock() / CLOCKS_PER_SEC < end;)
		((void (*)(long))code)(3000000);
	snprintf(path, sizeof path, "/tmp/perf-%d.map", getpid());
	FILE *f = fopen(path, "w");
	fprintf(f, "%lx %zx late_name\n", (unsigned long)code, sizeof loop);
	return fclose(f) != 0;
}
