/* Writes text and CSV. */
#include "query/gpu/gpu_idle.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/escape.h"
#include "base/str.h"
#include "format/common/columns.h"
#include "format/common/headline.h"
#include "format/common/value.h"
#include "format/table/table.h"
#include "format/table/table_rows.h"
#include "profile/profile.h"
#include "profile/sink.h"

#include <errno.h>
#include <string.h>

enum { NAME_MAX_COLUMNS = 60, OWNERS_SHOWN = 8 };

struct idle_report {
	const struct gpu_idle *idle;
	struct table_opts table;
};

static const char *text_of(const struct idle_report *r, uint32_t string)
{
	return profile_str(r->idle->p, string);
}

static uint64_t gaps_of(const struct gpu_idle_device *d)
{
	return d->idle.all.n;
}

static size_t classes_shown(const struct idle_report *r, const struct gpu_idle_device *d)
{
	return r->table.top_n && r->table.top_n < d->classes.n ? r->table.top_n : d->classes.n;
}

static const char *class_name(const struct idle_report *r, const struct gpu_idle_class *c)
{
	if (c->name)
		return text_of(r, c->name);
	return c->is_over ? "(unknown work)" : "(not over at the end)";
}

/* --- text ------------------------------------------------------------------------------------- */

static void put_share(struct buf *b, const struct gpu_idle_device *d,
		      const struct interval_set *part)
{
	fmt_duration(b, interval_set_sum(part));
	buf_addf(b, " (%.2f %%)",
		 value_percent(interval_set_sum(part), interval_set_sum(&d->watched)));
}

static void put_owners(const struct idle_report *r, const struct gpu_idle_device *d, struct buf *b)
{
	static const char *const words[] = {
		[GPU_OWNED_RAN] = "used by process",
		[GPU_OWNED_LISTED] = "the driver lists process",
		[GPU_OWNED_CALLED] = "the driver lists none; a GPU's library was called by process",
	};
	if (!d->owners.n) {
		buf_adds(b, "no known process uses it\n");
		return;
	}
	buf_adds(b, words[d->owned]);
	buf_adds(b, d->owners.n > 1 ? "es " : " ");
	for (size_t i = 0; i < d->owners.n && i < OWNERS_SHOWN; i++) {
		const struct gpu_idle_owner *o = &d->owners.v[i];
		buf_adds(b, i ? ", " : "");
		if (o->pid != SAMPLE_NO_ID)
			buf_addf(b, "%u", o->pid);
		if (o->pid != SAMPLE_NO_ID && o->name)
			buf_addc(b, ' ');
		columns_fit(b, text_of(r, o->name), NAME_MAX_COLUMNS);
	}
	if (d->owners.n > OWNERS_SHOWN)
		buf_addf(b, " and %zu more", d->owners.n - OWNERS_SHOWN);
	buf_addc(b, '\n');
}

static void put_source(const struct idle_report *r, const struct gpu_idle_device *d, struct buf *b)
{
	buf_adds(b, HEADLINE_SEPARATOR);
	if (d->source == GPU_IDLE_RECORDS) {
		buf_adds(b, "exact, from the times of kernels and copies\n");
		return;
	}
	buf_adds(b, "\302\261 ");
	fmt_duration(b, d->uncertain_ns);
	buf_addf(b, ": from readings of its driver below %g %%, one each ",
		 100 * r->idle->threshold);
	fmt_duration(b, d->period_ns);
	buf_adds(b, "; shorter gaps are not seen\n");
}

static void put_name(const struct idle_report *r, const struct gpu_idle_device *d, struct buf *b)
{
	buf_adds(b, d->is_part ? "Observed time of GPU " : "GPU ");
	columns_fit(b, text_of(r, d->label), NAME_MAX_COLUMNS);
	if (d->host) {
		buf_adds(b, " of ");
		columns_fit(b, text_of(r, d->host), NAME_MAX_COLUMNS);
	}
	if (d->model && !d->is_part) {
		buf_adds(b, " (");
		columns_fit(b, text_of(r, d->model), NAME_MAX_COLUMNS);
		buf_addc(b, ')');
	}
}

static void put_head(const struct idle_report *r, const struct gpu_idle_device *d, struct buf *b)
{
	bool in_windows = d->source == GPU_IDLE_RECORDS && r->idle->has_windows;
	put_name(r, d, b);
	buf_adds(b, ": idle ");
	put_share(b, d, &d->idle);
	buf_adds(b, " in ");
	fmt_count(b, gaps_of(d));
	buf_adds(b, gaps_of(d) == 1 ? " gap, busy " : " gaps, busy ");
	put_share(b, d, &d->busy);
	buf_adds(b, " of ");
	fmt_duration(b, interval_set_sum(&d->watched));
	buf_adds(b, in_windows                       ? " watched"
		    : d->source == GPU_IDLE_READINGS ? " read"
						     : " recorded");
	put_source(r, d, b);
	put_owners(r, d, b);
}

static void put_time(struct buf *b, int64_t ns)
{
	struct buf text = { 0 };
	fmt_duration(&text, ns);
	columns_right(b, buf_cstr(&text), 11);
	buf_done(&text);
}

static void put_classes(const struct idle_report *r, const struct gpu_idle_device *d, struct buf *b)
{
	size_t shown = classes_shown(r, d);
	buf_adds(b, "      gaps        idle      median     longest  ended by\n");
	for (size_t i = 0; i < shown; i++) {
		const struct gpu_idle_class *c = &d->classes.v[i];
		buf_addf(b, "%10llu ", (unsigned long long)c->gaps);
		put_time(b, c->total_ns);
		buf_addc(b, ' ');
		put_time(b, c->median_ns);
		buf_addc(b, ' ');
		put_time(b, c->longest_ns);
		buf_adds(b, "  ");
		columns_fit(b, class_name(r, c), NAME_MAX_COLUMNS);
		buf_addc(b, '\n');
	}
	if (shown < d->classes.n)
		buf_addf(b, "(+%zu kinds)\n", d->classes.n - shown);
}

static int put_change(const struct idle_report *r, const struct gpu_idle_device *d, struct buf *b,
		      struct err *err)
{
	struct gpu_idle_change c;
	int rc = gpu_idle_compare(r->idle, d, &c, err);
	const struct diff_table table = {
		.diff = c.diff,
		.newer = { "idle", r->idle->p, c.idle, interval_set_sum(&d->idle) / 1e9 },
		.older = { "busy", r->idle->p, c.busy, interval_set_sum(&d->busy) / 1e9 },
	};
	if (rc == 0) {
		buf_adds(b, "\nActivity of its processes while it was idle (new), compared with "
			    "while it was busy (old):\n");
		diff_table_text(&table, &r->table, b);
	}
	gpu_idle_change_done(&c);
	return rc;
}

static int put_text(const struct idle_report *r, const struct gpu_idle_device *d, struct buf *b,
		    struct err *err)
{
	struct buf text = { 0 };
	struct err why = { 0 };
	put_head(r, d, &text);
	if (d->classes.n) {
		buf_addc(&text, '\n');
		put_classes(r, d, &text);
	}
	if (r->table.utf8)
		buf_add(b, text.data, text.len);
	else
		table_ascii(&text, b);
	buf_done(&text);
	int rc = put_change(r, d, b, &why);
	if (rc == -ENODATA) {
		buf_addf(b, "\nNo stacks to compare: %s\n", why.text);
		return 0;
	}
	if (rc)
		*err = why;
	return rc;
}

int gpu_idle_text(const struct gpu_idle *g, const struct table_opts *opts, struct buf *b,
		  struct err *err)
{
	const struct idle_report r = { g, *opts };
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < g->devices.n; i++) {
		buf_adds(b, i ? "\n" : "");
		rc = put_text(&r, &g->devices.v[i], b, err);
	}
	return rc;
}

/* --- CSV -------------------------------------------------------------------------------------- */

static void put_csv_text(struct buf *b, const char *text)
{
	esc_csv(b, text, strlen(text), SIZE_MAX);
}

static void put_csv_row(const struct idle_report *r, const struct gpu_idle_device *d,
			const struct gpu_idle_class *c, struct buf *b)
{
	put_csv_text(b, text_of(r, d->label));
	buf_addf(b, ",%llu,%lld,%lld,%lld,", (unsigned long long)c->gaps, (long long)c->total_ns,
		 (long long)c->median_ns, (long long)c->longest_ns);
	put_csv_text(b, text_of(r, c->name));
	buf_addf(b, ",%d,", c->is_over);
	put_csv_text(b, text_of(r, d->host));
	buf_addf(b, ",%s,%lld\n", gpu_idle_source_names[d->source], (long long)d->period_ns);
}

void gpu_idle_csv(const struct gpu_idle *g, uint32_t top_n, struct buf *b)
{
	const struct idle_report r = { g, { .top_n = top_n } };
	buf_adds(b, "gpu,gaps,total_ns,median_ns,longest_ns,ended_by,over,host,source,period_ns\n");
	for (size_t i = 0; i < g->devices.n; i++) {
		const struct gpu_idle_device *d = &g->devices.v[i];
		for (size_t k = 0; k < classes_shown(&r, d); k++)
			put_csv_row(&r, d, &d->classes.v[k], b);
	}
}
