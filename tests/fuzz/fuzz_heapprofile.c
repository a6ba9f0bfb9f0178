// tier: test
/* Any bytes as a heap profile of V8: read or refused. */
#include "format_fuzz.h"

#include "format/v8/v8.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	format_heapprofile.detect((const char *)data, size);
	profile_free(fuzz_read(&format_heapprofile, data, size));
	return 0;
}
