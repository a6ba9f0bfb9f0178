// tier: test
/* Any bytes as JSON lines of Python's sampler: read or refused. */
#include "format_fuzz.h"

#include "format/python/python.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	format_python_jsonl.detect((const char *)data, size);
	profile_free(fuzz_read(&format_python_jsonl, data, size));
	return 0;
}
