// tier: test
/* Any bytes as a Chrome trace: read or refused. */
#include "format/trace/chrome_trace.h"

#include "base/input.h"
#include "profile/profile.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input *in;
	struct profile *p = profile_new();
	chrome_trace_detect((const char *)data, size);
	if (input_open_memory(data, size, &in, NULL))
		abort();
	if (chrome_trace_read(in, profile_sink(p), NULL) == 0 && p->samples.n == 0)
		abort();
	input_close(in);
	profile_free(p);
	return 0;
}
