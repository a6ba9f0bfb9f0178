/* query/lanes/lanes_json.h: writes lanes as JSON, small enough for a page. Keys may be added, but
 * never change:
 *
 *     format "cresset.lanes", version 2, types [names]
 *     by [labels], states ["on", "off", "wait", "gpu_wait"], from_ns, to_ns, bucket_ns, buckets
 *     from, to                                the same times as text for a query, to the nanosecond
 *     exact, resolution_ns, ids_missing       query/lanes/lanes.h
 *     part_ns                                 unit of times in density
 *     lanes      [{labels {name: value, …}, on_ns, off_ns, wait_ns, gpu_wait_ns, density […], spans
 *                […]}]
 *     others     the same for all without a separate lane, with count instead of labels; null:
 *                none
 *     stacks     [[leaf, id], …]
 *
 * density is a flat list of numbers. Each run of equal buckets has two numbers and one for each
 * state: number of empty buckets before it, number of buckets in it, and the time of each bucket in
 * each state, in part_ns. Sums are exact to one part_ns, whatever the number of buckets. spans is a
 * flat list as well, four numbers each: ns from the end of the previous span (the first: from
 * from_ns), length in ns, state (index in states), stack (index in stacks). */
#ifndef CRESSET_QUERY_LANES_LANES_JSON_H
#define CRESSET_QUERY_LANES_LANES_JSON_H

#include "query/lanes/lanes.h"

struct buf;

/* Appends lanes, with a newline at the end. */
void lanes_json(const struct query_lanes *l, struct buf *b);

#endif
