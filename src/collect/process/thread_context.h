/* collect/process/thread_context.h: where the threads of a process keep the span of a trace that
 * they work for (OpenTelemetry's thread context, OTEP 4947): the thread-local pointer
 * `otel_thread_ctx_v1`, exported by the program or one of its libraries.
 *
 * The input, ELF files and the words that the dynamic linker wrote, is the process's and may be
 * anything: a recipe made from false data leads the reader in the kernel (bpf/trace_read.h) to
 * other memory of the same process, or to none. */
#ifndef CRESSET_COLLECT_PROCESS_THREAD_CONTEXT_H
#define CRESSET_COLLECT_PROCESS_THREAD_CONTEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct image;
struct object_table;
struct trace_recipe;

#define THREAD_CONTEXT_VARIABLE "otel_thread_ctx_v1"

/* Reads memory of the process; 0, or -errno. */
struct thread_memory {
	int (*read)(void *ctx, uint64_t addr, void *out, size_t len);
	void *ctx;
};

/* A file with the variable, as the process has it mapped. */
struct thread_context_place {
	const struct elf_tls *tls;
	uint64_t start, pgoff; /* mapping of its code */
	bool is_program;       /* the executable, not a library */
	bool is_musl;          /* C library is musl */
};

/* Returns 0; -EAGAIN: the dynamic linker has not written the words (yet), or there are others in
 * their place; -EOPNOTSUPP: the library does not find its variable by words that are known here
 * (local-dynamic). */
int thread_context_recipe(const struct thread_context_place *place,
			  const struct thread_memory *memory, struct trace_recipe *out);

/* Looks for the variable in the mapped files of a process: the program first, then libraries by
 * address. -ENODATA: it is in none. Other errors, and 0, refer to the file *object; -EAGAIN also
 * means that the process could not be read in time. */
int thread_context_find(uint32_t pid, const struct image *image, struct object_table *objects,
			struct trace_recipe *out, uint32_t *object);

#endif
