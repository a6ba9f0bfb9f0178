/* The format's table row. */
#include "format/callgrind/callgrind.h"

static const char *const callgrind_endings[] = { ".callgrind", NULL };

const struct format format_callgrind = {
	.name = "callgrind",
	.summary = "callgrind.out of valgrind, for KCachegrind",
	.endings = callgrind_endings,
	.one_type = true,
	.detect = callgrind_detect,
	.read = callgrind_read,
	.write = callgrind_write,
};
