/* query/lanes_json.h: lanes as JSON, small enough for a page. Keys are only ever added:
 *
 *     format "cresset.lanes", version 2, types [names]
 *     by [labels], states ["on", "off", "wait", "gpu_wait"], from_ns, to_ns, bucket_ns, buckets
 *     from, to                                the same moments as a question has them, to the nanosecond
 *     exact, resolution_ns, ids_missing       query/lanes.h
 *     part_ns                                 what times in density are counted in
 *     lanes      [{labels {name: value, …}, on_ns, off_ns, wait_ns, gpu_wait_ns, density […], spans […]}]
 *     others     the same of all that have no lane of their own, with count in place of labels; null: there are none
 *     stacks     [[leaf, id], …]
 *
 * density is one list of numbers, two and one for each of states for each run of buckets that are alike: how many buckets without anything lie before it, how many it is, and
 * what each of them has in each state, in part_ns. Sums of these are right to one part_ns, whatever the number of buckets. spans is one list, too, four each: ns from
 * the end of the span before it (of the first: from from_ns), its length in ns, its state (an index of states), its stack (index in stacks). */
#ifndef CRESSET_QUERY_LANES_JSON_H
#define CRESSET_QUERY_LANES_JSON_H

#include "base/buf.h"
#include "query/lanes.h"

/* Appends them, with a newline at the end. */
void lanes_json(const struct query_lanes *l, struct buf *b);

#endif
