/* symbol/symbol_table.h: what the functions of one ELF file are called, as a file of its own: what a host gives away when its server names
 * frames. Names and ranges, nothing of the code.
 *
 *     "CRSYMT" u16 version                           one zstd frame that says how long it is unpacked, with a checksum
 *     u8 length  build id
 *     n strings { len, bytes }                       0 is "" and not written
 *     n functions { name, linkage, file, start_line }     references to strings
 *     n ranges { gap, size, function }               file offsets; gap: from the end of the range before
 *
 * Numbers are varints where nothing is said. Ranges ascend and cannot overlap. */
#ifndef CRESSET_SYMBOL_SYMBOL_TABLE_H
#define CRESSET_SYMBOL_SYMBOL_TABLE_H

#include "base/buf.h"
#include "base/err.h"
#include "symbol/symbol.h"

#include <stdint.h>

#define SYMBOL_TABLE_MAGIC "CRSYMT"
enum { SYMBOL_TABLE_VERSION = 1 };
enum {
	SYMBOL_TABLE_MAX_PACKED = 16 << 20,
	SYMBOL_TABLE_MAX_BYTES = 64 << 20, /* unpacked */
	SYMBOL_TABLE_MAX_RANGES = 2 << 20, /* libLLVM has 200 000 */
	SYMBOL_TABLE_MAX_STRING = 64 << 10,
	SYMBOL_TABLE_ID_BYTES = 64,
};

/* --- making one --- */

struct symbol_table_opts {
	const uint8_t *build_id; /* of the file; [build_id_len], from 1 to SYMBOL_TABLE_ID_BYTES */
	size_t build_id_len;
	debug_locate_fn *locate; /* as in symbol_open_elf */
	void *ctx;
	/* Files and first lines are read from debug information for so long, CLOCK_MONOTONIC; functions after that have names only. */
	uint64_t lines_ns;
};
/* Appends the table of the file at fd, packed. -ENODATA: it has no functions; -EFBIG: too many; or -ENOEXEC. */
int symbol_table_make(int fd, const struct symbol_table_opts *opts, struct buf *out,
		      struct err *err);

/* --- reading one --- */

struct symbol_table_text {
	const char *s; /* not NUL-terminated */
	uint32_t len;
};
struct symbol_table_function {
	uint32_t name, linkage, file, start_line; /* the first three: of texts */
};
struct symbol_table_range {
	uint64_t start;
	uint32_t size, function;
};
struct symbol_table { /* zeroed = empty */
	uint8_t build_id[SYMBOL_TABLE_ID_BYTES];
	size_t build_id_len;
	struct buf plain; /* what texts are in */
	uint32_t *texts;  /* where each is, its length before it */
	struct symbol_table_function *functions;
	struct symbol_table_range *ranges; /* ascending */
	uint32_t n_texts, n_functions, n_ranges;
};

/* How many bytes of memory reading one takes at most; 0: it is none. */
uint64_t symbol_table_cost(const void *data, size_t len);
/* -EBADMSG with words: every reference in it was checked otherwise; -EFBIG. */
int symbol_table_read(const void *data, size_t len, struct symbol_table *out, struct err *err);
void symbol_table_done(struct symbol_table *t);
uint64_t symbol_table_bytes(const struct symbol_table *t); /* in memory */

struct symbol_table_text symbol_table_text(const struct symbol_table *t, uint32_t text);
/* NULL: no function is there. */
const struct symbol_table_function *symbol_table_find(const struct symbol_table *t,
						      uint64_t offset);

#endif
