/* The operations of each kind of source. */
#include "query/source.h"

#include "base/buf.h"
#include "base/err.h"

#include <stdlib.h>

void source_note_left_out(struct source *s, struct buf *out)
{
	struct err why = { 0 };
	uint32_t n = s->ops->left_out ? s->ops->left_out(s, &why) : 0;

	if (n)
		buf_addf(out, "%u file%s of days cannot be read, and %s left out: %s", n,
			 n == 1 ? "" : "s", n == 1 ? "is" : "are", why.text);
}

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
