// tier: test
/* Any bytes as a CPU profile of V8: read or refused. */
#include "format/v8/v8.h"

#include "base/input.h"
#include "profile/profile.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input *in;
	struct profile *p = profile_new();
	cpuprofile_detect((const char *)data, size);
	if (input_open_memory(data, size, &in, NULL))
		abort();
	if (cpuprofile_read(in, profile_sink(p), NULL) == 0 && p->samples.n == 0)
		abort();
	input_close(in);
	profile_free(p);
	return 0;
}
