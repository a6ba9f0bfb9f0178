/* collect/proc/series_hook.h: processes the labels of each new series: rules change them, and a
 * hook chooses what is recorded at all. It is called once per series (again after SERIES_CACHE_MAX
 * of them, and for each new sink), never per sample. */
#ifndef CRESSET_COLLECT_PROC_SERIES_HOOK_H
#define CRESSET_COLLECT_PROC_SERIES_HOOK_H

#include "profile/relabel.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SERIES_LABELS_MAX = 64 }; /* further ones are left out */

/* Values are not empty. Strings that the hook adds must be valid until its next call. */
struct series_labels {
	const char *type; /* name of the type: cpu, off-cpu … */
	struct label_text v[SERIES_LABELS_MAX];
	size_t n;
};
struct series_hook {
	/* Returns false: samples of such a series are left out, and counted (LOSS_LEFT_OUT). May be
	 * NULL. */
	bool (*apply)(void *ctx, struct series_labels *labels);
	void *ctx;
};

/* Options of every series. Everything that they point to is the caller's. */
struct series_opts {
	const char *host;                /* a label; NULL: none */
	const struct label_text *labels; /* further labels: kernel, arch … */
	size_t n_labels;
	struct series_hook hook;       /* selects the wanted series */
	const struct relabel *relabel; /* rules for labels, applied afterwards; NULL: none */
};

#endif
