/* store/codec/names_chunk.h: encodes the names of a range of addresses of a mapping: one row of
 * names.db.
 *
 *     n strings { len, bytes }             0 is "", not stored
 *     n functions { name, linkage, file, start_line }
 *     n entries { offset - previous offset, n lines { function, line, column } }
 *                                          ascending, innermost line first
 *
 * All varints, in one zstd frame. Offsets have 64 bits, as kernel addresses need them. */
#ifndef CRESSET_STORE_CODEC_NAMES_CHUNK_H
#define CRESSET_STORE_CODEC_NAMES_CHUNK_H

#include "base/buf.h"
#include "base/vec.h"
#include "profile/names.h"
#include "profile/strtab.h"

#include <zstd.h>

struct err;

enum {
	NAMES_CHUNK_ENTRIES = 512,        /* at most; a larger chunk is split in two */
	NAMES_CHUNK_MAX_BYTES = 64 << 20, /* decompressed */
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

/* Lines, and the tables they refer to. */
struct names_lines {
	const struct strtab *strings;
	const struct names *names;
	const struct line *lines;
	uint32_t n;
};
/* The lines of an entry. */
struct names_lines names_chunk_lines(const struct names_chunk *c, const struct names_entry *e);

/* Copies lines from one set of tables, which must not change in the meantime, to another. Each
 * function and string is looked up there once. */
struct names_copy {
	const struct strtab *from_strings;
	const struct names *from_names;
	struct strtab *strings;
	struct names *names;
	uint64_t *string, *function; /* by id in the source: turn << 32 | id in the target */
	bool alone;                  /* names_copy_alone */
	uint32_t turn; /* changes with the target tables; entries of an older turn are void */
};
void names_copy_init(struct names_copy *c, const struct strtab *strings, const struct names *names);
void names_copy_done(struct names_copy *c);
/* Sets the target tables. */
void names_copy_to(struct names_copy *c, struct strtab *strings, struct names *names);
/* Sets an empty chunk as the target, which gets nothing else and is only encoded afterwards. Its
 * strings have no index, and stay in the source's memory. */
void names_copy_alone(struct names_copy *c, struct names_chunk *into);
/* Fills out[lines->n]. lines: of the source tables. */
void names_copy_lines(struct names_copy *c, const struct names_lines *lines, struct line *out);

/* Returns whether a has less detail than b: fewer inlined lines, or less detail in the first line
 * that differs. */
bool names_lines_less(const struct names_lines *a, const struct names_lines *b);
bool names_lines_equal(const struct names_lines *a, const struct names_lines *b);

/* Appends an entry after all others. copy: its target is this chunk. */
void names_chunk_append(struct names_chunk *c, uint64_t offset, const struct names_lines *lines,
			struct names_copy *copy);

/* Memory for encoding chunks one after the other: creating zstd's tables costs more than using
 * them. */
struct names_packer { /* zeroed, before the first */
	ZSTD_CCtx *zstd;
	struct buf raw, packed;
	struct names_pack_table { /* of a chunk built by names_pack_add */
		struct buf bytes;
		uint32_t n;
	} strings, functions, entries;
	uint64_t before; /* the previous offset */
};
void names_packer_done(struct names_packer *p);
/* Encodes c into p->packed. Returns false if that would be too long and c has more than one
 * entry. */
bool names_chunk_encode(const struct names_chunk *c, struct names_packer *p);
/* The same for lists of lines, without building a chunk: start, add each in ascending order of
 * offset, end. from: must not be used for another target in the meantime. */
void names_pack_begin(struct names_packer *p, struct names_copy *from);
void names_pack_add(struct names_packer *p, uint64_t offset, const struct names_lines *lines,
		    struct names_copy *from);
bool names_pack_end(struct names_packer *p);
/* into: initialised and empty; read-only afterwards, since its strings have no index. -EBADMSG. */
int names_chunk_decode(const void *data, size_t len, struct names_chunk *into, struct err *err);

/* Returns the entry with this offset, or NULL. */
const struct names_entry *names_chunk_find(const struct names_chunk *c, uint64_t offset);

#endif
