/* collect/elf_names.h: names for the addresses of an ELF file, from wherever this machine has them: the file, separate debug
 * files below / and below the process's own root, debuginfod servers; and from what earlier runs have kept of all this.
 *
 * A name_files is opened once a run; its elf_names one after another. */
#ifndef CRESSET_COLLECT_ELF_NAMES_H
#define CRESSET_COLLECT_ELF_NAMES_H

#include "symbol/debuginfod.h"
#include "symbol/elf_debug.h"
#include "symbol/locate.h"
#include "symbol/symbol.h"

#include <stdbool.h>
#include <stdint.h>

struct name_files_opts {
	const char *cache_dir;       /* NULL: nothing is kept, and no server asked */
	const char *debuginfod_urls; /* NULL or "": no server is asked */
	/* As in struct debuginfod_opts; 0: the defaults. */
	uint32_t debuginfod_stall_s, debuginfod_total_s;
	uint64_t debuginfod_max_bytes;
};

struct name_files {
	int names_dir, debug_dir;      /* -1 = none */
	struct debuginfod *debuginfod; /* NULL = none */
	bool kept_names;               /* something was written */
};

void name_files_open(struct name_files *f, const struct name_files_opts *opts);
struct name_failures {
	uint32_t n;       /* debug files that were not got though no server said that it has none */
	struct err first; /* of a server */
};
void name_files_failures(const struct name_files *f, struct name_failures *out);
/* Also lets go of what was not used for longest. */
void name_files_close(struct name_files *f);

enum { NAME_ROOTS = 2 };
struct elf_names {
	struct symbol_source *source; /* never NULL between open and close */
	struct name_files *files;
	int fd;
	struct debug_root roots[NAME_ROOTS];
	struct debug_wanted wanted;
	unsigned root, first_attempt; /* of the search for a debug file */
	bool asked_now, asked;        /* debuginfod: in this search; at all */
};

/* fd is the file, which stays the caller's; path is where the process pid sees it; pid 0: only / is looked at. 0, or -errno as
 * symbol_open_elf when nothing is kept and the file has no names; e is then to be forgotten. */
int elf_names_open(struct elf_names *e, struct name_files *files, int fd, const char *path,
		   uint32_t pid);
void elf_names_close(struct elf_names *e);

/* Without a source: for elf_names_locate. 0, or -ENOEXEC. */
int elf_names_init(struct elf_names *e, struct name_files *files, int fd, const char *path,
		   uint32_t pid);

/* debug_locate_fn; ctx is a struct elf_names. Debug files are looked for below / first: a container cannot foist its own on others. */
int elf_names_locate(void *ctx, const struct debug_request *req, unsigned attempt);

#endif
