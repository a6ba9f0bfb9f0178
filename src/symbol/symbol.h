/* symbol/symbol.h: addresses → names. Takes an open file and offsets, never a path and never a process: what else is needed
 * (separate debug files) is asked for through one callback that returns an open descriptor, so this can run in a sandbox.
 *
 * A symbol_source answers lookups for one object; each kind of object is one file here: elf.c (with .gnu_debugdata, separate
 * debug files and DWARF), kallsyms.c, perf_map.c, jitdump.c. Names come out demangled, with the linkage name beside them.
 *
 * Everything read is hostile: sizes are checked, counts and memory have named limits in each file, what cannot be read is
 * counted in `skipped`. Names may hold any byte but NUL: whoever prints them escapes them. Lookups fill caches: one thread at
 * a time per source. */
#ifndef CRESSET_SYMBOL_SYMBOL_H
#define CRESSET_SYMBOL_SYMBOL_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct symbol {
	const char *name; /* demangled; valid until the source is closed */
	const char
		*linkage; /* as in the file; the same pointer as name when nothing was demangled */
	const char *module;   /* of kallsyms: kernel module, "bpf" …; else NULL */
	uint64_t start, size; /* in the source's address space; size > 0 */
};

/* One function that is at an address, with its place in the source. Strings are valid until the next call of symbol_lines. */
struct symbol_line {
	const char *name, *linkage; /* as in struct symbol */
	const char *file;           /* NULL: not known */
	uint32_t line, start_line;  /* of the address and of the function; 0: not known */
};

/* To be done with vec_done. */
struct symbol_edges {
	uint64_t *v;
	size_t n, cap;
};

struct symbol_source;
struct symbol_source_ops {
	/* The symbol that covers addr (see each opener for what an address is). False when there is none. */
	bool (*lookup)(struct symbol_source *s, uint64_t addr, struct symbol *out);
	void (*close)(struct symbol_source *s);
	/* See symbol_lines. NULL: of sources that know no lines. */
	uint32_t (*lines)(struct symbol_source *s, uint64_t addr, struct symbol_line *out,
			  uint32_t max);
	/* Every address at which the answer of lookup may change, in no order, some more than once. NULL: of sources that do not tell. */
	void (*edges)(struct symbol_source *s, struct symbol_edges *out);
};
/* Embedded first in each kind's struct. */
struct symbol_source {
	const struct symbol_source_ops *ops;
	/* What the names come from, of a source that has several the last answer's: ".gopclntab", "DWARF", ".symtab", "debug file",
	 * ".gnu_debugdata", ".dynsym", "kallsyms", "perf map", "jitdump". */
	const char *origin;
	uint64_t skipped;   /* records or symbols that could not be read */
	uint64_t functions; /* of an ELF file: that its symbol tables have; else 0 */
};
static inline bool symbol_lookup(struct symbol_source *s, uint64_t addr, struct symbol *out)
{
	return s->ops->lookup(s, addr, out);
}
/* The functions at addr, innermost first: each was inlined into the one behind it. Their number, at most max (the outermost
 * are cut); 0 when there is none. */
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

/* What to look for when an object needs a further file. */
enum debug_kind {
	DEBUG_SEPARATE, /* its separate debug file, by build id or debuglink */
	DEBUG_SHARED, /* debug information it shares with others: .gnu_debugaltlink, by build id or name */
	DEBUG_DWO,     /* split DWARF of one of its units, by name and dir */
	DEBUG_PACKAGE, /* split DWARF of all its units: what it is called with .dwp behind */
};
struct debug_request {
	enum debug_kind kind;
	const uint8_t *build_id;
	size_t build_id_len;   /* 0: has none */
	const char *debuglink; /* file name of .gnu_debuglink or NULL */
	uint32_t debuglink_crc;
	const char *name; /* path as the compiler wrote it, or NULL */
	const char *dir;  /* what a relative name begins at, or NULL */
};
/* Returns an open descriptor, which the caller owns from then on, or -1. Asked again with attempt = 1, 2 … while the file it
 * gave does not fit (wrong build id or CRC, no symbols). locate.h has the ordinary one. */
typedef int debug_locate_fn(void *ctx, const struct debug_request *req, unsigned attempt);

/* ELF file at fd, which stays the caller's and must stay open until symbol_close: names are read when they are asked for.
 * Addresses are file offsets. Names come from the first of these that has functions: .symtab, the separate debug file's .symtab
 * (locate may be NULL), .gnu_debugdata together with .dynsym, .dynsym (through PT_DYNAMIC where section headers are stripped);
 * PLT stubs of x86-64 are called "function@plt". The functions of a Go program come from its gopclntab (gopclntab.h) where that
 * has them, with lines and inlined functions. symbol_lines reads the DWARF of the file, else of its debug file, from the first
 * call on, and then asks locate again: ctx must stay until symbol_close. Memory: 20 bytes a symbol, the names that were looked
 * up, a string table of up to 4 MiB once thousands were, 256 KiB of a Go program's table, and see dwarf.h.
 * -ENOEXEC: not ELF or malformed; -ENODATA: no symbols. */
int symbol_open_elf(int fd, debug_locate_fn *locate, void *ctx, struct symbol_source **out,
		    struct err *err);

/* Text in the form of /proc/kallsyms. Addresses are kernel addresses. Absolute and data symbols are left out; of several at one
 * address the global one with the shortest name wins. -EPERM when all addresses are zero (kptr_restrict), -ENODATA when there
 * is no function. */
int symbol_open_kallsyms(int fd, struct symbol_source **out, struct err *err);

/* perf-PID.map text ("START SIZE NAME", hex). Addresses are run-time addresses; a later entry wins over what it overlaps.
 * -ENODATA: no line was usable. */
int symbol_open_perf_map(int fd, struct symbol_source **out, struct err *err);

/* jitdump (tools/perf/Documentation/jitdump-specification.txt of the kernel). Addresses are run-time addresses; code can be
 * loaded over older code: lookup gives what was valid at time_ns of symbol_jitdump_at (UINT64_MAX, and the default: the last).
 * Times are those of CLOCK_MONOTONIC; a file with times of a CPU counter always answers with the last. -EBADMSG: not a
 * jitdump, -ENOTSUP: of another byte order or version, -ENODATA: no code in it. A cut end is skipped. */
int symbol_open_jitdump(int fd, struct symbol_source **out, struct err *err);
void symbol_jitdump_at(struct symbol_source *s, uint64_t time_ns);

/* C++ (Itanium), Rust (v0 and legacy, hash dropped) and D names as written in source. Returns NULL when it is not mangled, else
 * a string to free. Bounded in time, memory and stack (1 MiB): names over 64 KiB (C++: 4 KiB, D: 1 KiB), results over 64 KiB and
 * names that refer back to themselves beyond reason are left as they are. */
char *symbol_demangle(const char *name);

/* The NT_GNU_BUILD_ID (not Go's own) of the ELF file at fd, through PT_NOTE, so without section headers too.
 * Returns its length (a longer one is cut to size), 0 when it has none, -ENOEXEC when fd is no ELF file. */
int elf_build_id(int fd, uint8_t *id, size_t size);

#endif
