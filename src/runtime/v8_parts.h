/* runtime/v8_parts.h: V8 10.2 to 14.6 (Node 18 to 26), and later versions that are laid out the
 * same way: the interfaces between its files, and for runtimes.c.
 *
 * V8 is found by v8::internal::Version; its layout comes from symbols that it has for debuggers,
 * over a table by major version. Frames are named once, as soon as they were seen. Compiled code is
 * found from the pc, never from a function: before its first instruction is its Code. Its position
 * table and deoptimization data give the inlined functions. Lines are counted in the script.
 *
 * Objects of V8 are at tagged addresses: 1 more than their own. A small integer is in the upper
 * half of its word. The garbage collector moves objects while they are read: data count only if
 * types, sizes and the stamp of the frame (bpf/v8.h) agree, also afterwards. */
#ifndef CRESSET_RUNTIME_V8_PARTS_H
#define CRESSET_RUNTIME_V8_PARTS_H

#include "base/cpu_budget.h"
#include "base/vec.h"
#include "bpf/v8.h"
#include "runtime/mapped_code.h"
#include "runtime/runtime.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct elf_file;
struct err;

extern const struct runtime_kind v8_runtime;

/* The walker's map: processes by pid (bpf/v8.h). */
#define V8_PROCESSES "v8_processes"

#define V8_VERSION(major, minor) ((major) << 8 | (minor))

/* --- v8_layout.c ------------------------------------------------------------------------------ */

enum { V8_MORE_FUNCTIONS = 16 };

/* Offsets in bytes from an object's address, indices in words, and numbers of types. They come from
 * the file's v8dbg_ symbols; the others from a table by version. */
struct v8_layout {
	uint16_t version;
	bool is_known; /* the table has the version; else its first frames decide */
	/* Optimized code has the positions of some instructions only; those between them may be
	 * of another inlined function. Frames have the code's own function, without a line. */
	bool has_sparse_positions;

	uint16_t map_type; /* Map → instance type, u16 */
	/* JSFunction and its subclasses; last: 0: V8_MORE_FUNCTIONS of them. */
	uint16_t type_function, last_function;
	uint16_t type_shared, type_script, type_scope, type_code, type_bytecode, type_interpreter;

	uint16_t function_shared;                         /* JSFunction */
	uint16_t shared_data, shared_name, shared_script; /* SharedFunctionInfo */
	uint16_t script_source, script_name;
	uint16_t scope_locals; /* ScopeInfo → number of context locals: an index, as the next */
	uint16_t scope_first;  /* its first variable part */
	uint16_t bytecode_positions,
		bytecode_header; /* BytecodeArray; header: bytes before its code */

	/* The code's Code object: at this distance before the code is its tagged address, or, in
	 * versions without code_start, the Code object itself. */
	uint16_t code_before;
	uint16_t code_start, code_size, code_flags;
	uint16_t code_positions, code_deopt;
	uint16_t kind_mask, kind_baseline, kind_maglev, kind_turbofan;
	uint16_t deopt_shared, deopt_literals, deopt_inlining; /* indices in its data */

	uint16_t string_length;
	uint16_t cons_first, cons_second;
	uint16_t sliced_parent, sliced_offset;
	uint16_t thin_actual;
	uint16_t external_resource, chars;
};

struct v8_file {
	struct v8_layout layout;
	uint32_t build, patch;
	uint64_t blob, blob_bytes; /* builtins: file offset and size; 0: the file does not say */
	struct mapped_code code;
};

/* As detect in runtime.h. */
int v8_file_read(const struct elf_file *f, struct v8_file *out, struct err *err);

/* --- v8_object.c ------------------------------------------------------------------------------ */

/* How objects are read: layout and memory. */
struct v8_reader {
	const struct v8_layout *layout;
	const struct runtime_memory *memory;
};

enum { V8_ARRAY_HEADER = 16 }; /* map and length of an array, before its elements */

static inline bool v8_is_object(uint64_t tagged)
{
	return (tagged & 3) == 1 && tagged >> 47 == 0 && tagged > 4096;
}

/* Returns 0, or -errno. Field of an object at a tagged address. */
int v8_field(const struct v8_reader *r, uint64_t tagged, uint32_t offset, uint64_t *out);
int v8_field32(const struct v8_reader *r, uint64_t tagged, uint32_t offset, uint32_t *out);
/* The type in its map; -EBADMSG if it is not an object. */
int v8_type(const struct v8_reader *r, uint64_t tagged, uint16_t *out);
/* Whether it is an object of that type. */
bool v8_is(const struct v8_reader *r, uint64_t tagged, uint16_t type);
/* The number of elements of an array; -EBADMSG without one, or if it is above max. */
int v8_array_length(const struct v8_reader *r, uint64_t tagged, uint32_t max, uint32_t *out);

/* --- v8_text.c -------------------------------------------------------------------------------- */

/* A string in memory: flat pieces, of strings that are put together from others. */
enum { V8_MAX_PIECES = 256, V8_MAX_NAME = 1024, V8_MAX_SOURCE = 16 << 20 };

struct v8_piece {
	uint64_t at;
	uint32_t n;   /* characters */
	bool is_wide; /* of two bytes */
};
struct v8_text {
	uint32_t n, n_characters;
	struct v8_piece pieces[V8_MAX_PIECES];
};

/* max: characters. Returns 0; -EBADMSG if it is not a string or in a circle; -E2BIG. */
int v8_text_find(const struct v8_reader *r, uint64_t tagged, uint32_t max, struct v8_text *out);
/* Appends it as UTF-8. */
int v8_text_read(const struct v8_reader *r, uint64_t tagged, uint32_t max, struct buf *out);

/* --- v8_function.c ---------------------------------------------------------------------------- */

enum { V8_NO_POSITION = -1 };

struct v8_function {
	char *name;        /* UTF-8, empty: anonymous */
	uint64_t script;   /* tagged; 0: none, a builtin */
	uint64_t bytecode; /* tagged; 0: none */
	uint64_t data;     /* what the function runs: bytecode, baseline code, …; tagged */
	int32_t start;     /* position in the script, V8_NO_POSITION */
	uint64_t shared;   /* tagged */
	uint32_t stamp;    /* all of it */
};

/* shared: tagged. mask: the bits of the stamp that are known. Returns 0, -ESTALE if another
 * function is there, -EBADMSG if none, or the error of reading. To be released by
 * v8_function_done. */
int v8_function_read(const struct v8_reader *r, uint64_t shared, uint32_t stamp, uint32_t mask,
		     struct v8_function *out);
void v8_function_done(struct v8_function *f);
/* Returns 0 if the function and its script are still there, so that all that was read of them is
 * right; -ESTALE if not, or the error of reading. */
int v8_function_check(const struct v8_reader *r, const struct v8_function *f);

/* --- v8_positions.c --------------------------------------------------------------------------- */

/* A position table: { code offset, position } as differences in variable-length numbers
 * (src/codegen/source-position-table.cc). */
enum { V8_MAX_POSITIONS = 1 << 20 }; /* bytes */

struct v8_position {
	int32_t offset;   /* in the script; V8_NO_POSITION */
	int32_t inlining; /* index of an inlined call; -1: none */
};
struct v8_position v8_position_of(uint64_t encoded);

/* Finds the last entry at or before the offset. Returns false without one. */
bool v8_positions_find(const uint8_t *table, size_t size, uint32_t offset, struct v8_position *out);
/* Reads a table (a tagged array of bytes), and finds that. */
int v8_positions_read(const struct v8_reader *r, uint64_t tagged, uint32_t offset,
		      struct v8_position *out);

/* --- v8_code.c -------------------------------------------------------------------------------- */

struct v8_code {
	uint64_t code; /* tagged */
	uint64_t start;
	uint32_t size;
	uint32_t kind;
};
/* Finds the code that has the pc: -ESTALE without one. */
int v8_code_find(const struct v8_reader *r, uint64_t pc, struct v8_code *out);
bool v8_code_is_optimized(const struct v8_layout *l, const struct v8_code *c);

/* Functions at a pc of optimized code, innermost first; the last is the code's own. */
struct v8_site {
	uint64_t shared; /* tagged */
	int32_t offset;  /* position in its script, V8_NO_POSITION */
};
int v8_code_sites(const struct v8_reader *r, const struct v8_code *c, uint64_t pc,
		  struct v8_site *out, uint32_t max, uint32_t *n);

/* --- v8_lines.c ------------------------------------------------------------------------------- */

/* Where the lines of scripts end, for the last scripts of a process. */
struct v8_script_lines {
	uint64_t script, source; /* tagged */
	uint32_t n_characters;
	bool is_unreadable;
	VEC(uint32_t) ends; /* positions of the ends of lines */
};
struct v8_lines { /* zeroed = empty */
	VEC(struct v8_script_lines) all;
	size_t n_ends;
	size_t *n_all;               /* of all processes; NULL: not counted */
	struct allowance characters; /* that may be read, as its ns */
};
void v8_lines_done(struct v8_lines *l);

/* Finds line and column, from 1, of a position. Returns false if it is not in the source, or the
 * source cannot be read or is longer than V8_MAX_SOURCE bytes. */
bool v8_line_of(struct v8_lines *l, const struct v8_reader *r, uint64_t script, int32_t position,
		uint32_t *line, uint32_t *column);

#endif
