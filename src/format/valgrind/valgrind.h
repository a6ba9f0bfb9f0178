/* format/valgrind/valgrind.h: files of valgrind's heap tools.
 *
 * --- massif.c: massif.out.PID: snapshots of the heap. Some have a tree, from the functions that
 * allocate down to their callers, indented by depth:
 *
 *     snapshot=12
 *     mem_heap_B=1200064
 *     heap_tree=peak                                     empty, detailed
 *     n2: 1200064 (heap allocation functions) malloc/new/new[], --alloc-fns, etc.
 *      n1: 900000 0x10916B: big (alloc.c:4)
 *       n0: 900000 0x109251: main (alloc.c:7)
 *      n0: 64 in 1 place, below massif's threshold (1.00%)
 *
 * Reading: the tree of the peak, else the last one, as stacks. What the callers of a function do
 * not account for is its own, below an unknown caller.
 *
 * --- dhat.c: dhat.out.PID: JSON { mode, cmd, pid, ftbl: ["[root]", "0x10916B: big (alloc.c:4)" …],
 * pps: [{ tb, tbk, gb, gbk, eb, ebk, rb, wb, fs: [index in ftbl, leaf first] }] }: bytes (b) and
 * blocks (bk) in all (t), at the moment of most bytes (g) and at the end (e), bytes read and
 * written. Lists come in any order. */
#ifndef CRESSET_FORMAT_VALGRIND_VALGRIND_H
#define CRESSET_FORMAT_VALGRIND_VALGRIND_H

#include "format/common/format.h"
#include "format/common/give.h"

enum {
	MASSIF_MAX_DEPTH = 4096, /* of a tree; deeper nodes count for the one above */
	/* limit: frames of all stacks of a dhat file */
	DHAT_MAX_FRAMES = 1 << 26,
};

extern const struct format format_massif, format_dhat;

/* Adds the frame of "0x10916B: big (alloc.c:4)" or "0x48417B4: malloc (in /usr/lib/x.so)". */
uint32_t valgrind_frame(struct sink *sink, const char *s, size_t len);

#endif
