// tier: test
/* Any bytes as a binary file of Python's sampler: read or refused. */
#include "format_fuzz.h"

#include "format/python/python.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	format_python_binary.detect((const char *)data, size);
	profile_free(fuzz_read(&format_python_binary, data, size));
	return 0;
}
