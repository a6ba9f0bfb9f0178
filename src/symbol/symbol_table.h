/* symbol/symbol_table.h: the names of the functions of one ELF file, as a separate file that a host
 * uploads if its server names frames. It has names and ranges, but no code.
 *
 *     "CRSYMT" u16 version                           one zstd frame with content size and
 *                                                    checksum
 *     u8 length  build id
 *     n strings { len, bytes }                       0 is "" and not written
 *     n functions { name, linkage, file, start_line }     references to strings
 *     n ranges { gap, size, function }               file offsets; gap: from the end of the
 *                                                    previous range
 *
 * Numbers are varints unless stated otherwise. Ranges ascend and cannot overlap. */
#ifndef CRESSET_SYMBOL_SYMBOL_TABLE_H
#define CRESSET_SYMBOL_SYMBOL_TABLE_H

#include "base/buf.h"
#include "symbol/symbol.h"

#include <stdint.h>

struct err;

#define SYMBOL_TABLE_MAGIC "CRSYMT"
enum { SYMBOL_TABLE_VERSION = 1 };
enum {
	SYMBOL_TABLE_MAX_PACKED = 16 << 20,
	SYMBOL_TABLE_MAX_BYTES = 64 << 20, /* decompressed */
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
	/* Time limit for reading files and first lines from debug information, by CLOCK_MONOTONIC;
	 * functions after that get names only. */
	uint64_t lines_ns;
};
/* Appends the compressed table of the file at fd. -ENODATA: no functions; -EFBIG: too many; or
 * -ENOEXEC. */
int symbol_table_make(int fd, const struct symbol_table_opts *opts, struct buf *out,
		      struct err *err);

/* --- reading one --- */

struct symbol_table_text {
	const char *s; /* not NUL-terminated */
	uint32_t len;
};
struct symbol_table_function {
	uint32_t name, linkage, file, start_line; /* the first three: indexes of texts */
};
struct symbol_table_range {
	uint64_t start;
	uint32_t size, function;
};
struct symbol_table { /* zeroed = empty */
	uint8_t build_id[SYMBOL_TABLE_ID_BYTES];
	size_t build_id_len;
	struct buf plain; /* contains the texts */
	uint32_t *texts;  /* position of each; its length precedes it */
	struct symbol_table_function *functions;
	struct symbol_table_range *ranges; /* ascending */
	uint32_t n_texts, n_functions, n_ranges;
};

/* Returns the most memory that reading a table takes, in bytes; 0: it is not a table. */
uint64_t symbol_table_cost(const void *data, size_t len);
/* -EBADMSG with err set, or -EFBIG. On success every reference in it has been checked. */
int symbol_table_read(const void *data, size_t len, struct symbol_table *out, struct err *err);
void symbol_table_done(struct symbol_table *t);
uint64_t symbol_table_bytes(const struct symbol_table *t); /* of memory */

struct symbol_table_text symbol_table_text(const struct symbol_table *t, uint32_t text);
/* Returns NULL if no function is there. */
const struct symbol_table_function *symbol_table_find(const struct symbol_table *t,
						      uint64_t offset);

#endif
