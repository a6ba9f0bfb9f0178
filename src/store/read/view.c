/* A snapshot of partitions, heads and names for one query. */
#include "store/day/view_state.h"

#include "base/err.h"
#include "base/mem.h"
#include "base/vec.h"

#include <errno.h>
#include <string.h>

/* --- handles ---------------------------------------------------------------------------------- */

/* Opens the handle without the lock; store_views_hold may do it in the meantime. */
int view_reader(struct store_view *v, struct view_part *vp, struct part_reader **out,
		struct err *err)
{
	struct store *s = v->s;
	struct part_reader *r = NULL;
	int rc = 0;

	pthread_mutex_lock(&s->lock);
	if (!vp->reader && !(r = reader_take(s, vp->sp))) {
		pthread_mutex_unlock(&s->lock);
		rc = reader_open(s, vp->sp, &r, err);
		pthread_mutex_lock(&s->lock);
	}
	if (rc == 0 && !vp->reader)
		rc = view_attach_reader(s, vp, r, err);
	else if (rc == 0 && r)
		reader_give(s, r);
	pthread_mutex_unlock(&s->lock);
	if (rc == 0)
		*out = vp->reader;
	return rc;
}

bool view_leave_out(struct store_view *v, struct view_part *vp, int rc, struct err *err)
{
	if (rc != -EBADMSG)
		return false;
	if (!v->left_out.code && err)
		v->left_out = *err;
	else if (!v->left_out.code)
		err_set(&v->left_out, EBADMSG, "%s: cannot be read", vp->sp->path);
	if (err)
		*err = (struct err){ 0 };
	vp->is_left_out = true;
	pthread_mutex_lock(&v->s->lock);
	vp->sp->is_left_out = true;
	pthread_mutex_unlock(&v->s->lock);
	return true;
}

uint32_t store_view_left_out(const struct store_view *v, struct err *why)
{
	uint32_t n = 0;

	for (size_t i = 0; i < v->parts.n; i++)
		n += v->parts.v[i].is_left_out;
	if (n)
		*why = v->left_out;
	return n;
}

/* The share of memory for the dictionaries of all views. Beyond it idle ones are freed, and those
 * that a view no longer needs. */
enum { VIEWS_SHARE = 4 };

static bool is_tight(const struct store *s)
{
	return s->readers.dict_bytes > s->opts.memory_bytes / VIEWS_SHARE;
}

void view_release_part(struct store_view *v, struct view_part *vp)
{
	struct store *s = v->s;

	pthread_mutex_lock(&s->lock);
	if (vp->reader)
		reader_count(s, vp->reader); /* now with names */
	if (is_tight(s))
		readers_drop(s, NULL);
	if (vp->reader && is_tight(s))
		reader_unload(s, vp->reader);
	pthread_mutex_unlock(&s->lock);
}

/* One day is always allowed: its dictionary takes at most half of the memory (store_part.c). */
static bool has_others(const struct store_view *v, const struct part_reader *r)
{
	for (size_t i = 0; i < v->parts.n; i++) {
		const struct part_reader *other = v->parts.v[i].reader;

		if (other && other != r && other->loaded)
			return true;
	}
	return false;
}

static int check_memory(struct store_view *v, struct part_reader *r, struct err *err)
{
	struct store *s = v->s;

	if (is_tight(s))
		readers_drop(s, NULL);
	if (s->readers.dict_bytes <= s->opts.memory_bytes / 2 || !has_others(v, r))
		return 0;
	reader_unload(s, r);
	err_set(err, ENOMEM, "%s: the stacks of so many days take more than %llu MiB of memory",
		s->dir, (unsigned long long)s->opts.memory_bytes >> 21);
	return err_hint(err, "select a shorter range, or allow more memory (--memory)");
}

int view_dict(struct store_view *v, struct view_part *vp, struct part_reader **out, struct err *err)
{
	struct err local;
	int rc = view_reader(v, vp, out, err);

	if (rc == 0)
		rc = reader_load(*out, err);
	if (rc)
		return rc;
	pthread_mutex_lock(&v->s->lock);
	if (vp->rows.n)
		reader_follow(*out);
	reader_count(v->s, *out);
	rc = check_memory(v, *out, err ? err : &local);
	pthread_mutex_unlock(&v->s->lock);
	return rc;
}

int view_names(struct store_view *v, struct err *err)
{
	if (v->names)
		return 0;
	pthread_mutex_lock(&v->s->lock);
	v->names = names_reader_take(v->s);
	pthread_mutex_unlock(&v->s->lock);
	return v->names ? 0 : names_reader_open(v->s, &v->names, err);
}

/* --- heads ------------------------------------------------------------------------------------ */

void view_heads(struct store_view *v, const struct view_part *vp, int64_t from_ns, int64_t to_ns,
		void (*fn)(void *ctx, const struct view_head *h), void *ctx)
{
	pthread_mutex_lock(&v->s->lock);
	const struct heads *heads = vp->kept ? &vp->kept->heads : &vp->sp->heads;
	for (size_t i = 0; i < vp->rows.n; i++) {
		struct view_head h = { &heads->all.v[i], vp->rows.v[i] };

		if (h.rows && h.head->from_ns < to_ns && h.head->from_ns + HEAD_SLOT_NS > from_ns)
			fn(ctx, &h);
	}
	pthread_mutex_unlock(&v->s->lock);
}

/* --- opening ---------------------------------------------------------------------------------- */

static void add_part(struct store_view *v, struct store_part *sp)
{
	struct view_part vp = { .sp = sp, .sequence = sp->inbox_sequence };
	const struct heads *h = &sp->heads;

	sp->pins++;
	for (size_t i = 0; i < h->all.n; i++)
		vec_push(&vp.rows, h->all.v[i].rows.n);
	for (size_t i = 0; i < h->metrics.all.n; i++)
		vec_push(&vp.points, h->metrics.all.v[i].points.n);
	vec_push(&v->parts, vp);
}

int store_view_open(struct store *s, struct store_view **out, struct err *err)
{
	struct store_view *v = xcalloc(1, sizeof *v);

	(void)err;
	v->s = s;
	pthread_mutex_lock(&s->lock);
	for (size_t i = 0; i < s->parts.n; i++)
		add_part(v, s->parts.v[i]);
	view_hot_open(v);
	v->catalog = catalog_copy_take(s);
	v->next = s->views;
	s->views = v;
	pthread_mutex_unlock(&s->lock);
	*out = v;
	return 0;
}

static void remove_part(struct store *s, struct view_part *vp)
{
	if (vp->reader)
		reader_give(s, vp->reader);
	vp->sp->pins--;
	heads_kept_unref(vp->kept);
	vec_done(&vp->rows);
	vec_done(&vp->points);
}

void store_view_close(struct store_view *v)
{
	if (!v)
		return;
	struct store *s = v->s;
	struct store_view **at = &s->views;

	pthread_mutex_lock(&s->lock);
	while (*at != v)
		at = &(*at)->next;
	*at = v->next;
	for (size_t i = 0; i < v->parts.n; i++)
		remove_part(s, &v->parts.v[i]);
	view_hot_close(v);
	catalog_copy_give(v->catalog);
	if (v->names)
		vec_push(&s->readers.names, v->names);
	pthread_mutex_unlock(&s->lock);
	vec_done(&v->parts);
	free(v);
}

const struct profile *store_view_catalog(const struct store_view *v)
{
	return v->catalog->p;
}

void store_view_set_stop(struct store_view *v, bool (*stop)(void *ctx), void *ctx)
{
	v->stop = stop;
	v->stop_ctx = ctx;
}

/* A check takes as long as reading a small block: for a client on a connection it is a system
 * call. */
enum { BLOCKS_A_LOOK = 16 };

int view_check_stop(struct store_view *v, struct err *err)
{
	if (!v->stop || v->blocks_read++ % BLOCKS_A_LOOK || !v->stop(v->stop_ctx))
		return 0;
	return err_set(err, ECANCELED, "the query was stopped");
}

int store_dicts(struct store_view *v, int (*dict)(void *ctx, const struct profile *dict), void *ctx,
		struct err *err)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < v->parts.n; i++) {
		struct part_reader *reader;

		rc = view_check_stop(v, err);
		if (rc == 0)
			rc = view_dict(v, &v->parts.v[i], &reader, err);
		if (view_leave_out(v, &v->parts.v[i], rc, err))
			rc = 0;
		else if (rc == 0)
			rc = dict(ctx, part_dict(reader->part));
	}
	return rc;
}
