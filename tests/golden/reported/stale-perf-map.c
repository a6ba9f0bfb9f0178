#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>
static const uint8_t A[] = { 0x55, 0x48, 0x89, 0xe5, 0x48, 0x89, 0xf9,
			     0x48, 0xff, 0xc9, 0x75, 0xfb, 0x5d, 0xc3 };
int main(int c, char **v)
{
	uint8_t *x = mmap(0, 65536, 7, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memcpy(x, A, sizeof A);
	void (*f)(long) = (void *)x;
	char p[64];
	snprintf(p, sizeof p, "/tmp/perf-%d.map", getpid());
	FILE *o = fopen(p, "w");
	if (!strcmp(v[1], "stale")) {
		fprintf(o, "%lx 1000 name_of_a_dead_process\n", (long)x);
		fclose(o);
		struct timeval t[2] = { { 1700000000, 0 }, { 1700000000, 0 } };
		utimes(p, t);
	} else if (!strcmp(v[1], "rejit")) {
		fprintf(o, "%lx 1000 old_big\n%lx e old_same\n%lx e new_same\n", (long)x, (long)x,
			(long)x);
		fclose(o);
	} else if (!strcmp(v[1], "rebig")) {
		fprintf(o, "%lx e old_small\n%lx 1000 new_big\n", (long)x, (long)x - 64);
		fclose(o);
	} else if (!strcmp(v[1], "mid")) {
		fprintf(o, "%lx e first_name\n", (long)x);
		fflush(o);
		for (int i = 0; i < 150; i++)
			f(3000000);
		fprintf(o, "%lx e second_name\n", (long)x);
		fclose(o);
	}
	alarm(atoi(v[2]));
	for (;;)
		f(3000000);
}
