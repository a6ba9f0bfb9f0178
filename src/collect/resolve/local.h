/* collect/resolve/local.h: names and stacks for recordings made by other programs, from the files
 * of this machine. */
#ifndef CRESSET_COLLECT_RESOLVE_LOCAL_H
#define CRESSET_COLLECT_RESOLVE_LOCAL_H

#include "base/hash.h"
#include "base/vec.h"
#include "bpf/space.h"
#include "collect/process/elf_names.h"
#include "format/common/format.h"
#include "format/common/user_stack.h"
#include "symbol/elf/elf_layout.h"
#include "unwind/table.h"

#include <stdint.h>

struct name_files_opts;
struct profile;

/* --- local_names.c ---------------------------------------------------------------------------- */

/* Names for the frames of a profile that another program recorded, from the files of this machine.
 *
 * A file is used only when it is the one that was running: its build id must match the recording.
 * If the recording has none, the file at the recorded path is trusted, and counted (unverified).
 * Files are looked for at that path, then in perf's own cache (below HOME/.debug); separate debug
 * files where distributions put them (symbol/symbol.h). Kernel frames use the running kernel's
 * symbols, or the ones that perf kept, with the same check of the build id. */
enum local_problem {
	LOCAL_UNVERIFIED, /* named, but the file may not be the same */
	LOCAL_MISSING,    /* no such file here */
	LOCAL_REPLACED,   /* another one, or written again, called "app (deleted)" */
	LOCAL_DIFFERS,    /* another build id */
	LOCAL_UNREADABLE, /* no permission, or kernel addresses are hidden */
	LOCAL_NO_SYMBOLS, /* no ELF file, or no symbols in it */
	LOCAL_PROBLEMS
};
extern const char *const local_problems[LOCAL_PROBLEMS]; /* in words, after "n mappings" */

enum { LOCAL_EXAMPLES = 3 };
struct local_report {
	struct {
		uint32_t n; /* mappings */
		uint32_t examples
			[LOCAL_EXAMPLES]; /* names of the first mappings: strings of the profile */
	} problems[LOCAL_PROBLEMS];
	struct name_failures not_fetched;
};

/* Names every frame of p that has a mapping but no name. home: where .debug may be; NULL: not
 * searched. */
void local_names(struct profile *p, const char *home, const struct name_files_opts *files,
		 struct local_report *report);

/* --- local_code.c ----------------------------------------------------------------------------- */

/* Names of code made at run time by processes of this machine, from the files /tmp/perf-PID.map
 * that JIT compilers leave (symbol/symbol.h).
 *
 * Anybody can write to /tmp: only a file of our own user or of root is trusted. At most
 * LOCAL_CODE_MAX_FILES are retained in memory; later processes get no names. */

enum { LOCAL_CODE_MAX_FILES = 256 };

struct local_code_file {
	struct symbol_source *names; /* NULL if there is no file */
	struct format_code_times times;
};
struct local_code { /* zeroed = empty */
	VEC(struct local_code_file) all;
	struct map by_pid;
	uint32_t files;
};

/* Returns the name at an address of a process, valid until local_code_done; NULL: unknown. code is
 * a struct local_code: fits struct format_here. */
const char *local_code_name(void *code, uint32_t pid, uint64_t addr);
/* Returns false without a file. Fits as well. */
bool local_code_times(void *code, uint32_t pid, struct format_code_times *out);
void local_code_done(struct local_code *code);

/* --- local_offsets.c -------------------------------------------------------------------------- */

/* File offsets for recordings that have addresses relative to the first segment of a file. Needs
 * the file that was running, as local_names does: its layout is not in the recording. */

/* limit: files with relative addresses; later ones' frames have no names */
enum { LOCAL_OFFSETS_MAX_FILES = 4096 };

struct local_offsets {                    /* zeroed = empty */
	const char *home;                 /* where perf's cache .debug may be; NULL: not searched */
	VEC(struct elf_layout *) layouts; /* NULL: no such file here */
	struct map by_file;               /* user_file.id → layouts */
	uint32_t files;
};
/* Returns false if the file is not here or has nothing there. offsets is a struct local_offsets:
 * fits struct format_here. */
bool local_offset(void *offsets, const struct user_file *file, uint64_t relative, uint64_t *offset);
void local_offsets_done(struct local_offsets *l);

/* --- local_stacks.c --------------------------------------------------------------------------- */

/* Walks the user stacks of a recording made by another program (format/common/user_stack.h) with
 * the unwind tables of the files of this machine.
 *
 * A wrong table leads to wrong frames without any sign, so a file must be the one that was running:
 * checked by its build id, or, if the recording has none, by its inode
 * (collect/process/local_file.h). A walk ends at code whose file is not available; the frames
 * before it are retained. The table of each file is retained; past LOCAL_STACKS_MAX_BYTES no more
 * are built. Memory is the recorded copy of the stack, and code from the files. */

/* limit: unwind tables for a perf.data; other code is not walked */
#define LOCAL_STACKS_MAX_BYTES (256ull << 20)
/* limit: frames of a stack of it */
enum { LOCAL_STACKS_MAX_FRAMES = 4096 }; /* 64 KiB, the largest sample, in frames of 16 bytes */

/* Why a stack was not walked, or not as far as its code goes. */
enum local_stacks_end {
	LOCAL_STACKS_WALKED, /* walked; its marker shows if it is truncated for another reason */
	LOCAL_STACKS_MACHINE,
	LOCAL_STACKS_REGISTERS,
	LOCAL_STACKS_MISSING,
	LOCAL_STACKS_DIFFERS,
	LOCAL_STACKS_UNVERIFIED,
	LOCAL_STACKS_UNREADABLE,
	LOCAL_STACKS_BUDGET,
	LOCAL_STACKS_ENDS
};
extern const char *const local_stacks_ends[LOCAL_STACKS_ENDS]; /* in words, after "n stacks" */

struct local_table {
	struct space_table kernel; /* what the walker sees */
	struct unwind_table table;
	enum local_stacks_end end; /* of walks that reach it */
};
struct local_stacks {     /* zeroed = empty */
	const char *home; /* where perf's cache .debug may be; NULL: not searched */
	VEC(struct local_table) tables;
	struct map by_file;
	uint64_t bytes;
	VEC(uint64_t) frames; /* of the last walk */
	struct {
		bool is_open;
		uint32_t file; /* user_file.id */
		int fd;
	} code; /* the file that code was last read from */
	struct {
		uint64_t n;
		char *example; /* path of a file that caused it; NULL: none */
	} ends[LOCAL_STACKS_ENDS];
};
void local_stacks_done(struct local_stacks *l);

/* stacks is a struct local_stacks: fits struct format_here. */
struct user_walk local_stacks_walk(void *stacks, const struct user_stack *s);

#endif
