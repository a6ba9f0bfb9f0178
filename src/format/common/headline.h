/* format/common/headline.h: the summary line of a graph or a table, in parts separated by
 * HEADLINE_SEPARATOR. */
#ifndef CRESSET_FORMAT_COMMON_HEADLINE_H
#define CRESSET_FORMAT_COMMON_HEADLINE_H

#include <stdint.h>

struct buf;
struct json;
struct profile;
struct tree;

#define HEADLINE_SEPARATOR " \xc2\xb7 " /* middle dot */

/* Appends "5,310 samples ≈ 53.6 s · 30.0 s recorded · 12 lost (0.2 %) · 3.1 % truncated ·
 * 38.0 % of all after filters". Everything that makes the numbers less reliable is included;
 * unknown parts are omitted. Safe on a terminal; escape it elsewhere. */
void headline_counts(const struct profile *p, const struct tree *t, struct buf *b);

/* Appends "cresset record -a · db7 · Linux 6.1.0-13-amd64 · 2 CPUs · 2025-01-02 03:04:05
 * UTC", or nothing if nothing is known. */
void headline_origin(const struct profile *p, struct buf *b);

/* Returns the total of the stacks whose root frame is a truncation marker ("[truncated: …]"). */
int64_t headline_truncated(const struct tree *t);

/* Adds a member "start": RFC 3339 in UTC, or null if unknown. */
void headline_start_json(struct json *j, int64_t wall_ns);

#endif
