/* tui/plain.h: `cresset top --once`: what the screen shows, as text or as one JSON object:
 *
 *     format "cresset.top", version 1, what, type, unit
 *     from_ns, to_ns                       Unix time; of a file that knows no clock since its start
 *     rate_hz, samples, lost               null where not known
 *     own_cpu_percent, bpf_cpu_percent     of one CPU; null where not known
 *     cpus                                 [{cpu, user_percent, kernel_percent, wait_percent}]
 *     functions, processes, threads, waits [the rows of these tabs, which are only there when they have data]
 *
 * Keys are only ever added. */
#ifndef CRESSET_TUI_PLAIN_H
#define CRESSET_TUI_PLAIN_H

#include "tui/ui.h"

struct plain_opts {
	size_t rows;
	int cols; /* 0: as wide as needed */
};
/* Appends what ui's tab shows; ui_take was called. */
void plain_text(struct ui *ui, const struct plain_opts *o, struct buf *out);
void plain_json(struct ui *ui, const struct plain_opts *o, struct buf *out);

#endif
