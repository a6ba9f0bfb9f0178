/* symbol/names_file.h: names that were looked up once, as a file: what disk_cache.h keeps for one build id.
 *
 *     offset  bytes
 *     0       8     "CRNAMES\0"
 *     8       4     version: NAMES_FILE_VERSION
 *     12      4     0
 *     16      8     XXH3-64 of all that follows
 *     24      4     witnesses W
 *     28      4     addresses A
 *     32      4     lines L
 *     36      4     functions F
 *     40      4     origins O
 *     44      4     bytes of text T
 *     48      8 W   witnesses: hashes of the files that were there when the names were made (disk_cache.h)
 *     …       8 A   file offsets, ascending
 *     …       8 A   for each: { u32 its first line, u16 lines, u8 its origin, u8 0 }
 *     …       8 L   { u32 function, u32 line }, innermost first
 *     …       16 F  { u32 name, u32 linkage name, u32 file, u32 first line }
 *     …       4 O   origins: ".symtab" …
 *     …       T     texts, each ended by a zero byte; all references to text are offsets here, the first text is empty: unknown
 *
 * Numbers are little endian and nothing follows. An address with 0 lines has no name, which is worth knowing, too. */
#ifndef CRESSET_SYMBOL_NAMES_FILE_H
#define CRESSET_SYMBOL_NAMES_FILE_H

#include "base/buf.h"
#include "base/vec.h"
#include "profile/strtab.h"
#include "symbol/symbol.h"

#include <stdbool.h>
#include <stdint.h>

/* Goes up when the same files would give better names, too: what was kept by older versions is looked up again. */
enum { NAMES_FILE_VERSION = 2 };
enum {
	NAMES_FILE_MAX_WITNESSES = 64,
	NAMES_FILE_MAX_ORIGINS = 16,
	NAMES_FILE_MAX_LINES = 256, /* of one address */
};
#define NAMES_FILE_MAX_BYTES (64u << 20)

struct names_entry {
	uint32_t first;
	uint16_t n;
	uint8_t origin, zero;
};
struct names_line {
	uint32_t function, line;
};
struct names_function {
	uint32_t name, linkage, file, start_line;
};

/* A file in memory; zeroed = empty. Pointers go into the bytes, which stay the caller's. */
struct names_file {
	const uint64_t *witnesses, *offsets;
	const struct names_entry *entries;
	const struct names_line *lines;
	const struct names_function *functions;
	const uint32_t *origins;
	const char *text;
	uint32_t n_witnesses, n_offsets, n_lines, n_functions, n_origins, n_text;
	uint32_t next; /* the offset that is likely to be asked for */
};

/* data is aligned to 8. -EBADMSG: no such file, of another version, or damaged: every reference in it was checked otherwise. */
int names_file_parse(const void *data, size_t len, struct names_file *out);

bool names_file_has_witness(const struct names_file *f, uint64_t witness);

/* Whether the offset was looked up; then *n ≤ max lines (the outermost are cut) and where they come from. */
bool names_file_get(struct names_file *f, uint64_t offset, struct symbol_line *out, uint32_t max,
		    uint32_t *n, const char **origin);

/* A file being made; init it, add, write. What is added first wins. */
struct names_made {
	uint64_t offset;
	struct names_entry entry;
	uint32_t order; /* of addition */
};
struct names_maker {
	struct strtab text;
	struct map function_index;
	VEC(struct names_function) functions; /* with ids of text */
	VEC(struct names_line) lines;
	VEC(struct names_made) entries;
	VEC(uint64_t) witnesses;
	VEC(uint32_t) origins; /* ids of text */
};
void names_maker_init(struct names_maker *m);
void names_maker_done(struct names_maker *m);

/* False when there is no room: more witnesses or bytes than a file may have. */
bool names_maker_witness(struct names_maker *m, uint64_t witness);
bool names_maker_add(struct names_maker *m, uint64_t offset, const struct symbol_line *lines,
		     uint32_t n, const char *origin);
/* All of f that fits. */
void names_maker_add_file(struct names_maker *m, const struct names_file *f);

/* Appends the file to b; m is then to be done with. */
void names_maker_write(struct names_maker *m, struct buf *b);

#endif
