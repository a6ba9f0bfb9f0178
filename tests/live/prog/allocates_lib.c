/* A library that takes a while to load: its constructor waits, below the loader. */
// build: -shared -fPIC -O1
#include <poll.h>

__attribute__((constructor)) static void loaded(void)
{
	poll(0, 0, 2);
}
