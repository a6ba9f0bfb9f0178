// tier: test
/* Any bytes as a CPU profile of gperftools: read or refused. */
#include "format_fuzz.h"

#include "format/gperftools/gperftools.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	format_gperf_cpu.detect((const char *)data, size);
	profile_free(fuzz_read(&format_gperf_cpu, data, size));
	return 0;
}
