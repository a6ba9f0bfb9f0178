/* collect/inspect_runtime.h: which interpreters a process has in it (runtime/runtime.h), and whether their frames can be read: those of all of
 * its threads at this moment are. For doctor; the collector does the same in collect/interpreted.h. */
#ifndef CRESSET_COLLECT_INSPECT_RUNTIME_H
#define CRESSET_COLLECT_INSPECT_RUNTIME_H

#include "base/vec.h"
#include "runtime/runtime.h"

struct inspected_runtime {
	const char *name, *language;
	char *said;   /* version, and what told it; or why frames cannot be read */
	bool is_read; /* frames of it are in stacks */
	uint64_t threads, frames;
	uint64_t named, left_out; /* of the frames; those that it does not show itself */
};

/* An object that has one, as it is mapped. */
struct runtime_find {
	size_t kind; /* in runtimes[] */
	struct runtime_place place;
	struct runtime_object *object; /* NULL: of a version or build that cannot be walked */
	struct err err;                /* says why */
};
struct runtime_finds { /* zeroed = empty */
	VEC(struct runtime_find) found;
};

/* start, pgoff: of its first executable mapping. */
void runtime_finds_add(struct runtime_finds *f, const struct elf_file *elf, const char *path,
		       uint64_t start, uint64_t pgoff);
void runtime_finds_done(struct runtime_finds *f);

struct inspected_runtimes {
	VEC(struct inspected_runtime) all;
};
void inspect_runtimes(const struct runtime_finds *f, uint32_t pid, struct inspected_runtimes *out);
void inspected_runtimes_done(struct inspected_runtimes *r);

#endif
