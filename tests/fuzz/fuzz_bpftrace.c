// tier: test
/* Any bytes as maps of bpftrace: read or refused. */
#include "format_fuzz.h"

#include "format/bpftrace/bpftrace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	format_bpftrace.detect((const char *)data, size);
	profile_free(fuzz_read(&format_bpftrace, data, size));
	return 0;
}
