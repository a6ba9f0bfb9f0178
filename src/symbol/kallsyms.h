/* symbol/kallsyms.h: what symbol_open_kallsyms has read, all of it. Only files of symbol/ include it. */
#ifndef CRESSET_SYMBOL_KALLSYMS_H
#define CRESSET_SYMBOL_KALLSYMS_H

#include "symbol/symbol.h"

/* Calls fn for each function, by address. Names are as in the file; a symbol is valid during the call. */
void kallsyms_each(struct symbol_source *kallsyms, void (*fn)(void *ctx, const struct symbol *sym),
		   void *ctx);

#endif
