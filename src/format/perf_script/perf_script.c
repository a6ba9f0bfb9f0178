/* The format's table row. */
#include "format/perf_script/perf_script.h"

static const char *const perf_script_endings[] = { ".perf.txt", NULL };

const struct format format_perf_script = {
	.name = "perf-script",
	.summary = "text of perf script: one header line and one line per frame",
	.endings = perf_script_endings,
	.one_type = true,
	.no_negative = true,
	.detect = perf_script_detect,
	.read = perf_script_read,
	.write = perf_script_write,
};
