/* format/bpftrace/bpftrace.h: maps of bpftrace whose keys have stacks, as it prints them when it
 * ends: text, or JSON (-f json), one object per line.
 *
 *     @[                                            {"type": "map", "data": {"@":
 *         spin+52                                        {"\nspin+52\nmain+72\n,known": 49}}}
 *         main+72
 *     , known]: 49
 *
 * Leaf first; offsets are dropped, so keys that differ only there are added up. Each map with a
 * stack is a type in `count`, named like the map; "@" is `samples`. Of a key with two stacks the
 * one of the kernel, known by its root, else by that of the other, else by its being the first, is
 * the leaf's side. The first text of up to 15 characters in a key is the label `comm`, other parts
 * together are `key`. Other maps, histograms and averages are left out. */
#ifndef CRESSET_FORMAT_BPFTRACE_BPFTRACE_H
#define CRESSET_FORMAT_BPFTRACE_BPFTRACE_H

#include "format/common/format.h"

enum {
	BPFTRACE_MAX_MAPS = 1 << 12, /* later ones are skipped */
	BPFTRACE_MAX_KEY = 16 << 20, /* limit: bytes of a key of a map */
	BPFTRACE_MAX_STACKS = 4,     /* of a key */
};

extern const struct format format_bpftrace;

#endif
