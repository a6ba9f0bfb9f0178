#include "format/counter.h"

#include <stdlib.h>

void format_counter_done(struct format_counter *c)
{
	free(c->track);
	free(c->name);
	vec_done(&c->points);
}

void format_counters_done(struct format_counters *c)
{
	for (size_t i = 0; i < c->all.n; i++)
		format_counter_done(&c->all.v[i]);
	vec_done(&c->all);
}
