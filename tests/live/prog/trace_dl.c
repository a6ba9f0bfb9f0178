/* trace_dl: as trace.h says, with the variable in the library lib=. */
// build: -O1 -fno-omit-frame-pointer
#include "trace.h"

int main(int argc, char **argv)
{
	return run(argc, argv, NULL);
}
