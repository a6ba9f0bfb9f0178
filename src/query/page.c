/* Collects what a page shows, and notes for missing parts. */
#include "query/page.h"

#include "base/mem.h"
#include "format/common/format.h"
#include "profile/profile.h"
#include "query/gpu/gpu_beside.h"
#include "query/gpu/gpu_idle.h"
#include "query/part.h"
#include "query/query.h"
#include "query/snapshots.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const char query_ids_missing_words[] =
	"part of the range has only sums of 10 s: without pid, tid, cpu and trace_id";

/* These errors leave a part of the response out, which is better than no response. */
static bool is_no_failure(int rc)
{
	return rc == -ENODATA || rc == -ERANGE || rc == -E2BIG || rc == -ENOMEM || rc == -ETIME;
}

/* --- idle times ------------------------------------------------------------------------------- */

/* A query about threads selects owners' samples; others only select hosts. */
static void settle_owners(struct query *q, struct gpu_idle_opts *opts)
{
	const struct profile *catalog = q->source->ops->catalog(q->source);
	struct query own = *q;
	struct err none;
	opts->of_hosts = true;
	if (gpu_idle_ask_type(&own, &none) < 0)
		return;
	if (own.type == GPU_IDLE_TYPE_NONE) {
		q->type = own.type;
	} else if (gpu_idle_is_of_threads(catalog, own.type)) {
		q->type = own.type;
		opts->of_hosts = false;
	}
}

static int put_idle(const struct query *q, struct buf *json, struct err *err)
{
	struct query own = *q;
	struct gpu_idle_opts opts = { 0 };
	struct gpu_idle idle;
	settle_owners(&own, &opts);
	int rc = gpu_idle_query(&own, &opts, &idle, err);
	if (rc == 0)
		rc = gpu_idle_json(&idle, GPU_BESIDE_ROWS, json, err);
	if (rc == -ENODATA && idle.exact_from_ns) { /* it was known before */
		err->code = ERANGE;
		rc = -ERANGE;
	}
	gpu_idle_done(&idle);
	return rc;
}

int query_page_idle(const struct query *q, bool is_file, struct query_page *page, struct err *err)
{
	struct query own = *q;
	if (!is_file)
		own.limits.rows = PAGE_SAMPLES;
	int rc = put_idle(&own, &page->idle, &page->no_idle);
	if (rc == 0)
		return 0;
	buf_clear(&page->idle);
	if (is_no_failure(rc))
		return 0;
	*err = page->no_idle;
	return rc;
}

/* --- notes ------------------------------------------------------------------------------------ */

static void note(struct query_page *page, struct buf *text)
{
	size_t n = 0;
	while (page->notes[n])
		n++;
	page->notes[n] = xstrdup(buf_cstr(text));
	buf_done(text);
}

static void note_missing(struct query_page *page, const struct err *why, const char *what)
{
	struct buf text = { 0 };
	buf_addf(&text, "%s: %s%s", why->text, what, *why->hint ? "; " : "");
	for (const char *s = why->hint; *s; s++)
		buf_addc(&text, *s == '\n' ? ' ' : *s);
	note(page, &text);
}

/* Returns whether there are samples or readings of GPUs. */
static bool has_gpus(const struct profile *p)
{
	for (size_t i = 0; i < p->series.series.n; i++) {
		const struct type *t = &p->series.types.v[p->series.series.v[i].type];
		const char *name = profile_str(p, t->name);
		if (strncmp(name, "gpu-", 4) == 0 || strncmp(name, "hbm-", 4) == 0)
			return true;
	}
	return p->readings.all.n > 0;
}

void query_page_notes(struct query_page *page)
{
	if (page->no_timeline.code)
		note_missing(page, &page->no_timeline, "the page has no timeline");
	const struct err *why = &page->no_idle;
	/* Without GPU data nothing is missing. */
	if (why->code && (why->code != ENODATA || has_gpus(page->p)))
		note_missing(page, why, "the page does not show why GPUs were idle");
	if (page->ids_missing) {
		struct buf text = { 0 };
		buf_adds(&text, query_ids_missing_words);
		note(page, &text);
	}
}

void query_page_opts(const struct query_page *page, struct format_write_opts *opts)
{
	opts->beside = query_gpu_beside_answer;
	opts->beside_of = &page->idle;
	opts->notes = page->notes;
}

/* --- the profile ------------------------------------------------------------------------------ */

static int read_timed(const struct query *q, const struct tree_opts *tree, struct query_page *page,
		      struct err *err)
{
	int rc = query_part(q, tree, true, &page->p, &page->ids_missing, err);
	if (rc)
		return rc;
	rc = query_gpu_tracks(q, page->p, err);
	if (rc) {
		profile_free(page->p);
		page->p = NULL;
	}
	return rc;
}

static int read_profile(const struct query *q, const struct tree_opts *tree, bool is_file,
			struct query_page *page, struct err *err)
{
	struct query timed = *q;
	if (query_is_snapshot(q))
		return query_part(q, tree, is_file, &page->p, &page->ids_missing, err);
	if (is_file)
		return read_timed(q, tree, page, err);
	timed.is_exact = true;
	timed.limits.rows = PAGE_SAMPLES;
	int rc = read_timed(&timed, tree, page, &page->no_timeline);
	if (rc == -ERANGE || rc == -E2BIG || rc == -ENOMEM)
		return query_part(q, tree, false, &page->p, &page->ids_missing, err);
	if (rc)
		*err = page->no_timeline;
	return rc;
}

/* Keeps one large thing in memory at a time: idle times first, whose result is small. */
int query_page(const struct query *q, const struct tree_opts *tree, bool is_file,
	       struct query_page *page, struct err *err)
{
	*page = (struct query_page){ 0 };
	int rc = query_page_idle(q, is_file, page, err);
	if (rc == 0)
		rc = read_profile(q, tree, is_file, page, err);
	if (rc == 0)
		query_page_notes(page);
	return rc;
}

void query_page_done(struct query_page *page)
{
	profile_free(page->p);
	buf_done(&page->idle);
	for (size_t i = 0; page->notes[i]; i++)
		free(page->notes[i]);
}
