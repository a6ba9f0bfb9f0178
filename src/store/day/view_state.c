/* Prepares open views before the heads of a part become blocks, and hands the heads over after. */
#include "store/day/view_state.h"

#include "base/mem.h"

void heads_kept_unref(struct heads_kept *k)
{
	if (!k || --k->refs)
		return;
	heads_done(&k->heads);
	free(k);
}

static struct view_part *find_part(struct store_view *v, const struct store_part *sp)
{
	for (size_t i = 0; i < v->parts.n; i++)
		if (v->parts.v[i].sp == sp)
			return &v->parts.v[i];
	return NULL;
}

void store_views_take_heads(struct store *s, struct store_part *sp)
{
	struct heads_kept *kept = xcalloc(1, sizeof *kept);

	*kept = (struct heads_kept){ sp->heads, 1 };
	sp->heads = (struct heads){ 0 };
	for (struct store_view *v = s->views; v; v = v->next) {
		struct view_part *vp = find_part(v, sp);

		if (!vp || vp->kept || (vp->rows.n == 0 && vp->points.n == 0))
			continue;
		vp->kept = kept;
		kept->refs++;
	}
	heads_kept_unref(kept);
}

int view_attach_reader(struct store *s, struct view_part *vp, struct part_reader *r,
		       struct err *err)
{
	int rc = reader_snapshot(r, err);
	struct part_info info;

	if (rc) {
		reader_close(s, r);
		return rc;
	}
	vp->reader = r;
	part_get_info(r->part, &info);
	if (r->own && info.inbox_sequence > vp->sequence) {
		vec_clear(&vp->rows);
		vec_clear(&vp->points);
	}
	return 0;
}

static int hold_part(struct store *s, struct view_part *vp, struct err *err)
{
	struct part_reader *r = reader_take(s, vp->sp);
	int rc = r ? 0 : reader_open(s, vp->sp, &r, err);

	return rc ? rc : view_attach_reader(s, vp, r, err);
}

int store_views_hold(struct store *s, struct store_part *sp, struct err *err)
{
	int rc = 0;

	for (struct store_view *v = s->views; v && rc == 0; v = v->next) {
		struct view_part *vp = find_part(v, sp);

		if (vp && !vp->reader)
			rc = hold_part(s, vp, err);
	}
	return rc;
}
