/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * bpf/program_file.h: executables, as the kernel identifies them. Shared by BPF and user space.
 *
 * The reader of the side band is woken only by an exec of a program that it has not seen for
 * PROGRAM_KNOWN_NS: its files may be deleted in a moment. Records of known programs are read with
 * the next batch. */
#ifndef CRESSET_BPF_PROGRAM_FILE_H
#define CRESSET_BPF_PROGRAM_FILE_H

#include <linux/types.h>

/* Of the file that /proc/PID/exe points to. On overlayfs that is not the file of the mapping. */
struct program_file {
	__u64 ino;
	__u32 dev, generation;
};

/* User space keeps the file of a program open for at least this long after it was last mapped
 * (collect/process/object.h). */
#define PROGRAM_KNOWN_NS 4000000000ull

enum { PROGRAMS_MAX = 4096 }; /* limit: known programs; then all are forgotten */

struct program_known {
	__u64 last_ns;   /* its last exec */
	__u32 is_urgent; /* it always wakes the reader: it has an interpreter, or uses a GPU */
	__u32 unused;
};

struct program_begun {
	struct program_file file;
	__u32 pid, unused;
};
_Static_assert(sizeof(struct program_begun) == 24, "program_begun has no padding");

#endif
