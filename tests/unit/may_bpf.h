/* tests/unit/may_bpf.h: whether this process may load BPF programs: not without root, nor where a filter of system calls, a lockdown or the
 * kernel's configuration refuses bpf(2). It asks the kernel itself. */
#ifndef CRESSET_TESTS_MAY_BPF_H
#define CRESSET_TESTS_MAY_BPF_H

#include "unit.h"

#include <bpf/bpf.h>
#include <stdbool.h>

static inline bool may_load_bpf(void)
{
	const struct bpf_insn return_0[] = { { .code = BPF_ALU64 | BPF_MOV | BPF_K },
					     { .code = BPF_JMP | BPF_EXIT } };
	int fd = bpf_prog_load(BPF_PROG_TYPE_PERF_EVENT, "asks", "GPL", return_0, 2, NULL);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* At the top of a test. */
#define T_NEEDS_BPF() \
	do { \
		if (!may_load_bpf()) \
			T_SKIP("this user may not load BPF programs here"); \
	} while (0)

#endif
