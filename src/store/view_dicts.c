/* The dictionaries of a view, one after the other. */
#include "store/view_state.h"

int store_dicts(struct store_view *v, int (*dict)(void *ctx, const struct profile *dict), void *ctx,
		struct err *err)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < v->parts.n; i++) {
		struct part_reader *reader;

		rc = view_go_on(v, err);
		if (rc == 0)
			rc = view_dict(v, &v->parts.v[i], &reader, err);
		if (view_leaves_out(v, &v->parts.v[i], rc, err))
			rc = 0;
		else if (rc == 0)
			rc = dict(ctx, part_dict(reader->part));
	}
	return rc;
}
