/* No loader, no shared C library: nothing can be attached. */
// build: -static
#include <unistd.h>

int main(void)
{
	for (;;)
		pause();
}
