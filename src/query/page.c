#include "query/page.h"

#include "query/gpu_tracks.h"
#include "query/part.h"
#include "query/snapshots.h"

#include <errno.h>

static int read_timed(const struct query *q, const struct tree_opts *tree, struct profile **out,
		      bool *ids_missing, struct err *err)
{
	struct profile *p;
	int rc = query_part(q, tree, true, &p, ids_missing, err);
	if (rc)
		return rc;
	rc = query_gpu_tracks(q, p, err);
	if (rc)
		profile_free(p);
	else
		*out = p;
	return rc;
}

int query_page(const struct query *q, const struct tree_opts *tree, bool is_file,
	       struct profile **out, bool *ids_missing, struct err *why, struct err *err)
{
	struct query timed = *q;
	*why = (struct err){ 0 };
	if (query_is_snapshot(q))
		return query_part(q, tree, is_file, out, ids_missing, err);
	if (is_file)
		return read_timed(q, tree, out, ids_missing, err);
	timed.is_exact = true;
	timed.limits.rows = PAGE_SAMPLES;
	int rc = read_timed(&timed, tree, out, ids_missing, why);
	if (rc == -ERANGE || rc == -E2BIG || rc == -ENOMEM)
		return query_part(q, tree, false, out, ids_missing, err);
	if (rc)
		*err = *why;
	return rc;
}
