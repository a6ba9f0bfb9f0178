/* store/names_chunk.h: what the addresses of one stretch of a mapping are called, as bytes: one row of names.db.
 *
 *     n strings { len, bytes }             0 is "" and not written
 *     n functions { name, linkage, file, start_line }
 *     n entries { offset - the one before, n lines { function, line, column } }       ascending, innermost line first
 *
 * All varints, in one zstd frame. Offsets are of 64 bits: kernel addresses are among them. */
#ifndef CRESSET_STORE_NAMES_CHUNK_H
#define CRESSET_STORE_NAMES_CHUNK_H

#include "base/buf.h"
#include "base/err.h"
#include "profile/names.h"
#include "profile/strtab.h"

#include <zstd.h>

enum {
	NAMES_CHUNK_ENTRIES = 512,        /* at most; a fuller one is cut in two */
	NAMES_CHUNK_MAX_BYTES = 64 << 20, /* unpacked */
};

struct names_entry {
	uint64_t offset;
	struct line_run run; /* of names.lines */
};
struct names_chunk { /* zeroed = empty, after names_chunk_init */
	struct strtab strings;
	struct names names;
	VEC(struct names_entry) entries; /* ascending */
};
void names_chunk_init(struct names_chunk *c);
void names_chunk_done(struct names_chunk *c);

/* Where lines come from: their tables. */
struct names_lines {
	const struct strtab *strings;
	const struct names *names;
	const struct line *lines;
	uint32_t n;
};
/* The lines of an entry. */
struct names_lines names_chunk_lines(const struct names_chunk *c, const struct names_entry *e);

/* Copies lines of some tables, which stay as they are meanwhile, into others: each function and string is looked up there once. */
struct names_copy {
	const struct strtab *from_strings;
	const struct names *from_names;
	struct strtab *strings;
	struct names *names;
	uint64_t *string, *function; /* by id of the former: turn << 32 | id there */
	bool alone;                  /* names_copy_alone */
	uint32_t turn; /* another one for other tables; what is of an older one is unknown */
};
void names_copy_init(struct names_copy *c, const struct strtab *strings, const struct names *names);
void names_copy_done(struct names_copy *c);
/* From now on into these. */
void names_copy_to(struct names_copy *c, struct strtab *strings, struct names *names);
/* The same into a chunk that is empty and gets nothing else, and is only to be written: its strings have no index, and are where they were. */
void names_copy_alone(struct names_copy *c, struct names_chunk *into);
/* out[lines->n]; the lines are of the tables that are copied from. */
void names_copy_lines(struct names_copy *c, const struct names_lines *lines, struct line *out);

/* Whether a says less than b: fewer inlined lines, else less in the first line that differs so. */
bool names_lines_less(const struct names_lines *a, const struct names_lines *b);
bool names_lines_equal(const struct names_lines *a, const struct names_lines *b);

/* Behind all others. copy: into this chunk's tables. */
void names_chunk_append(struct names_chunk *c, uint64_t offset, const struct names_lines *lines,
			struct names_copy *copy);

/* Room for chunks becoming bytes, one after the other: to make zstd's tables costs more than to fill them. */
struct names_packer { /* zeroed, before the first */
	ZSTD_CCtx *zstd;
	struct buf raw, packed;
	struct names_pack_table { /* of a chunk that is made of lists */
		struct buf bytes;
		uint32_t n;
	} strings, functions, entries;
	uint64_t before; /* the last offset */
};
void names_packer_done(struct names_packer *p);
/* Into p->packed. False when that would be too long, and it is not one entry alone. */
bool names_chunk_encode(const struct names_chunk *c, struct names_packer *p);
/* The same of lists as they are, the offsets ascending, without a chunk between: begin, add each, end. from: copies into nothing else meanwhile. */
void names_pack_begin(struct names_packer *p, struct names_copy *from);
void names_pack_add(struct names_packer *p, uint64_t offset, const struct names_lines *lines,
		    struct names_copy *from);
bool names_pack_end(struct names_packer *p);
/* into: initialised and empty; only to be read afterwards: its strings have no index. -EBADMSG. */
int names_chunk_decode(const void *data, size_t len, struct names_chunk *into, struct err *err);

/* The entry with this offset, NULL when there is none. */
const struct names_entry *names_chunk_find(const struct names_chunk *c, uint64_t offset);

#endif
