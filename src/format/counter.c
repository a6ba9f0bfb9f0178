#include "format/counter.h"

#include <stdlib.h>

void format_counters_done(struct format_counters *c)
{
	for (size_t i = 0; i < c->all.n; i++) {
		free(c->all.v[i].track);
		free(c->all.v[i].name);
		vec_done(&c->all.v[i].points);
	}
	vec_done(&c->all);
}
