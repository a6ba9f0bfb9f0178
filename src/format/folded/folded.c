/* The rows of the table of formats. */
#include "format/folded/folded.h"

static const char *const folded_endings[] = { ".folded", ".collapsed", ".txt", NULL };
static const char *const folded_own_endings[] = { ".folded", ".collapsed", NULL };

const struct format format_folded = {
	.name = "folded",
	.summary = "folded stacks: one line per stack and its value",
	.notes = "Contains the names and values of one type. Times, threads, CPUs and labels are "
		 "lost, unless --by makes them root frames. Addresses, files, lines and inline "
		 "marks are lost.",
	.endings = folded_endings,
	.one_type = true,
	.detect = folded_detect,
	.detect_maybe = folded_detect_maybe,
	.own_endings = folded_own_endings,
	.read = folded_read,
	.write = folded_write,
};

/* By --from only: the text looks like any folded stacks. */
const struct format format_uftrace = {
	.name = "uftrace",
	.summary = "uftrace dump --flame-graph: folded stacks in microseconds",
	.read = folded_read_wall_us,
};
