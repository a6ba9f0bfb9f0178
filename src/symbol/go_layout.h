/* symbol/go_layout.h: how the layouts of gopclntab differ. Positions are bytes from the start of a record. */
#ifndef CRESSET_SYMBOL_GO_LAYOUT_H
#define CRESSET_SYMBOL_GO_LAYOUT_H

#include "symbol/gopclntab.h"

struct go_layout {
	uint32_t magic;
	uint8_t entry_size; /* 8: addresses; 4: relative to the text */
	uint8_t pcdata_n_at; /* of a function's record; the name and the tables of values are in front of it */
	uint8_t unit_at, start_line_at; /* 0: not there */
	uint8_t flags_at;               /* id, flags, 0, count of funcdata */
	uint8_t inline_pcdata, inline_funcdata;
	uint8_t inlined_size, inlined_name_at, inlined_call_at, inlined_line_at;
	uint8_t inline_base_word; /* of moduledata */
};

enum { GO_HEADER_WORDS = 8, GO_HEADER_BYTES = 8 + 8 * GO_HEADER_WORDS };
enum { GO_FLAG_TOPFRAME = 1, GO_FLAG_SPWRITE = 2 };

/* Little-endian numbers at a file offset, 0 outside of it. */
uint32_t go_u32(struct gopclntab *t, uint64_t at);
uint64_t go_u64(struct gopclntab *t, uint64_t at);

/* Fills t from the header at t->base. False when there is none. */
bool go_header_read(struct gopclntab *t);

/* True when the first functions look like functions of this program. */
bool go_header_proven(struct gopclntab *t);

/* Finds moduledata and takes text and inline_base from it. False when there is none. */
bool go_module_read(struct gopclntab *t, const struct elf_file *f);

#endif
