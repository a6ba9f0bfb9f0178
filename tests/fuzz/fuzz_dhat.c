// tier: test
/* Any bytes as a file of dhat: read or refused. */
#include "format_fuzz.h"

#include "format/valgrind/valgrind.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	format_dhat.detect((const char *)data, size);
	profile_free(fuzz_read(&format_dhat, data, size));
	return 0;
}
