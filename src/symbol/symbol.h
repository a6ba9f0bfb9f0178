/* symbol/symbol.h: converts addresses to names. Takes an open file and offsets, never a path or a
 * process: further files (separate debug files) are requested through one callback that returns an
 * open descriptor, so this can run in a sandbox.
 *
 * A symbol_source serves lookups for one object; each kind of object has a file: elf.c (with
 * .gnu_debugdata, separate debug files and DWARF), kallsyms.c, code_names.c (perf maps, jitdumps).
 * Names are returned demangled, together with the linkage name.
 *
 * Input is not trusted: sizes are checked, counts and memory have named limits in each file,
 * unreadable records are counted in `skipped`. Names may contain any byte but NUL: callers escape
 * them for output. Lookups fill caches: only one thread at a time may use a source. */
#ifndef CRESSET_SYMBOL_SYMBOL_H
#define CRESSET_SYMBOL_SYMBOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

struct symbol {
	const char *name;    /* demangled; valid until the source is closed */
	const char *linkage; /* as in the file; the same pointer as name if nothing was demangled */
	const char *module;  /* from kallsyms: kernel module, "bpf" …; else NULL */
	uint64_t start, size; /* in the source's address space; size > 0 */
};

/* One function at an address, with its place in the source code. Strings are valid until the next
 * call of symbol_lines. */
struct symbol_line {
	const char *name, *linkage; /* as in struct symbol */
	const char *file;           /* NULL: unknown */
	uint32_t line, start_line;  /* of the address and of the function; 0: unknown */
};

/* Free with vec_done. */
struct symbol_edges {
	uint64_t *v;
	size_t n, cap;
};

struct symbol_source;
struct symbol_source_ops {
	/* Finds the symbol that covers addr (each opener defines what an address is). Returns false
	 * if none exists. */
	bool (*lookup)(struct symbol_source *s, uint64_t addr, struct symbol *out);
	void (*close)(struct symbol_source *s);
	/* See symbol_lines. NULL for sources without lines. */
	uint32_t (*lines)(struct symbol_source *s, uint64_t addr, struct symbol_line *out,
			  uint32_t max);
	/* Appends every address at which the response of lookup may change, in no order, possibly
	 * repeated. NULL if the source does not support it. */
	void (*edges)(struct symbol_source *s, struct symbol_edges *out);
};
/* Embedded first in each kind's struct. */
struct symbol_source {
	const struct symbol_source_ops *ops;
	/* Origin of the names; if a source has several, that of the last result: ".gopclntab",
	 * "DWARF", ".symtab", "debug file", ".gnu_debugdata", ".dynsym", "kallsyms", "perf map",
	 * "jitdump". */
	const char *origin;
	uint64_t skipped;   /* records or symbols that could not be read */
	uint64_t functions; /* in the symbol tables, or Go's own, of an ELF file; else 0 */
};
static inline bool symbol_lookup(struct symbol_source *s, uint64_t addr, struct symbol *out)
{
	return s->ops->lookup(s, addr, out);
}
/* Writes the functions at addr, innermost first: each was inlined into the next one. Returns their
 * number, at most max (the outermost are truncated); 0 if none exists. */
static inline uint32_t symbol_lines(struct symbol_source *s, uint64_t addr, struct symbol_line *out,
				    uint32_t max)
{
	struct symbol sym;

	if (s->ops->lines)
		return s->ops->lines(s, addr, out, max);
	if (max == 0 || !symbol_lookup(s, addr, &sym))
		return 0;
	*out = (struct symbol_line){ .name = sym.name, .linkage = sym.linkage };
	return 1;
}
static inline void symbol_close(struct symbol_source *s)
{
	if (s)
		s->ops->close(s);
}

/* The kinds of further files that an object may need. */
enum debug_kind {
	DEBUG_SEPARATE, /* its separate debug file, by build id or debuglink */
	/* debug information shared with other files: .gnu_debugaltlink, by build id or name */
	DEBUG_SHARED,
	DEBUG_DWO,     /* split DWARF of one of its units, by name and dir */
	DEBUG_PACKAGE, /* split DWARF of all its units: its own name plus .dwp */
	/* not a file: the directory of symbol/dwarf/section_cache.h; -1: nothing is stored */
	DEBUG_SECTION_CACHE,
};
struct debug_request {
	enum debug_kind kind;
	const uint8_t *build_id;
	size_t build_id_len;   /* 0: none */
	const char *debuglink; /* file name of .gnu_debuglink or NULL */
	uint32_t debuglink_crc;
	const char *name; /* path as the compiler wrote it, or NULL */
	const char *dir;  /* directory of a relative name, or NULL */
};
/* Returns an open descriptor, which the caller then owns, or -1. Called again with attempt = 1, 2
 * … while the file does not fit (wrong build id or CRC, no symbols). debug_locate_in_root is the
 * default. */
typedef int debug_locate_fn(void *ctx, const struct debug_request *req, unsigned attempt);

/* Opens the ELF file at fd, which stays the caller's and must stay open until symbol_close: names
 * are read on demand. Addresses are file offsets. Names come from the first of these that has
 * functions: .symtab, the separate debug file's .symtab (locate may be NULL), .gnu_debugdata
 * together with .dynsym, .dynsym (through PT_DYNAMIC if section headers are stripped). PLT stubs
 * of x86-64 get the name "function@plt". The functions of a Go program come from its gopclntab
 * (gopclntab.h) if possible, with lines and inlined functions. symbol_lines reads the DWARF of the
 * file, else of its debug file, from the first call on, and then calls locate again: ctx must live
 * until symbol_close. Memory: 20 bytes per symbol, the names that were looked up, a string table
 * of up to 4 MiB after thousands of lookups, 256 KiB of a Go program's table, and see dwarf.h.
 * -ENOEXEC: not ELF or malformed; -ENODATA: no symbols. */
int symbol_open_elf(int fd, debug_locate_fn *locate, void *ctx, struct symbol_source **out,
		    struct err *err);

/* Opens text in the format of /proc/kallsyms. Addresses are kernel addresses. Absolute and data
 * symbols are left out; of several at one address the global one with the shortest name wins.
 * -EPERM if all addresses are zero (kptr_restrict), -ENODATA if no function exists. */
int symbol_open_kallsyms(int fd, struct symbol_source **out, struct err *err);

/* Opens a perf-PID.map ("START SIZE NAME", hex). Addresses are run-time addresses; a later entry
 * overrides earlier ones that it overlaps. -ENODATA: no line was usable. */
int symbol_open_perf_map(int fd, struct symbol_source **out, struct err *err);

/* Opens a jitdump (tools/perf/Documentation/jitdump-specification.txt of the kernel). Addresses are
 * run-time addresses. Code can be loaded over older code: lookup returns the code at time_ns of
 * symbol_jitdump_at (UINT64_MAX, the default: the last). Times are CLOCK_MONOTONIC; for a file
 * with times of a CPU counter, lookup always returns the last code. -EBADMSG: not a jitdump,
 * -ENOTSUP: another byte order or version, -ENODATA: no code in it. A truncated end is skipped. */
int symbol_open_jitdump(int fd, struct symbol_source **out, struct err *err);
void symbol_jitdump_at(struct symbol_source *s, uint64_t time_ns);

/* Demangles C++ (Itanium), Rust (v0 and legacy, hash dropped) and D names. Returns NULL if name is
 * not mangled, else a string to free. Time, memory and stack (1 MiB) are limited: names over
 * 64 KiB (C++: 4 KiB, D: 1 KiB), results over 64 KiB and names with too many back references are
 * not demangled. */
char *symbol_demangle(const char *name);

/* Reads the NT_GNU_BUILD_ID (not Go's own) of the ELF file at fd, through PT_NOTE, so also without
 * section headers. Returns its length (truncated to size), 0 if it lacks one or one that identifies
 * nothing (build_id_is_valid), -ENOEXEC if fd is no ELF file. */
int elf_build_id(int fd, uint8_t *id, size_t size);

/* Returns a hash of where an ELF file's segments are loaded and of its code (parts of it, if it is
 * large), which stripping does not change: files of one build id that differ in this are not of one
 * build. 0: unknown. */
uint64_t elf_fingerprint(int fd);
/* Returns a hash of the names in an ELF file's symbol table (parts of them, if they are many), or 0
 * without a table, as in a stripped file. */
uint64_t elf_names_fingerprint(int fd);

/* Reads another note by its name and type in the same way. */
int elf_note(int fd, const char *name, uint32_t type, void *desc, size_t size);

/* Reads the build id of this program from its memory. */
size_t elf_own_build_id(uint8_t *id, size_t size);

/* The default debug_locate_fn: searches where distributions put separate debug files, below one
 * root directory (that of a container, or /).
 *
 *     /usr/lib/debug/.build-id/ab/cdef….debug      by build id
 *     DIR/LINK                                     by debuglink; DIR: the binary's directory
 *     DIR/.debug/LINK
 *     /usr/lib/debug/DIR/LINK
 *
 *     NAME                                         the .gnu_debugaltlink (relative to DIR if it
 *     /usr/lib/debug/DIR/NAME                      is not absolute), after the build id
 *     COMPDIR/NAME                                 a .dwo, where the compiler put it;
 *     DIR/NAME                                     by its file name, next to the binary
 *     BINARY.dwp
 *
 * The names come from the watched program, so symbolic links and ".." are resolved as if root were
 * "/", and only regular files are opened. */
struct debug_root {
	int fd; /* the root directory; stays the caller's */
	/* path of the binary in that root; NULL: unknown, only the build id is used */
	const char *path;
};

/* A debug_locate_fn; ctx is a struct debug_root. Needs openat2 (Linux 5.6): finds nothing without
 * it. */
int debug_locate_in_root(void *ctx, const struct debug_request *req, unsigned attempt);

#endif
