/* runtime/runtime.h: language runtimes: their functions are not machine code of a file: they are
 * interpreted, or compiled into memory while the program runs.
 *
 * Each runtime is one row of runtimes[], and has three parts: a file here (finds it in the objects
 * that a process has mapped, and names frames), a header in bpf/ (a walker that puts its frames
 * between the native ones) and a test program. The collector uses only the row:
 *
 *     detect(object)   once for each ELF file                      most have no runtime
 *     attach(process)  with the objects it has mapped: writes the walker's maps
 *     name_frame       for two words that the walker has put into a stack (bpf/runtime_frame.h)
 *     detach
 *
 * A process may have several runtimes. The row's index in runtimes[] is the runtime's number in
 * the words of its frames.
 *
 * A process's memory is not trusted, and changes while it is read: work is bounded, and
 * inconsistent data are rejected. */
#ifndef CRESSET_RUNTIME_RUNTIME_H
#define CRESSET_RUNTIME_RUNTIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct elf_file;
struct err;
struct event_function;

/* Reads all of len bytes of the process's memory and returns 0, or -errno. */
struct runtime_memory {
	int (*read)(void *ctx, uint64_t addr, void *out, size_t len);
	void *ctx;
};

/* The walker's maps, by their names in bpf/. Both return 0 or -errno. */
struct runtime_maps {
	int (*put)(void *ctx, const char *map, uint32_t key, const void *value, size_t size);
	int (*drop)(void *ctx, const char *map, uint32_t key);
	void *ctx;
};

struct runtime;         /* per collector */
struct runtime_object;  /* an ELF file that contains the runtime */
struct runtime_process; /* a process that runs it */

/* An object as the process has mapped it: code at start is mapped from pgoff of the file. Or
 * anonymous memory that may be a copy of code. */
struct runtime_place {
	const struct runtime_object *object; /* NULL: anonymous */
	uint64_t start, pgoff, end;
};

/* Strings are valid until the next call for the process. */
struct runtime_frame {
	const char *name;    /* UTF-8; as qualified as the runtime knows it */
	const char *file;    /* NULL: unknown */
	uint32_t line;       /* of the call, or of the current instruction; 0: unknown */
	uint32_t start_line; /* of the function */
};

/* What two words stand for: a function, and the functions that were inlined into it, innermost
 * first. Frames beyond the limit are left out, the innermost first. */
enum { RUNTIME_MAX_INLINED = 32 };
struct runtime_frames {
	uint32_t n;
	struct runtime_frame v[RUNTIME_MAX_INLINED];
};

enum runtime_named {
	RUNTIME_NAMED,
	/* The runtime's own code, named: a stub or an adapter. Shown only with the native frames of
	 * the runtime. */
	RUNTIME_OWN,
	RUNTIME_LEFT_OUT,   /* a frame that the runtime itself hides */
	RUNTIME_GONE,       /* the object no longer exists */
	RUNTIME_UNREADABLE, /* the process is unreadable, or the data are not the runtime's */
};

struct runtime_counts {
	uint64_t frames[RUNTIME_UNREADABLE + 1]; /* by enum runtime_named */
};

struct runtime_kind {
	const char *name;     /* of the runtime: "CPython" */
	const char *language; /* of its frames: "python" */
	/* A part of the names of files that may contain it: "python", "libjvm". */
	const char *file_name;
	/* The same code may be mapped more than once: every mapping is a place. */
	bool is_mapped_twice;
	/* Whether executable anonymous memory of this size may be a copy of the object's code: then
	 * it is a place, after those of objects. NULL: no copies. */
	bool (*is_copy_size)(const struct runtime_object *o, uint64_t bytes);

	/* path: the file's name, which determines some versions. Returns 0 and sets *out, to be
	 * freed with object_free; -ENODATA if the runtime is not in the file; -ENOTSUP if its
	 * version or build cannot be walked, with the reason in err. */
	int (*detect)(const struct elf_file *f, const char *path, struct runtime_object **out,
		      struct err *err);
	void (*object_free)(struct runtime_object *o); /* NULL is fine */

	struct runtime *(*open)(const struct runtime_maps *maps);
	void (*close)(struct runtime *r); /* after every detach; NULL is fine */

	/* The objects may be freed afterwards. pid is the walker's: in the initial namespace.
	 * Memory is read until detach. Returns 0 and sets *out; -EAGAIN if the runtime has not
	 * started yet, to be tried later; -ENOTSUP, with the reason in err, if trying again is
	 * useless; or another error. */
	int (*attach)(struct runtime *r, uint32_t pid, const struct runtime_place *places, size_t n,
		      const struct runtime_memory *memory, struct runtime_process **out,
		      struct err *err);
	void (*detach)(struct runtime_process *p); /* NULL is fine */

	/* Appends the name of a function that the walker has sent, and its file if it has one, as
	 * UTF-8. Its frames have the line as RUNTIME_OFFSET_OF of the second word. Returns false if
	 * it has no name. NULL: name_frame finds functions in the process. */
	bool (*name_function)(const struct event_function *f, struct buf *name, struct buf *file);

	/* NULL if there is name_function. words: as written by the walker. Fills out for
	 * RUNTIME_NAMED and RUNTIME_OWN. */
	enum runtime_named (*name_frame)(struct runtime_process *p, const uint64_t words[2],
					 struct runtime_frames *out);

	/* Only the walk of a stack finds its frames, as they are of code that it makes. */
	bool makes_code;
	/* For display: the current frames of its threads, as the words that the walker would write,
	 * at most max; *threads: their number. If it makes code: a frame in each compiled method,
	 * and no threads; NULL if these cannot be listed. The process runs on in the meantime. */
	size_t (*look)(const struct runtime_process *p, uint64_t (*words)[2], size_t max,
		       size_t *threads);
	/* For display: the runtime, its version and how both were found: one line for each runtime
	 * in the process. */
	void (*describe)(const struct runtime_process *p, struct buf *out);
	const struct runtime_counts *(*counts)(const struct runtime_process *p);
};

/* By number (enum runtime_number); NULL-terminated. */
extern const struct runtime_kind *const runtimes[];

#endif
