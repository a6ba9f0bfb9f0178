/* format/heatmap_table.h: a heatmap as text, JSON or CSV.
 *
 * JSON is one object; keys are only ever added:
 *
 *     format "cresset.heatmap", version 1, type, unit
 *     epoch_ns                    the start of the recording: Unix time, or where that is not known on its own clock
 *     from_ns, to_ns              what is looked at, since then
 *     start_ns, column_ns, row_ns, columns, rows
 *     total, outside, max         all cells and `outside` (before the start) add up to the total
 *     cells                       [[value of each row] of each column]; null: not in from_ns … to_ns
 *
 * CSV has a line for each row with its offset in seconds in front; the first line has the seconds at which the columns begin. Cells that
 * are not looked at are empty. */
#ifndef CRESSET_FORMAT_HEATMAP_TABLE_H
#define CRESSET_FORMAT_HEATMAP_TABLE_H

#include "format/table.h"
#include "profile/heatmap.h"

/* How many columns fit into opts->width, 0 being HEATMAP_PLAIN_WIDTH. */
enum { HEATMAP_PLAIN_WIDTH = 80 };
uint32_t heatmap_text_columns(const struct table_opts *opts);

/* All append to b. In colour a line of text is two rows; on a terminal without, and elsewhere, it is one. */
void heatmap_text(const struct profile *p, const struct heatmap *h, const struct table_opts *opts,
		  struct buf *b);
void heatmap_json(const struct heatmap *h, struct buf *b);
void heatmap_csv(const struct heatmap *h, struct buf *b);

#endif
