/* tui/plain.h: `cresset top --once`: the content of the screen as text or as one JSON object:
 *
 *     format "cresset.top", version 1, what, type, unit
 *     from_ns, to_ns                       Unix time; since the start if a file has no clock
 *     rate_hz, samples, lost               null if unknown
 *     own_cpu_percent, bpf_cpu_percent     of one CPU; null if unknown
 *     cpus                                 [{cpu, user_percent, kernel_percent, wait_percent}]
 *     functions, processes, threads, waits [the rows of these tabs; present only if they have data]
 *
 * Keys are only ever added. */
#ifndef CRESSET_TUI_PLAIN_H
#define CRESSET_TUI_PLAIN_H

#include <stddef.h>

struct buf;
struct ui;

struct plain_opts {
	size_t rows;
	int cols; /* 0: as wide as needed */
};
/* Appends the content of ui's tab. Call ui_take first. */
void plain_text(struct ui *ui, const struct plain_opts *o, struct buf *out);
void plain_json(struct ui *ui, const struct plain_opts *o, struct buf *out);

#endif
