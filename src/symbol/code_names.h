/* symbol/code_names.h: a perf map or jitdump that is whole as a source of symbols, for symbol_open_perf_map and symbol_open_jitdump. */
#ifndef CRESSET_SYMBOL_CODE_NAMES_H
#define CRESSET_SYMBOL_CODE_NAMES_H

#include "symbol/code_log.h"
#include "symbol/symbol.h"

/* -ENODATA, with the words of nothing, where it names no code. */
int code_names_open(int fd, enum code_log_kind kind, struct symbol_source **out, struct err *err);
void code_names_at(struct symbol_source *s, uint64_t time_ns);

#endif
