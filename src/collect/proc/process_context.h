/* collect/proc/process_context.h: the service that a process is, as it publishes it
 * (OpenTelemetry's process context, OTEP 4719); and whether its threads publish which span of a
 * trace they work for (OTEP 4947, collect/process/thread_context.h).
 *
 * A mapping named OTEL_CTX starts with a header that points to a message:
 *
 *     0   "OTEL_CTX"
 *     8   u32 version (2), u32 bytes of the message
 *     16  u64 when it was published (CLOCK_BOOTTIME); 0 while it changes
 *     24  u64 address of the message: ProcessContext{1: Resource{1: KeyValue …}, 2: KeyValue …}
 *
 * All of it is written by the process, and may be anything: sizes are bounded, the address is only
 * passed to process_vm_readv, and data that changes while it is read is ignored. */
#ifndef CRESSET_COLLECT_PROC_PROCESS_CONTEXT_H
#define CRESSET_COLLECT_PROC_PROCESS_CONTEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SERVICE_NAME_BYTES = 256 };

/* "" if not given. Longer values are ignored. */
struct process_context {
	char name[SERVICE_NAME_BYTES], name_space[SERVICE_NAME_BYTES], version[SERVICE_NAME_BYTES],
		environment[SERVICE_NAME_BYTES];
	char threads[SERVICE_NAME_BYTES]; /* threadlocal.schema_version */
};

/* Returns whether its threads publish spans in a known way. */
bool process_context_has_threads(const struct process_context *c);

/* Returns whether a mapping of /proc/PID/maps is the header's. */
bool process_context_is_mapping(const char *name);

/* Parses the message; returns false when it is damaged: *out is then empty. */
bool process_context_parse(const void *data, size_t len, struct process_context *out);

/* Reads from a process with the header at addr. Returns 0; -ENODATA: none, -EAGAIN: it is
 * changing, or why it cannot be read. *out is then empty. */
int process_context_read(uint32_t pid, uint64_t addr, struct process_context *out);

/* Finds the header in /proc/PID/maps; returns 0 if none exists. */
uint64_t process_context_find(uint32_t pid);

#endif
