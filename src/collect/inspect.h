/* collect/inspect.h: what can be known of a running process before it is recorded: each file whose code it has mapped, what its
 * names and its unwind table would come from, and code made at run time. For doctor. */
#ifndef CRESSET_COLLECT_INSPECT_H
#define CRESSET_COLLECT_INSPECT_H

#include "base/err.h"
#include "base/vec.h"
#include "bpf/event.h"
#include "bpf/trace.h"
#include "collect/elf_names.h"
#include "collect/inspect_runtime.h"
#include "collect/process_context.h"
#include "collect/remedy.h"
#include "profile/frame.h"

#include <stdbool.h>
#include <stdint.h>

struct inspected { /* a file */
	char *path;
	bool is_deleted;       /* replaced by another one, perhaps */
	uint64_t mapped_bytes; /* executable */
	int open_errno;        /* 0: could be opened */
	uint8_t build_id[BUILD_ID_MAX];
	uint8_t build_id_len;
	const char *names_from; /* as symbol_source.origin; NULL: no names */
	uint64_t functions;     /* that have a name */
	char *debug_file;       /* where the names come from when that is another file; NULL */
	bool is_go;
	const char *
		frames_from; /* section of call frame information; NULL: has none that can be read */
	uint64_t frame_rows;
	struct remedy remedy; /* for better names */
};

/* What it publishes of itself, for whoever looks from outside. */
struct inspected_context {
	bool is_there;
	int read_errno; /* 0: says could be read */
	struct process_context says;
	char *variable_in; /* the file with the variable of the threads' spans; NULL: none */
	int variable_errno; /* of that file: 0, or why spans cannot be read (collect/thread_context.h) */
	struct trace_recipe recipe;
};

struct inspection {
	char comm[EVENT_COMM_LEN];
	VEC(struct inspected) files; /* in order of address */
	uint64_t jit_bytes;          /* executable memory of no file */
	char perf_map[64];           /* where one would be */
	bool has_perf_map;
	bool is_32bit;
	struct inspected_context context;
	struct inspected_runtimes runtimes; /* interpreters that are known here */
};

enum { INSPECT_MAX_FILES = 4096 };

/* 0; -ESRCH: no such process; -EACCES: may not be looked at. Downloads what files allows. */
int inspect_process(uint32_t pid, struct name_files *files, const char *debuginfod_urls,
		    struct inspection *out, struct err *err);
void inspection_done(struct inspection *i);

#endif
