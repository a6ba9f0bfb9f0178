/* collect/process/elf_names.h: names for the addresses of an ELF file, from any source on this
 * machine: the file, separate debug files below / and below the process's own root, debuginfod
 * servers, and the cache of earlier runs.
 *
 * A name_files is opened once per run; its elf_names one after another. */
#ifndef CRESSET_COLLECT_PROCESS_ELF_NAMES_H
#define CRESSET_COLLECT_PROCESS_ELF_NAMES_H

#include "base/err.h"
#include "symbol/debuginfod.h"
#include "symbol/elf/elf_debug.h"
#include "symbol/symbol.h"

#include <stdbool.h>
#include <stdint.h>

/* Where to look for names. */
#define NAME_FILES_CACHE "names" /* in the directory of all caches */

struct name_files_opts {
	const char *cache_dir;             /* NULL: no cache, and no server is used */
	struct debuginfod_opts debuginfod; /* except its cache_dir, which is below the above */
};

struct name_files {
	int names_dir, debug_dir;      /* -1 = none */
	int sections_dir;              /* of symbol/dwarf/section_cache.h; -1 = none */
	bool gave_sections;            /* it may have new files */
	struct debuginfod *debuginfod; /* NULL = none */
	bool kept_names;               /* something was written */
};

void name_files_open(struct name_files *f, const struct name_files_opts *opts);
struct name_failures {
	uint32_t n;       /* debug files not fetched, though no server said it has none */
	struct err first; /* of a server */
};
void name_files_failures(const struct name_files *f, struct name_failures *out);
/* Also evicts the least recently used cache files. */
void name_files_close(struct name_files *f);

enum { NAME_ROOTS = 2 };
struct elf_names {
	struct symbol_source *source; /* never NULL between open and close */
	struct name_files *files;
	int fd;
	struct debug_root roots[NAME_ROOTS];
	struct debug_wanted wanted;
	unsigned root, first_attempt; /* state of the search for a debug file */
	bool asked_now, asked;        /* debuginfod was queried: in this search; at all */
};

/* fd is the file, which stays the caller's; path is where process pid sees it; pid 0: only / is
 * searched. Returns 0, or -errno as symbol_open_elf when the cache has nothing and the file has no
 * names; do not close e then. */
int elf_names_open(struct elf_names *e, struct name_files *files, int fd, const char *path,
		   uint32_t pid);
void elf_names_close(struct elf_names *e);

/* Initializes e without a source, for elf_names_locate. Returns 0, or -ENOEXEC. */
int elf_names_init(struct elf_names *e, struct name_files *files, int fd, const char *path,
		   uint32_t pid);

/* debug_locate_fn; ctx is a struct elf_names. Searches below / first: a container cannot impose its
 * debug files on others. */
int elf_names_locate(void *ctx, const struct debug_request *req, unsigned attempt);

#endif
