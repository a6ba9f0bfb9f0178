/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * The records that launch_probe.bpf.c sends. */
#ifndef CRESSET_TESTS_LAUNCH_PROBE_H
#define CRESSET_TESTS_LAUNCH_PROBE_H

#include <linux/types.h>

struct launch_call {
	__u32 correlation, weight;
	__s64 bytes; /* of stack; negative: no stack */
	__u64 stack[32];
};

#endif
