#include "format/perf_script.h"

int perf_script_write(struct profile *p, const struct format_write_opts *opts, struct out *out,
		      struct err *err)
{
	(void)p;
	(void)opts;
	(void)out;
	(void)err;
	return -1;
}
