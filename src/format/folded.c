#include "format/folded.h"

static const char *const folded_endings[] = { ".folded", ".collapsed", ".txt", NULL };

const struct format format_folded = {
	.name = "folded",
	.summary = "folded stacks: one line per stack and its value",
	.endings = folded_endings,
	.one_type = true,
	.detect = folded_detect,
	.read = folded_read,
	.write = folded_write,
};
