/* dl LIBRARY CPU_SECONDS: opens a library after a moment and works in its plug_work. */
// build: -O1 -fno-omit-frame-pointer -fno-optimize-sibling-calls
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	usleep(300000);
	void *lib = dlopen(argv[1], RTLD_NOW);
	int (*work)(double) = lib ? (int (*)(double))dlsym(lib, "plug_work") : NULL;

	if (!work)
		return 1;
	work(strtod(argv[2], NULL));
	return 0;
}
