// tier: test
/* Any bytes as a capture of sysprof: read or refused. */
#include "format_fuzz.h"

#include "format/sysprof/sysprof.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	format_sysprof.detect((const char *)data, size);
	profile_free(fuzz_read(&format_sysprof, data, size));
	return 0;
}
