/* A library that is loaded late: its function allocates, and frees nothing. */
// build: -shared -fPIC -O1
#include <stdlib.h>
#include <string.h>

void mem_late_use(void);
void mem_late_use(void)
{
	static void *held[10000];

	for (int i = 0; i < 10000; i++) {
		held[i] = malloc(3008);
		memset(held[i], 1, 8);
	}
}
