/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * bpf/space.h: address spaces as user space describes them to the walker: the image of a process,
 * the objects mapped in an image, and the table of an object. Shared by BPF and user space.
 *
 *     tgid → space_process → blocks of its image, sorted mappings → object, table → chunks
 *     (bpf/unwind_table.h)
 *
 * An image never changes: other mappings make another image, so one update of its entry switches a
 * process to new mappings. Processes with the same mappings share an image. */
#ifndef CRESSET_BPF_SPACE_H
#define CRESSET_BPF_SPACE_H

#include "bpf/unwind_table.h"

#include <linux/types.h>

enum {
	SPACE_BLOCK_MAPS = 32,    /* mappings in a block, a power of two */
	SPACE_INDEX_BLOCKS = 128, /* blocks of an image; the walker ignores mappings beyond */
	SPACE_MAX_MAPS = SPACE_BLOCK_MAPS * SPACE_INDEX_BLOCKS,
	SPACE_MAX_TABLES = 8192, /* objects that have, or had, a table */
};

/* A frame as sent by the kernel: the object's number and the file offset of the instruction (for
 * callers, of the last byte of the call); or the address if there is no file. */
enum { FRAME_OFFSET_BITS = 36 };
#define FRAME_OFFSET_MASK ((1ull << FRAME_OFFSET_BITS) - 1)
#define FRAME_MAX_OBJECT  (1u << 26) /* bit 62 is for bpf/runtime_frame.h */
#define FRAME_ADDRESS     (1ull << 63)

struct space_mapping {
	__u64 start, end; /* unused entry: start is the highest number */
	__u64 pgoff;      /* file offset of start */
	__u32 object;     /* 0: memory without a file */
	__u32 table;      /* index of the table; 0: none */
};

/* An image has all mappings if it is at least this old, and the number of mappings has not changed
 * for as long: addresses outside of them are not code. */
#define SPACE_SETTLED_NS 1000000000ull
#define SPACE_NO_ROOM    (~0u)
struct space_process {
	__u64 image;
	__u64 sent_ns;  /* CLOCK_MONOTONIC */
	__u32 n_maps;   /* SPACE_NO_ROOM: its image did not fit */
	__u32 runtimes; /* a bit for each runtime with an entry for it in its maps */
	/* Written by the walker: the number of all mappings, and when it was first seen. */
	__u64 counted_ns;
	__u32 count, unused;
};

struct space_block_key {
	__u64 image;
	__u64 block; /* SPACE_INDEX: the starts of all blocks, for an image with more than one */
};
#define SPACE_INDEX (~0ull)
struct space_block {
	union {
		struct space_mapping maps[SPACE_BLOCK_MAPS];
		__u64 starts[SPACE_INDEX_BLOCKS];
	};
};
_Static_assert(sizeof(struct space_block) == 1024, "space_block has one size");

enum space_table_state {
	TABLE_NONE = 0, /* the object states nothing about its frames */
	TABLE_WANTED,   /* not loaded yet, or unloaded */
	TABLE_READY,
};
struct space_table {
	struct unwind_table_ref ref;
	__u32 state; /* enum space_table_state */
	__u32 used;  /* set by the walker */
};

#endif
