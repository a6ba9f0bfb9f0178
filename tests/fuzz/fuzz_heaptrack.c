// tier: test
/* Any bytes as the data of heaptrack: read or refused. */
#include "format_fuzz.h"

#include "format/heaptrack/heaptrack.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	format_heaptrack.detect((const char *)data, size);
	profile_free(fuzz_read(&format_heaptrack, data, size));
	return 0;
}
