/* runtime/hotspot_parts.h: HotSpot 8 to 27: the interfaces between its files, and for runtimes.c.
 *
 *     libjvm's symbols → tables → offsets                      file, tables, layout
 *     code heaps → segment map → block → blob                  heap
 *     nmethod: pc → PcDesc → scope → (Method, bci) → sender …  nmethod, scopes
 *     Method → ConstMethod → ConstantPool → Symbol             method, lines
 *
 * Everything is found through the tables that every libjvm exports, also a stripped one. The
 * process runs on in the meantime: each function checks its data for consistency, and callers check
 * the frame's stamp again after all reads. */
#ifndef CRESSET_RUNTIME_HOTSPOT_PARTS_H
#define CRESSET_RUNTIME_HOTSPOT_PARTS_H

#include "base/hash.h"
#include "base/vec.h"
#include "bpf/hotspot.h"
#include "runtime/mapped_code.h"
#include "runtime/runtime.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf_file;
struct err;

extern const struct runtime_kind hotspot_runtime;

/* The walker's maps: layouts by index, processes by pid (bpf/hotspot.h). */
#define HOTSPOT_LAYOUTS   "hotspot_layouts"
#define HOTSPOT_PROCESSES "hotspot_processes"

/* --- hotspot_file.c --------------------------------------------------------------------------- */

/* Exported variables: the start of a table, the size of its entries, offsets in an entry. */
enum hotspot_symbol {
	HOTSPOT_STRUCTS,
	HOTSPOT_STRUCT_STRIDE,
	HOTSPOT_STRUCT_TYPE,
	HOTSPOT_STRUCT_FIELD,
	HOTSPOT_STRUCT_FIELD_TYPE,
	HOTSPOT_STRUCT_IS_STATIC,
	HOTSPOT_STRUCT_OFFSET,
	HOTSPOT_STRUCT_ADDRESS,
	HOTSPOT_TYPES,
	HOTSPOT_TYPE_STRIDE,
	HOTSPOT_TYPE_NAME,
	HOTSPOT_TYPE_SIZE,
	HOTSPOT_INTS,
	HOTSPOT_INT_STRIDE,
	HOTSPOT_INT_NAME,
	HOTSPOT_INT_VALUE,
	HOTSPOT_SYMBOLS
};

struct hotspot_file {
	uint64_t symbols[HOTSPOT_SYMBOLS]; /* the file's addresses */
	struct mapped_code code;
};

struct runtime_object { /* of this runtime */
	struct hotspot_file file;
};

/* As detect in runtime.h. */
int hotspot_file_read(const struct elf_file *f, struct hotspot_file *out, struct err *err);

/* --- hotspot_tables.c ------------------------------------------------------------------------- */

/* A libjvm in a process. */
struct hotspot_at {
	const struct hotspot_file *file;
	uint64_t bias; /* process's addresses - file's */
};

enum { HOTSPOT_MAX_WORD = 96 }; /* bytes of a name in a table; longer ones are truncated */

struct hotspot_entry { /* of gHotSpotVMStructs */
	char type[HOTSPOT_MAX_WORD], field[HOTSPOT_MAX_WORD];
	char field_type[HOTSPOT_MAX_WORD]; /* in C++; "": unknown */
	bool is_static;
	uint64_t offset;  /* unless static */
	uint64_t address; /* of the static variable, in the process */
};

/* Called for each entry, in the tables' order: structs, types, constants. */
struct hotspot_reader {
	void (*field)(void *ctx, const struct hotspot_entry *e);
	void (*type)(void *ctx, const char *type, uint64_t size);
	void (*constant)(void *ctx, const char *name, int32_t value);
	void *ctx;
};

/* Returns 0; -EAGAIN if the dynamic linker has not relocated them yet; -ENOTSUP if they are
 * malformed; or the error of reading. */
int hotspot_tables_read(const struct hotspot_at *at, const struct runtime_memory *memory,
			const struct hotspot_reader *r, struct err *err);

/* --- hotspot_layout.c ------------------------------------------------------------------------- */

enum {
	HOTSPOT_MAX_OFFSET = 4096, /* limit: bytes before a field in a structure of HotSpot */
	HOTSPOT_MAX_HEADER = 128,  /* limit: bytes of a HeapBlock, PcDesc, ConstMethod or pool */
};

/* Feature releases; newer ones than the newest known one are tried like it. */
enum { HOTSPOT_FIRST_VERSION = 8, HOTSPOT_NEWEST_VERSION = 27, HOTSPOT_MAX_VERSION = 99 };

struct hotspot_field {
	uint16_t at;
	uint8_t size; /* 1, 2, 4, 8; 0: the version has no such field */
	bool is_signed;
};

/* Fields that only some versions have are marked with them. */
struct hotspot_offsets {
	/* Addresses of static variables in the process; 0: missing in the version. */
	uint64_t jdk_version_at, vm_major_at, vm_release_at;
	uint64_t heap_at; /* 8 */
	uint64_t heaps_at, interpreter_at, n_threads_at;

	struct hotspot_field jdk_major, array_length, array_data;
	struct hotspot_field heap_memory, heap_segmap, heap_log2_segment;
	struct hotspot_field space_low_boundary, space_high_boundary;
	struct hotspot_field block_header, block_length, block_used;
	struct hotspot_field stubs_buffer, stubs_limit;

	struct hotspot_field blob_name, blob_size, blob_frame_size, blob_frame_complete;
	struct hotspot_field blob_code_begin, blob_code_end;     /* 9 to 22: addresses */
	struct hotspot_field blob_code_offset, blob_data_offset; /* 8, from 23 on */
	struct hotspot_field blob_relocation_size, blob_mutable_data, blob_mutable_size;

	struct hotspot_field nmethod_method, nmethod_compile_id, nmethod_state, nmethod_orig_pc;
	struct hotspot_field nmethod_deopt_begin;  /* 9 to 22: an address */
	struct hotspot_field nmethod_deopt_offset; /* 8, from 23 on */
	struct hotspot_field nmethod_metadata, nmethod_pcs;
	struct hotspot_field nmethod_scopes_begin;  /* 9 to 22: an address */
	struct hotspot_field nmethod_scopes_offset; /* 8, from 23 on */
	struct hotspot_field nmethod_dependencies;  /* up to 22: end of the PcDescs */
	struct hotspot_field nmethod_immutable_data, nmethod_immutable_size; /* from 23 on */
	struct hotspot_field pc_offset, pc_scope;

	struct hotspot_field method_const;
	struct hotspot_field const_pool, const_code_size, const_size, const_name, const_signature,
		const_flags;
	struct hotspot_field pool_tags, pool_length, pool_holder;
	struct hotspot_field pool_source_file;  /* from 16 on */
	struct hotspot_field class_source_file; /* up to 15 */
	struct hotspot_field tags_data, class_name, symbol_body;
	struct hotspot_field symbol_length;
	struct hotspot_field symbol_length_high; /* 12 to 14: in the upper half of an int */

	/* Sizes of structures, in bytes; entry: ContinuationEntry, 0: unknown. */
	uint16_t block_bytes, nmethod_bytes, pc_bytes, const_bytes, pool_bytes, entry_bytes;
	int32_t has_lines; /* the flag of a ConstMethod with a line number table */
};

/* Offsets are read again for each process, in about 300 reads, and not shared between processes of
 * the same file: the tables are in memory that a process can write.
 *
 * Returns 0; -ENOTSUP if the tables lack a field that is needed, or are inconsistent; or as
 * hotspot_tables_read. */
int hotspot_offsets_read(const struct hotspot_at *at, const struct runtime_memory *memory,
			 struct hotspot_offsets *out, struct err *err);

/* Sets *version to the feature release, 8 … 27. Returns -EAGAIN if the VM does not know it yet; or
 * -ENOTSUP. */
int hotspot_version_read(const struct hotspot_offsets *o, const struct runtime_memory *memory,
			 uint16_t *version);

/* The walker's layout; false if a value has no place in it. */
bool hotspot_layout_of(const struct hotspot_offsets *o, uint16_t version,
		       struct hotspot_layout *out);

/* The value of a field. All its bytes must be in the structure as read. */
uint64_t hotspot_get(const uint8_t *structure, struct hotspot_field f);
/* The same in the process. Returns 0 or the error of reading. */
int hotspot_read(const struct runtime_memory *memory, uint64_t addr, struct hotspot_field f,
		 uint64_t *out);

/* --- hotspot_heap.c --------------------------------------------------------------------------- */

/* Code heaps: memory for code, in segments. The segment map has a byte for each: 255: free, 0: a
 * block starts here, else the number of segments back to such a byte, or nearer to it. */

/* Fills ranges and the interpreter of *out. Returns 0, -EAGAIN if the VM has not made them yet, or
 * -ENOTSUP if they are inconsistent. */
int hotspot_heaps_read(const struct hotspot_offsets *o, const struct runtime_memory *memory,
		       struct hotspot_process *out, struct err *err);

/* Finds the blob at the address. Returns 0, -ENOENT if it is in no block, or the error of
 * reading. */
int hotspot_blob_find(const struct hotspot_offsets *o, const struct hotspot_process *p,
		      const struct runtime_memory *memory, uint64_t addr, uint64_t *blob);

struct hotspot_blob {
	uint64_t addr;
	uint64_t name;                     /* const char * */
	uint64_t code;                     /* start of its code */
	uint32_t size;                     /* bytes of all of it */
	uint8_t bytes[HOTSPOT_BLOB_BYTES]; /* its start: nmethod_bytes, zeros if it has fewer */
};

/* Reads the blob at addr. Returns 0; -ESTALE if its block is free; -EBADMSG if it is malformed; or
 * the error of reading. */
int hotspot_blob_read(const struct hotspot_offsets *o, const struct runtime_memory *memory,
		      uint64_t addr, struct hotspot_blob *out);

/* limit: blocks of a process's code heaps that doctor looks at */
enum { HOTSPOT_MAX_LOOKED = 1 << 16 };

/* Sets blobs[] to the blobs of blocks that are in use, at most max. Returns their number. */
size_t hotspot_blobs_list(const struct hotspot_offsets *o, const struct hotspot_process *p,
			  const struct runtime_memory *memory, uint64_t *blobs, size_t max);

/* limit: bytes of a name of HotSpot's own code, with its end */
enum { HOTSPOT_MAX_BLOB_NAME = 128 };

/* Reads the text at name; a longer one is truncated. */
int hotspot_blob_name(const struct runtime_memory *memory, uint64_t name,
		      char text[HOTSPOT_MAX_BLOB_NAME]);

/* --- hotspot_nmethod.c ------------------------------------------------------------------------ */

/* A compiled method, or a native wrapper, which has no PcDescs. */
struct hotspot_nmethod { /* without padding */
	uint64_t name;   /* of the blob, const char * */
	uint64_t method; /* that was compiled */
	/* Addresses, and numbers of entries or bytes. */
	uint64_t pcs, scopes, metadata;
	uint32_t n_pcs, scopes_bytes, n_metadata;
	uint32_t compile_id;
};

/* limit: bytes of a compiled method's PcDescs, of its scopes, of its Methods */
enum { HOTSPOT_MAX_NMETHOD = 1 << 24 };

/* Reads the nmethod at addr if it is alive and has the compile id. The caller checks the name.
 * Returns 0; -ESTALE if there is another or none; -EBADMSG if it is malformed; or the error of
 * reading. */
int hotspot_nmethod_read(const struct hotspot_offsets *o, uint16_t version,
			 const struct runtime_memory *memory, uint64_t addr, uint32_t compile_id,
			 struct hotspot_nmethod *out);
bool hotspot_is_nmethod(const struct runtime_memory *memory, uint64_t name);

/* --- hotspot_copies.c ------------------------------------------------------------------------- */

/* A copy of an nmethod's PcDescs, scopes and metadata, taken while it was alive. A compile id is
 * never given twice, so a copy stays true after the nmethod is freed, and a frame in it takes no
 * more reads of the process: on a busy machine each read may take milliseconds. */
struct hotspot_copy;

/* limit: bytes of these tables of one compiled method; larger ones are read for each frame */
enum { HOTSPOT_MAX_COPY = 64 << 10 };
/* limit: bytes of copies per process; then all are dropped */
enum { HOTSPOT_MAX_COPIES_BYTES = 1 << 20 };
/* limit: bytes of copies of all JVMs; then the least recently used JVM loses its copies */
enum { HOTSPOT_MAX_POOL_BYTES = 4 << 20 };

/* Returns 0 and sets *out, to be freed with free; -E2BIG; or the error of reading. The caller
 * checks afterwards that the nmethod is still the same. */
int hotspot_copy_read(uint64_t addr, const struct hotspot_nmethod *n, uint16_t pc_bytes,
		      const struct runtime_memory *memory, struct hotspot_copy **out);
/* Reads only the copied tables; -EBADMSG elsewhere. */
struct runtime_memory hotspot_copy_memory(struct hotspot_copy *c);
const struct hotspot_nmethod *hotspot_copy_nmethod(const struct hotspot_copy *c);

/* The processes that have copies. Tables are read again when a frame needs a dropped copy. */
struct hotspot_pool {                           /* zeroed = empty */
	struct hotspot_copies *newest, *oldest; /* by last use */
	size_t bytes;
};

/* Copies of a process. Zeroed, with a pool = empty. Does not move while it has any. */
struct hotspot_copies {
	struct hotspot_pool *pool;
	struct hotspot_copies *newer, *older;
	VEC(struct hotspot_copy *) v;
	struct map by_key; /* address and compile id */
	size_t bytes;
};
void hotspot_copies_done(struct hotspot_copies *s); /* may be filled again */
struct hotspot_copy *hotspot_copies_find(struct hotspot_copies *s, uint64_t addr,
					 uint32_t compile_id); /* NULL: none */
/* Takes ownership. Drops others first if there are too many: c is the newest of them. */
void hotspot_copies_add(struct hotspot_copies *s, struct hotspot_copy *c);

/* --- hotspot_scopes.c ------------------------------------------------------------------------- */

/* Each PcDesc gives the scope at one pc of the code; a scope is three numbers in scopes data:
 *
 *     sender     place of the scope that this one was inlined into; 0: none
 *     method     index in the metadata, from 1 on
 *     bci        + 1
 *

 * A number is UNSIGNED5, of at most five bytes: one below 192 is the last; each next one counts 64
 * times as much. From 20 on no byte is 0: the value of each is one less. */

/* Reads a number. The cursor fails at the end of the data, and at a 0 from 20 on. */
struct cur;
uint32_t hotspot_unsigned5(struct cur *c, uint16_t version);

struct hotspot_scope {
	uint64_t method;
	int32_t bci; /* -1: none */
};

/* limit: scopes of inlined Java methods in each other */
enum { HOTSPOT_MAX_SCOPES = 256 };

/* Sets out[] to the scopes at an offset in the code, innermost first, and *n to their number. For a
 * return address, the PcDesc is the one at exactly that offset. A leaf has the nearest one above:
 * the code between two of them belongs to the second more often than to the first. A return address
 * may have no PcDesc, after a call of the runtime that needs no scopes: it is treated like a leaf.
 *
 * If there are more than RUNTIME_MAX_INLINED, the innermost are left out. An nmethod without a
 * PcDesc there has its own method, without a bci. Returns 0, -EBADMSG if the data are malformed, or
 * the error of reading. */
int hotspot_scopes_read(const struct hotspot_offsets *o, uint16_t version,
			const struct runtime_memory *memory, const struct hotspot_nmethod *nmethod,
			uint32_t offset, bool is_leaf,
			struct hotspot_scope out[RUNTIME_MAX_INLINED], uint32_t *n);

/* --- hotspot_text.c --------------------------------------------------------------------------- */

/* limit: bytes of a Java class's or method's name, or signature; a longer one ends with "…" */
enum { HOTSPOT_MAX_SYMBOL = 1024 };

struct hotspot_symbol_text {
	uint32_t len;
	bool is_cut;                      /* the symbol is longer */
	uint8_t text[HOTSPOT_MAX_SYMBOL]; /* modified UTF-8 */
};

/* Appends text as UTF-8: in the modified form of class files NUL has two bytes, and characters
 * beyond U+FFFF are two surrogates of three bytes each. Other bytes become U+FFFD. */
struct buf;
void hotspot_text_add(struct buf *out, const struct hotspot_symbol_text *t);

/* Appends the name that a Java programmer knows:
 *
 *     java.util.HashMap.putVal(int,Object,Object,boolean,boolean)
 *     Main$$Lambda.run()
 *
 * Types of parameters have no packages, as in Java Mission Control; the type of the result is left
 * out. The JVM adds an address or a number, other in each run, to names of hidden classes: it is
 * removed. Returns false if the signature is malformed. */
bool hotspot_method_name(struct buf *out, const struct hotspot_symbol_text *class_name,
			 const struct hotspot_symbol_text *method,
			 const struct hotspot_symbol_text *signature);

/* --- hotspot_method.c ------------------------------------------------------------------------- */

struct hotspot_method {
	char *name, *file; /* UTF-8; file: as the class file has it, without a directory; or NULL */
	uint32_t first_line; /* of its first bytecode; 0: unknown */
	uint16_t code_size;  /* bytes of bytecode; 0: native or abstract */
	uint8_t *lines;      /* compressed; NULL: none */
	uint32_t lines_size;
};

/* The symbols that distinguish a method from all others, also from a later one in the same
 * memory. */
struct hotspot_method_head {
	uint64_t addr, const_method, pool, holder;
	uint32_t const_bytes; /* of the ConstMethod and all that follows it */
	uint16_t code_size;
	bool has_lines;
	struct hotspot_symbol_text class_name, method, signature;
};

/* stamp: the lower half of its ConstMethod's address; NULL: any. Returns 0; -ESTALE if it has
 * another one; -EBADMSG if it is not a Method; or the error of reading. */
int hotspot_method_head_read(const struct hotspot_offsets *o, const struct runtime_memory *memory,
			     uint64_t addr, const uint32_t *stamp, struct hotspot_method_head *out);
uint64_t hotspot_method_hash(const struct hotspot_method_head *head);

/* Reads the rest, to be released by hotspot_method_done. */
int hotspot_method_read(const struct hotspot_offsets *o, uint16_t version,
			const struct runtime_memory *memory, const struct hotspot_method_head *head,
			struct hotspot_method *out);
void hotspot_method_done(struct hotspot_method *m); /* a zeroed one is fine */
size_t hotspot_method_size(const struct hotspot_method *m);

/* --- hotspot_lines.c -------------------------------------------------------------------------- */

/* The compressed line number table after the bytecode of a method: pairs of differences
 *
 *     0            end
 *     255          bci and line as signed UNSIGNED5 (lowest bit: the sign)
 *     other        bci:5 line:3 */

/* limit: bytes of a Java method's line numbers; the rest is not read */
enum { HOTSPOT_MAX_LINES = 1 << 17 };

/* Finds the line of a bci by its pair, else by the nearest pair below; for -1 by the first pair.
 * Returns 0 if no pair fits. */
uint32_t hotspot_line(uint16_t version, const uint8_t *table, size_t size, int32_t bci);
/* Bytes of the table up to its end, at most size. */
size_t hotspot_lines_size(uint16_t version, const uint8_t *table, size_t size);

#endif
