#include "query/source.h"

#include <stdlib.h>

void source_merged_done(struct source_merged *m)
{
	for (size_t i = 0; i < m->n; i++) {
		free(m->parts[i].stack);
		free(m->parts[i].value);
		free(m->parts[i].count);
		free(m->parts[i].squares);
		free(m->parts[i].rows);
	}
	free(m->parts);
	*m = (struct source_merged){ 0 };
}
