/* runtime/hotspot_sampler.h: HotSpot's own sampler of allocations (JEP 331, from 11 on), which it
 * has for JVMTI agents. A byte of libjvm turns it on: then each thread samples, at random points a
 * mean interval apart, which a probe can see without an agent.
 *
 *     to 24      ThreadHeapSampler::check_for_sampling(object, bytes, bytes since): decides
 *     from 25    ThreadHeapSampler::sample(object, top of the TLAB): has decided
 *
 * Their symbols are in .symtab only, so a stripped libjvm is not supported.
 *
 * Source: src/hotspot/share/runtime/threadHeapSampler.*, gc/shared/memAllocator.cpp and
 * threadLocalAllocBuffer.* of OpenJDK 11, 17, 24 and 25. */
#ifndef CRESSET_RUNTIME_HOTSPOT_SAMPLER_H
#define CRESSET_RUNTIME_HOTSPOT_SAMPLER_H

#include "bpf/java_heap.h"
#include "runtime/hotspot_parts.h"

#include <stdbool.h>
#include <stdint.h>

struct elf_file;
struct err;

/* Addresses are the file's. */
struct hotspot_sampler {
	uint64_t is_on;    /* a byte: 1 */
	uint64_t interval; /* int, bytes: the mean distance of samples; 0: each allocation */
	uint64_t narrow_classes, short_headers; /* bool; 0: not in this version */
	bool has_check;                         /* it decides in the function that is probed */
	struct hotspot_file tables;
};

/* Returns 0; -ENODATA: not HotSpot; -ENOTSUP: without this sampler, or its symbols, with the reason
 * in err. */
int hotspot_sampler_find(const struct elf_file *f, struct hotspot_sampler *out, struct err *err);

/* Reads what the probe has to know. Returns 0; or as hotspot_tables_read. */
int hotspot_sampler_read(const struct hotspot_sampler *s, uint64_t bias,
			 const struct runtime_memory *memory, struct java_heap *out,
			 struct err *err);

#endif
