#include "symbol/code_names.h"

int symbol_open_jitdump(int fd, struct symbol_source **out, struct err *err)
{
	return code_names_open(fd, CODE_LOG_DUMP, out, err);
}

void symbol_jitdump_at(struct symbol_source *s, uint64_t time_ns)
{
	code_names_at(s, time_ns);
}
