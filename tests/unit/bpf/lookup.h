/* tests/unit/bpf/lookup.h: shared by t_kernel_lookup.c and its BPF program. */
#ifndef CRESSET_TESTS_LOOKUP_H
#define CRESSET_TESTS_LOOKUP_H

#include "bpf/unwind_table.h"

#include <linux/types.h>

enum { LOOKUP_BATCH = 1 << 16 };

struct lookup {
	__u64 offset; /* what to look up */
	struct unwind_rule rule;
	__u64 found;
};
struct lookup_run {
	__u32 table, n; /* the table, and the number of offsets */
};

#endif
