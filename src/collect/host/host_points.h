/* collect/host/host_points.h: builds one message of OTLP metrics from measurements of the host, and
 * parses words and numbers of the files in /proc that they are read from. A value missing in a file
 * gives no point; nothing is made up. */
#ifndef CRESSET_COLLECT_HOST_HOST_POINTS_H
#define CRESSET_COLLECT_HOST_HOST_POINTS_H

#include "base/buf.h"
#include "format/otlp/otlp_metrics.h"
#include "profile/relabel.h"

#include <stdbool.h>
#include <stdint.h>

/* Devices of each kind; further ones are left out. */
enum { HOST_MAX_DEVICES = 256 }; /* limit: measured disks, and networks */

struct host_metric {
	const char *name, *unit;
	enum otlp_metric_kind kind; /* OTLP_GAUGE, OTLP_COUNTER */
};
enum { HOST_MAX_LABELS = 4, HOST_MAX_FIXED = 32 };

struct host_points {
	struct profile *p;
	struct otlp_metrics m;
	/* labels of every series, as are the fixed ones; NULL: none. All stay the caller's */
	const char *host;
	const struct label_text *fixed;
	size_t n_fixed;
	int64_t time_ns; /* time of the next points; Unix time */
};
void host_points_init(struct host_points *w, const char *host);
void host_points_done(struct host_points *w);

/* labels: up to the first one without a key. */
void host_put(struct host_points *w, const struct host_metric *metric,
	      const struct label_text labels[HOST_MAX_LABELS], double value);

/* --- text ------------------------------------------------------------------------------------- */

/* Takes the next line of c. Returns false at the end, and for a last line without a newline, which
 * is truncated. */
bool host_line(struct cur *c, struct cur *line);
/* Takes the word before the next blank, or before `end` if that is first; `end` is then skipped.
 * Returns false if none exists. */
bool host_word(struct cur *line, char end, struct cur *word);
/* Takes a word that is a decimal number and fits. Otherwise returns false, and leaves line
 * unchanged. */
bool host_number(struct cur *line, uint64_t *v);
bool host_is(const struct cur *word, const char *text);
/* Returns whether line continues with text, and then skips it. */
bool host_skip(struct cur *line, const char *text);
/* Copies the word as a string, truncated to size - 1 bytes. */
void host_copy(const struct cur *word, char *out, size_t size);

#endif
