/* runtime/runtime.h: interpreted languages: functions that are no code of the machine, and so have no address of their own.
 *
 * Each runtime is one row of runtimes[], and has three parts: a file here (found by the objects that a process has mapped, names for
 * frames), a header in bpf/ (a walker that puts its frames between the native ones) and a test program. The collector goes through the row
 * only:
 *
 *     detect(object)   once for each ELF file                      most are none
 *     attach(process)  with the objects it has mapped: what the walker needs goes into the walker's maps
 *     name(frame)      two words that the walker has put into a stack
 *     detach
 *
 * Memory of a process may be anything, and changes while it is read: work is bounded, what does not hold together is refused. */
#ifndef CRESSET_RUNTIME_RUNTIME_H
#define CRESSET_RUNTIME_RUNTIME_H

#include "base/buf.h"
#include "base/err.h"
#include "symbol/elf_file.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reads memory of the process: all of it and 0, or -errno. */
struct runtime_memory {
	int (*read)(void *ctx, uint64_t addr, void *out, size_t len);
	void *ctx;
};

/* The walker's maps, by their names in bpf/. 0, or -errno. */
struct runtime_maps {
	int (*put)(void *ctx, const char *map, uint32_t key, const void *value, size_t size);
	int (*drop)(void *ctx, const char *map, uint32_t key);
	void *ctx;
};

struct runtime;         /* of one collector */
struct runtime_object;  /* an ELF file that has the runtime in it */
struct runtime_process; /* a process that runs it */

/* The object as the process has it mapped: code at start is what the file has from pgoff on. */
struct runtime_place {
	const struct runtime_object *object;
	uint64_t start, pgoff;
};

/* Strings are valid until the next call for the process. */
struct runtime_frame {
	const char *name;    /* UTF-8; as qualified as the runtime knows it */
	const char *file;    /* NULL: not known */
	uint32_t line;       /* of the call, or what runs; 0: not known */
	uint32_t start_line; /* of the function */
};
enum runtime_named {
	RUNTIME_NAMED,
	RUNTIME_LEFT_OUT,   /* a frame that the runtime itself does not show */
	RUNTIME_GONE,       /* what it was is not there any more */
	RUNTIME_UNREADABLE, /* the process is not, or what is there is none of the runtime's */
};

struct runtime_counts {
	uint64_t frames[RUNTIME_UNREADABLE + 1]; /* by enum runtime_named */
};

struct runtime_kind {
	const char *name;     /* of the runtime: "CPython" */
	const char *language; /* of its frames: "python" */

	/* path is what the file is called, as some versions are told by that. 0 and *out, to be freed with object_free; -ENODATA: it is not in
	 * the file; -ENOTSUP: it is, of a version or build that cannot be walked, as err says. */
	int (*detect)(const struct elf_file *f, const char *path, struct runtime_object **out,
		      struct err *err);
	void (*object_free)(struct runtime_object *o); /* NULL is fine */

	struct runtime *(*open)(const struct runtime_maps *maps);
	void (*close)(struct runtime *r); /* after all detach; NULL is fine */

	/* Objects may go after it. pid is the walker's: in the first namespace. Memory is read until detach. 0 and *out; -EAGAIN: not begun yet,
	 * to be tried later; -ENOTSUP: err says why, trying again is of no use; or what failed. */
	int (*attach)(struct runtime *r, uint32_t pid, const struct runtime_place *places, size_t n,
		      const struct runtime_memory *memory, struct runtime_process **out,
		      struct err *err);
	void (*detach)(struct runtime_process *p); /* NULL is fine */

	/* words: as the walker put them. */
	enum runtime_named (*name_frame)(struct runtime_process *p, const uint64_t words[2],
					 struct runtime_frame *out);

	/* Where its threads are at this moment, for people: words of frames as the walker would put them, at most max; *threads: how many there are.
	 * They move meanwhile. */
	size_t (*look)(const struct runtime_process *p, uint64_t (*words)[2], size_t max,
		       size_t *threads);
	/* For people: the runtime, its version and by what both were found: one line for each runtime in the process. */
	void (*describe)(const struct runtime_process *p, struct buf *out);
	const struct runtime_counts *(*counts)(const struct runtime_process *p);
};

/* NULL behind the last. */
extern const struct runtime_kind *const runtimes[];

#endif
