/* tests/doubles/libcupti.h: how a fake driver, or a program that plays one, tells the CUPTI double what happens. */
#ifndef CRESSET_TESTS_DOUBLES_LIBCUPTI_H
#define CRESSET_TESTS_DOUBLES_LIBCUPTI_H

#include <stdint.h>

/* A call begins (site 0) or ends (1): domain 1 driver, 2 runtime. */
typedef void double_cupti_api_fn(uint32_t site, uint32_t domain, uint32_t cbid, const char *name, uint32_t correlation);

enum double_work { DOUBLE_KERNEL, DOUBLE_COPY, DOUBLE_SET, DOUBLE_SYNC, DOUBLE_GRAPH, DOUBLE_MEMORY };

/* Work is done. Times are CLOCK_MONOTONIC. */
struct double_done {
	enum double_work work;
	const char *name; /* of a kernel */
	uint64_t start_ns, end_ns, bytes, address;
	uint32_t device, stream, correlation, graph;
	uint64_t graph_node;
	uint32_t kind; /* of the copy, the synchronization or the memory */
};
typedef void double_cupti_done_fn(const struct double_done *done);

#endif
