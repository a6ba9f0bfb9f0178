/* format/heaptrack/heaptrack.h: the data of heaptrack, as `heaptrack PROG` leaves it (versions 1 to
 * 3): lines of a letter and hexadecimal numbers. Tables are numbered from 1 in the order of their
 * lines, allocations from 0.
 *
 *     v PROGRAM FILE                          versions
 *     X COMMAND
 *     s TEXT, from version 3 on s LENGTH TEXT         a string
 *     i ADDRESS MODULE [FUNCTION [FILE LINE]]…        a place in the code, innermost function first
 *     t PLACE CALLER                                  a stack: a place, called from another stack
 *     a SIZE STACK                                    allocations of one size by one stack
 *     + ALLOCATION    - ALLOCATION                    one of them is made, freed
 *     c MILLISECONDS
 *
 * Reading: alloc and inuse (what is never freed) in objects and bytes, and the same at the first
 * moment at which most bytes were in use; temporary: objects whose free directly follows their
 * allocation, as heaptrack counts them. */
#ifndef CRESSET_FORMAT_HEAPTRACK_HEAPTRACK_H
#define CRESSET_FORMAT_HEAPTRACK_HEAPTRACK_H

#include "format/common/format.h"

enum {
	HEAPTRACK_VERSION = 3, /* the newest */
	/* limit: strings, places, stacks or allocations */
	HEAPTRACK_MAX_ENTRIES = 1 << 26,
	/* limit: functions of all stacks; beyond, stacks end at their caller */
	HEAPTRACK_MAX_ROWS = 1 << 25,
	/* Places with many inlined functions must not make a small file large in memory: so many
	 * functions of stacks, and one for each HEAPTRACK_ROW_BYTES read. */
	HEAPTRACK_FREE_ROWS = 1 << 16,
	HEAPTRACK_ROW_BYTES = 8,
	HEAPTRACK_MAX_INLINED = 256, /* functions of a place; outer ones beyond are dropped */
};

extern const struct format format_heaptrack;

#endif
