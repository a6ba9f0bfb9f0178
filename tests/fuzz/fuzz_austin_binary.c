// tier: test
/* Any bytes as a binary file of austin: read or refused. */
#include "format_fuzz.h"

#include "format/python/python.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	format_austin_binary.detect((const char *)data, size);
	profile_free(fuzz_read(&format_austin_binary, data, size));
	return 0;
}
