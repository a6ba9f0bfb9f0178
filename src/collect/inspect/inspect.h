/* collect/inspect/inspect.h: properties of a running process known before it is recorded: each
 * file whose code it has mapped, the sources of its names and of its unwind table, and code made at
 * run time; and what works on this machine (checks.c). For doctor. */
#ifndef CRESSET_COLLECT_INSPECT_INSPECT_H
#define CRESSET_COLLECT_INSPECT_INSPECT_H

#include "attach/attach.h"
#include "base/vec.h"
#include "bpf/event.h"
#include "bpf/trace.h"
#include "collect/inspect/remedy.h"
#include "collect/kernel/check.h"
#include "collect/kernel/sampler_opts.h"
#include "collect/proc/process_context.h"
#include "profile/frame.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct name_files;

struct inspected_runtime {
	const char *name, *language;
	char *said;   /* version and its source; or why frames cannot be read */
	bool is_read; /* its frames are in stacks */
	bool is_code; /* they are of code made at run time: only the walk of a stack finds them */
	uint64_t threads, frames;
	uint64_t methods; /* that are compiled, if is_code */
	/* Of frames or methods. left_out: not shown by the interpreter itself; gone: no longer in
	 * the process. */
	uint64_t named, left_out, gone;
};

struct inspected_runtimes {
	VEC(struct inspected_runtime) all;
};

struct inspected { /* a file */
	char *path;
	bool is_deleted;       /* perhaps replaced by another one */
	uint64_t mapped_bytes; /* executable */
	int open_errno;        /* 0: it could be opened */
	uint8_t build_id[BUILD_ID_MAX];
	uint8_t build_id_len;
	const char *names_from; /* as symbol_source.origin; NULL: no names */
	uint64_t functions;     /* functions with a name */
	char *debug_file;       /* source of the names if another file; NULL: none */
	bool is_go;
	/* section with call frame information; NULL: none that can be read */
	const char *frames_from;
	uint64_t frame_rows;
	struct remedy remedy; /* how to get better names */
};

/* The process context that it publishes. */
struct inspected_context {
	bool is_there;
	int read_errno; /* 0: states could be read */
	struct process_context says;
	char *variable_in; /* file with the variable of the threads' spans; NULL: none */
	/* for that file: 0, or why spans cannot be read (collect/process/thread_context.h) */
	int variable_errno;
	struct trace_recipe recipe;
};

struct inspection {
	char comm[EVENT_COMM_LEN];
	VEC(struct inspected) files; /* in order of address */
	uint64_t jit_bytes;          /* executable memory without a file */
	char perf_map[64];           /* path of a perf map */
	bool has_perf_map;
	bool is_32bit;
	struct inspected_context context;
	struct inspected_runtimes runtimes; /* known interpreters */
};

enum { INSPECT_MAX_FILES = 4096 }; /* limit: files of a process doctor examines */

/* Returns 0; -ESRCH: no such process; -EACCES: no permission. Downloads debug files if the options
 * of files allow it. */
int inspect_process(uint32_t pid, struct name_files *files, const char *debuginfod_urls,
		    struct inspection *out, struct err *err);
void inspection_done(struct inspection *i);

/* --- checks.c --------------------------------------------------------------------------------- */

/* Checks what works here, for doctor: one row per capability. */

enum { CHECKS_MAX = 32 };
/* Returns the number of rows. */
size_t collect_checks(const struct kernel_opts *kernel, struct check *out, size_t max);
/* Runs only that check, which costs next to nothing; does not set name. */
void collect_check_capabilities(struct check *out);

/* --- attach_view.c ---------------------------------------------------------------------------- */

/* The view of a process for attach/attach.h: its mappings and the files behind them. */
extern const struct gpu_attach_view attach_view;

/* Whether the process is one of Go with a heap profile (mem/go/go_heap.h): returns as go_heap_find;
 * -ENODATA also where its file cannot be opened. */
struct go_heap;
int inspect_go_heap(uint32_t pid, struct go_heap *out, struct err *err);
/* Whether it runs a HotSpot that samples allocations: returns as hotspot_sampler_find. */
int inspect_java_heap(uint32_t pid, struct err *err);

#endif
