/* format/user_stack.h: a user stack that a recording holds as registers and a copy of the stack's memory, and who walks it
 * (collect/local_stacks.h): a reader knows the recording, but neither files nor unwinding. */
#ifndef CRESSET_FORMAT_USER_STACK_H
#define CRESSET_FORMAT_USER_STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A file that was mapped. */
struct user_file {
	uint32_t id;      /* of this file in the recording */
	const char *path; /* as the process saw it, or "[vdso]" */
	const uint8_t *build_id;
	uint8_t build_id_len; /* 0: not known */
	/* 0: not known. Inodes are given anew, to files of another generation. */
	uint64_t inode, generation;
};
struct user_map {
	uint64_t start, end, pgoff;
	struct user_file file; /* path NULL: memory without a file */
};

enum user_machine { USER_MACHINE_OTHER, USER_MACHINE_X86, USER_MACHINE_X86_64 };
enum { USER_REGS = 64 };

struct user_stack {
	enum user_machine machine; /* what the process ran as */
	/* Numbered as asm/perf_regs.h of that machine does; bit i of has_regs: regs[i] is known. */
	uint64_t has_regs, regs[USER_REGS];
	const void *stack; /* from the stack pointer on */
	size_t stack_bytes;
	bool is_whole; /* there was no more that could be read */
	/* The mapping with code that has an address at that time; false when none has. */
	bool (*find)(const void *space, uint64_t addr, struct user_map *out);
	const void *space;
};

#define USER_STACK_NOT_WALKED "[truncated: DWARF stack not walked]"
struct user_walk {
	const uint64_t
		*addr; /* leaf first, of callers the call's last byte; valid until the next walk */
	uint32_t n;    /* 0: it was not walked */
	const char *marker; /* why there is no more; NULL: the whole stack is there */
};

#endif
