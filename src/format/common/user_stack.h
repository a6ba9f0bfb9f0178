/* format/common/user_stack.h: a user stack recorded as registers and a copy of stack memory, and
 * the interface of its unwinder (collect/resolve/local.h). A reader knows the recording, but
 * neither the files nor how to unwind. */
#ifndef CRESSET_FORMAT_COMMON_USER_STACK_H
#define CRESSET_FORMAT_COMMON_USER_STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A mapped file. */
struct user_file {
	uint32_t id;      /* of this file in the recording */
	const char *path; /* as the process saw it, or "[vdso]" */
	const uint8_t *build_id;
	uint8_t build_id_len; /* 0: unknown */
	/* 0: unknown. Inode numbers are reused, by files with another generation. */
	uint64_t inode, generation;
};
struct user_map {
	uint64_t start, end, pgoff;
	struct user_file file; /* path NULL: anonymous memory */
};

enum user_machine { USER_MACHINE_OTHER, USER_MACHINE_X86, USER_MACHINE_X86_64 };
enum { USER_REGS = 64 };

struct user_stack {
	enum user_machine machine; /* machine type of the process */
	/* Numbered as in asm/perf_regs.h of that machine. Bit i of has_regs is set if regs[i] is
	 * valid. */
	uint64_t has_regs, regs[USER_REGS];
	const void *stack; /* from the stack pointer upwards */
	size_t stack_bytes;
	bool is_whole; /* no more of the stack was readable */
	/* Finds the executable mapping that contains an address at that time; returns false if
	 * none. */
	bool (*find)(const void *space, uint64_t addr, struct user_map *out);
	const void *space;
};

#define USER_STACK_NOT_WALKED "[truncated: DWARF stack not walked]"
struct user_walk {            /* addr is valid until the next walk */
	const uint64_t *addr; /* leaf first; for callers, the last byte of the call */
	uint32_t n;           /* 0: not unwound */
	const char *marker;   /* why it is truncated; NULL: it is complete */
};

#endif
