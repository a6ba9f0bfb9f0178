/* collect/series_hook.h: a look at the labels of each series before it becomes one: rules that change them, and the choice of what is
 * recorded at all. It is asked once for each series (again after SERIES_CACHE_MAX of them, and for each new sink), never for a sample. */
#ifndef CRESSET_COLLECT_SERIES_HOOK_H
#define CRESSET_COLLECT_SERIES_HOOK_H

#include "profile/relabel.h"

#include <stdbool.h>
#include <stddef.h>

enum { SERIES_LABELS_MAX = 64 }; /* further ones are left away */

/* Values are not empty. What the hook puts in has to be there until its next call. */
struct series_labels {
	const char *type; /* name of the type: cpu, off-cpu … */
	struct label_text v[SERIES_LABELS_MAX];
	size_t n;
};
struct series_hook {
	/* False: samples of such a series are left out, and counted (LOSS_LEFT_OUT). NULL: there is no hook. */
	bool (*apply)(void *ctx, struct series_labels *labels);
	void *ctx;
};

#endif
