/* collect/local_code.h: names of code made at run time by processes of this machine, from the
 * files /tmp/perf-PID.map that JIT compilers leave (symbol/symbol.h).
 *
 * Anybody can write to /tmp: only a file of our own user or of root is believed. At most
 * LOCAL_CODE_MAX_FILES are kept in memory; later processes get no names. */
#ifndef CRESSET_COLLECT_LOCAL_CODE_H
#define CRESSET_COLLECT_LOCAL_CODE_H

#include "base/hash.h"
#include "base/vec.h"
#include "symbol/symbol.h"

#include <stdint.h>

enum { LOCAL_CODE_MAX_FILES = 256 };

struct local_code {                          /* zeroed = empty */
	VEC(struct symbol_source *) sources; /* NULL where there is no file */
	struct map by_pid;
	uint32_t files;
};

/* The name of what is at an address of a process, valid until local_code_done; NULL: not known. code
 * is a struct local_code: fits struct format_here. */
const char *local_code_name(void *code, uint32_t pid, uint64_t addr);
void local_code_done(struct local_code *code);

#endif
