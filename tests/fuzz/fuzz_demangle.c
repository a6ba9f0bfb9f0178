// tier: test
/* Any bytes as a mangled name. */
#include "base/mem.h"
#include "memory_file.h"
#include "symbol/symbol.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *name = xstrndup((const char *)data, size);
	char *demangled = symbol_demangle(name);
	if (demangled && strlen(demangled) > 1 << 20)
		abort();
	free(demangled);
	free(name);
	return 0;
}
