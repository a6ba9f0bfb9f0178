// tier: test
/* Any bytes as a file of massif: read or refused. */
#include "format_fuzz.h"

#include "format/valgrind/valgrind.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	format_massif.detect((const char *)data, size);
	profile_free(fuzz_read(&format_massif, data, size));
	return 0;
}
