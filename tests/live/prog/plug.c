/* A library that dl.c opens while it runs. */
// build: -O1 -fno-omit-frame-pointer -shared -fPIC
#include <time.h>

int plug_work(double seconds);

__attribute__((noinline)) int plug_work(double seconds)
{
	volatile unsigned x = 0;

	while (clock() < seconds * CLOCKS_PER_SEC)
		for (int i = 0; i < 100000; i++)
			x += i;
	return (int)x;
}
