#include "symbol/code_names.h"

int symbol_open_perf_map(int fd, struct symbol_source **out, struct err *err)
{
	return code_names_open(fd, CODE_LOG_MAP, out, err);
}
