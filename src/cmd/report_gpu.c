#include "cmd/report_gpu.h"

#include "base/escape.h"
#include "base/fmt.h"
#include "base/json.h"
#include "format/columns.h"
#include "format/diff_table.h"
#include "format/headline.h"
#include "format/table_rows.h"
#include "format/value.h"
#include "query/gpu_idle.h"

#include <errno.h>
#include <string.h>

enum { NAME_MAX_COLUMNS = 60, PIDS_SHOWN = 8 };
#define CONFIDENCE 0.95

struct idle_report {
	const struct cmd_line *line;
	struct profile *p;
	const struct tree_opts *opts;
	struct table_opts table;
	struct gpu_idle idle;
};
/* Of one device, what its owners did in both of its states. */
struct idle_change {
	struct tree *idle, *busy;
	struct diff *diff;
	struct diff_table table;
};

static int change_build(struct idle_report *r, const struct gpu_idle_device *d,
			struct idle_change *c, struct err *err)
{
	struct tree_opts opts = *r->opts;
	struct diff_opts how = { DIFF_SHARE, CONFIDENCE };
	opts.with_spread = true;
	opts.type = d->idle_type;
	int rc = tree_build(r->p, &opts, &c->idle, err);
	opts.type = d->busy_type;
	rc = rc ? rc : tree_build(r->p, &opts, &c->busy, err);
	if (rc)
		return rc;
	struct diff_side idle = { c->idle, stretches_sum(&d->idle) / 1e9 },
			 busy = { c->busy, stretches_sum(&d->busy) / 1e9 };
	rc = diff_build(idle, busy, &how, &c->diff, err);
	c->table = (struct diff_table){ .diff = c->diff,
					.newer = { "idle", r->p, c->idle, idle.seconds },
					.older = { "busy", r->p, c->busy, busy.seconds } };
	return rc;
}

static void change_done(struct idle_change *c)
{
	diff_free(c->diff);
	tree_free(c->idle);
	tree_free(c->busy);
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
	return c->name ? profile_str(r->p, c->name) : "(not over when this ends)";
}

/* --- text ------------------------------------------------------------------------------------- */

static void put_share(struct buf *b, const struct gpu_idle_device *d, const struct stretches *part)
{
	fmt_duration(b, stretches_sum(part));
	buf_addf(b, " (%.2f %%)", value_percent(stretches_sum(part), stretches_sum(&d->watched)));
}

static void put_owners(const struct gpu_idle_device *d, struct buf *b)
{
	buf_adds(b, "used by process");
	for (size_t i = 0; i < d->pids.n && i < PIDS_SHOWN; i++)
		buf_addf(b, "%s %u", i ? "," : d->pids.n > 1 ? "es" : "", d->pids.v[i]);
	if (d->pids.n > PIDS_SHOWN)
		buf_addf(b, " and %zu more", d->pids.n - PIDS_SHOWN);
	buf_addc(b, '\n');
}

static void put_head(const struct idle_report *r, const struct gpu_idle_device *d, struct buf *b)
{
	buf_adds(b, "GPU ");
	columns_fit(b, profile_str(r->p, d->label), NAME_MAX_COLUMNS);
	buf_adds(b, ": idle ");
	put_share(b, d, &d->idle);
	buf_adds(b, " in ");
	fmt_count(b, gaps_of(d));
	buf_adds(b, gaps_of(d) == 1 ? " gap, busy " : " gaps, busy ");
	put_share(b, d, &d->busy);
	buf_adds(b, " of ");
	fmt_duration(b, stretches_sum(&d->watched));
	buf_adds(b, r->idle.has_windows ? " watched" : " recorded");
	buf_adds(b, HEADLINE_SEPARATOR "exact: from the times of kernels and copies\n");
	put_owners(d, b);
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

static int put_text(struct idle_report *r, const struct gpu_idle_device *d, struct buf *b,
		    struct err *err)
{
	struct idle_change c = { 0 };
	struct buf text = { 0 };
	int rc = change_build(r, d, &c, err);
	if (rc == 0) {
		put_head(r, d, &text);
		buf_addc(&text, '\n');
		put_classes(r, d, &text);
		buf_adds(&text, "\nWhat its processes did while it was idle (new), against while "
				"it was busy (old):\n");
		if (r->table.utf8)
			buf_add(b, text.data, text.len);
		else
			table_ascii(&text, b);
		diff_table_text(&c.table, &r->table, b);
	}
	buf_done(&text);
	change_done(&c);
	return rc;
}

/* --- for programs ------------------------------------------------------------------------------- */

static void put_csv_text(struct buf *b, const char *text)
{
	esc_csv(b, text, strlen(text), SIZE_MAX);
}

static int put_csv(struct idle_report *r, struct buf *b)
{
	buf_adds(b, "gpu,gaps,total_ns,median_ns,longest_ns,ended_by\n");
	for (size_t i = 0; i < r->idle.devices.n; i++) {
		const struct gpu_idle_device *d = &r->idle.devices.v[i];
		for (size_t k = 0; k < classes_shown(r, d); k++) {
			const struct gpu_idle_class *c = &d->classes.v[k];
			put_csv_text(b, profile_str(r->p, d->label));
			buf_addf(b, ",%llu,%lld,%lld,%lld,", (unsigned long long)c->gaps,
				 (long long)c->total_ns, (long long)c->median_ns,
				 (long long)c->longest_ns);
			put_csv_text(b, profile_str(r->p, c->name));
			buf_addc(b, '\n');
		}
	}
	return 0;
}

static void json_classes(const struct idle_report *r, const struct gpu_idle_device *d,
			 struct json *j)
{
	json_key(j, "ended_by");
	json_arr(j);
	for (size_t i = 0; i < classes_shown(r, d); i++) {
		const struct gpu_idle_class *c = &d->classes.v[i];
		json_obj(j);
		json_key_text(j, "name", profile_str(r->p, c->name));
		json_key_u64(j, "gaps", c->gaps);
		json_key_i64(j, "total_ns", c->total_ns);
		json_key_i64(j, "median_ns", c->median_ns);
		json_key_i64(j, "longest_ns", c->longest_ns);
		json_end(j);
	}
	json_end(j);
}

static int json_device(struct idle_report *r, const struct gpu_idle_device *d, struct json *j,
		       struct err *err)
{
	struct idle_change c = { 0 };
	struct buf change = { 0 };
	int rc = change_build(r, d, &c, err);
	if (rc == 0) {
		json_obj(j);
		json_key_str(j, "gpu", profile_str(r->p, d->label));
		json_key_i64(j, "watched_ns", stretches_sum(&d->watched));
		json_key_i64(j, "busy_ns", stretches_sum(&d->busy));
		json_key_i64(j, "idle_ns", stretches_sum(&d->idle));
		json_key_u64(j, "gaps", gaps_of(d));
		json_key_bool(j, "exact", true);
		json_key(j, "processes");
		json_arr(j);
		for (size_t i = 0; i < d->pids.n; i++)
			json_u64(j, d->pids.v[i]);
		json_end(j);
		json_classes(r, d, j);
		json_key(j, "change");
		diff_table_json(&c.table, &r->table, &change);
		json_raw(j, change.data, change.len - 1);
		json_end(j);
	}
	buf_done(&change);
	change_done(&c);
	return rc;
}

static int put_json(struct idle_report *r, struct buf *b, struct err *err)
{
	struct json j = json_to(b);
	int rc = 0;
	json_obj(&j);
	json_key_str(&j, "format", "cresset.gpu-idle");
	json_key_u64(&j, "version", 1);
	json_key_bool(&j, "windows", r->idle.has_windows);
	json_key(&j, "devices");
	json_arr(&j);
	for (size_t i = 0; rc == 0 && i < r->idle.devices.n; i++)
		rc = json_device(r, &r->idle.devices.v[i], &j, err);
	json_end(&j);
	json_end(&j);
	buf_addc(b, '\n');
	return rc;
}

static int put_texts(struct idle_report *r, struct buf *b, struct err *err)
{
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < r->idle.devices.n; i++) {
		buf_adds(b, i ? "\n" : "");
		rc = put_text(r, &r->idle.devices.v[i], b, err);
	}
	return rc;
}

/* --- which samples of the owners ----------------------------------------------------------------- */

/* What says most of what threads did. */
static void choose_type(const struct profile *p, struct filter_opts *f)
{
	static const char *const types[] = { "wall", "cpu", "off-cpu" };
	for (size_t i = 0; !f->type && i < sizeof types / sizeof *types; i++)
		for (size_t k = 0; k < p->series.types.n; k++)
			if (strcmp(profile_str(p, p->series.types.v[k].name), types[i]) == 0)
				f->type = types[i];
}

int report_gpu_idle(const struct cmd_line *line, const struct filter_opts *filter,
		    struct profile *p, uint32_t top_n, bool csv)
{
	const struct term *term = &line->term;
	struct filter_opts f = *filter;
	struct tree_opts opts = { 0 };
	struct idle_report r = { .line = line, .p = p, .opts = &opts };
	struct buf b = { 0 };
	struct err err = { 0 };
	r.table = (struct table_opts){ top_n, term->width_out, term->utf8, term->color_out };
	choose_type(p, &f);
	int status = filter_settle(line, &f, p, &opts);
	if (status != CMD_OK)
		return status;
	int rc = gpu_idle_build(p, &opts, &r.idle, &err);
	if (rc == 0)
		rc = line->globals.json ? put_json(&r, &b, &err)
		     : csv              ? put_csv(&r, &b)
					: put_texts(&r, &b, &err);
	gpu_idle_done(&r.idle);
	if (rc == 0)
		return cmd_print(&b);
	buf_done(&b);
	return cmd_fail(rc == -ENODATA ? CMD_NO_SAMPLE : CMD_USAGE, &err);
}
