// tier: test
/* Any bytes as lines of a sampler of Python: read or refused. */
#include "format_fuzz.h"

#include "format/python/python.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	format_python_text.detect((const char *)data, size);
	profile_free(fuzz_read(&format_python_text, data, size));
	return 0;
}
