/* jit_exec SECONDS after|quiet: runs code made at run time, at one address, in two programs of one
 * pid. The first writes a perf map that names it before_exec and runs it for SECONDS; then it executes
 * itself as the second, which does the same under the name after_exec, or, with quiet, writes no map. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static const uint8_t loop[] = { 0x55, 0x48, 0x89, 0xe5, 0x48, 0x89, 0xf9,
				0x48, 0xff, 0xc9, 0x75, 0xfb, 0x5d, 0xc3 };

static void write_map(const void *code, const char *name)
{
	char path[64];
	snprintf(path, sizeof path, "/tmp/perf-%d.map", getpid());
	FILE *f = fopen(path, "w");
	fprintf(f, "%lx %zx %s\n", (unsigned long)code, sizeof loop, name);
	fclose(f);
}

static double now_s(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	int is_second = getenv("JIT_EXEC_SECOND") != NULL;
	void *code = mmap((void *)0x10000000000, 65536, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	memcpy(code, loop, sizeof loop);
	if (!is_second)
		write_map(code, "before_exec");
	else if (strcmp(argv[2], "quiet") != 0)
		write_map(code, "after_exec");
	for (double end = now_s() + atof(argv[1]); now_s() < end;)
		((void (*)(long))code)(3000000);
	if (is_second)
		return 0;
	setenv("JIT_EXEC_SECOND", "1", 1);
	execv("/proc/self/exe", (char *[]){ argv[0], argv[1], argv[2], NULL });
	return 1;
}
