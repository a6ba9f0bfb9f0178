/* collect/host_points.h: measurements of the host on their way into one message of OTLP metrics, and words and numbers of the files in /proc that they are
 * read from. What a file does not say is no point; nothing is made up. */
#ifndef CRESSET_COLLECT_HOST_POINTS_H
#define CRESSET_COLLECT_HOST_POINTS_H

#include "base/buf.h"
#include "collect/series_hook.h"
#include "format/otlp_metrics.h"
#include "profile/profile.h"

#include <stdbool.h>
#include <stdint.h>

/* Devices of each kind; others are left out. */
enum { HOST_MAX_DEVICES = 256 };

struct host_metric {
	const char *name, *unit;
	enum otlp_metric_kind kind; /* OTLP_GAUGE, OTLP_COUNTER */
};
enum { HOST_MAX_LABELS = 4, HOST_MAX_FIXED = 32 };

struct host_points {
	struct profile *p;
	struct otlp_metrics m;
	const char *
		host; /* a label of every series, as the fixed ones; NULL: none. All stay the caller's */
	const struct label_text *fixed;
	size_t n_fixed;
	int64_t time_ns; /* of what is put next; Unix time */
};
void host_points_init(struct host_points *w, const char *host);
void host_points_done(struct host_points *w);

/* labels: up to the first without a key. */
void host_put(struct host_points *w, const struct host_metric *metric,
	      const struct label_text labels[HOST_MAX_LABELS], double value);

/* --- text ------------------------------------------------------------------------------------- */

/* The next line of c. False at the end, and for a last one without its newline: it is cut. */
bool host_line(struct cur *c, struct cur *line);
/* What is before the next blank, or before `end` where that comes first, which is passed over, too. False: there is none. */
bool host_word(struct cur *line, char end, struct cur *word);
/* A word that is a decimal number and fits. False, with line where it was, for any other. */
bool host_number(struct cur *line, uint64_t *v);
bool host_is(const struct cur *word, const char *text);
/* Whether line goes on with text, which is then passed over. */
bool host_skip(struct cur *line, const char *text);
/* The word as a string, cut to size - 1 bytes. */
void host_copy(const struct cur *word, char *out, size_t size);

#endif
