/* Collects the parts of the summary line: total, samples, losses, duration. */
#include "format/common/headline.h"

#include "base/buf.h"
#include "base/escape.h"
#include "base/json/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "format/common/value.h"
#include "profile/frame.h"
#include "profile/profile.h"
#include "profile/strtab.h"
#include "profile/tree/tree.h"

#include <time.h>

enum { HEADLINE_MAX_TEXT = 200 };

/* Separates parts; `from` is the start of the line. */
static void part_begin(struct buf *b, size_t from)
{
	if (b->len > from)
		buf_adds(b, HEADLINE_SEPARATOR);
}

static void part_text(struct buf *b, size_t from, const char *prefix, const char *s)
{
	if (!*s)
		return;
	part_begin(b, from);
	buf_adds(b, prefix);
	esc_term(b, s, strlen(s), HEADLINE_MAX_TEXT);
}

static void put_percent(struct buf *b, double percent)
{
	buf_addf(b, percent > 0 && percent < 0.1 ? "< 0.1 %%" : "%.1f %%", percent);
}

/* The percentage is of the total for types that count samples; for others (times, bytes), of the
 * rows. */
static void part_lost(const struct profile *p, const struct tree *t, size_t from, struct buf *b)
{
	bool is_count = strcmp(t->unit, "samples") == 0;
	double kept = is_count ? (double)t->unfiltered_total : (double)t->n_samples;
	uint64_t lost = profile_lost_samples(p);
	bool is_recording = *profile_str(p, p->meta.clock); /* other sources do not count losses */
	if (!lost && !is_recording)
		return;
	part_begin(b, from);
	fmt_count(b, lost);
	buf_adds(b, " lost");
	if (!lost || !kept)
		return;
	buf_adds(b, " (");
	put_percent(b, value_percent(lost, lost + kept));
	buf_addc(b, ')');
}

int64_t headline_truncated(const struct tree *t)
{
	bool *is_cut = xcalloc(t->funcs.n, sizeof *is_cut), any = false;
	double sum = 0;
	for (uint32_t i = 0; i < t->funcs.n; i++) {
		const struct tree_func *f = &t->funcs.v[i];
		is_cut[i] = f->kind == FRAME_MARKER &&
			    str_starts(strtab_get(&t->strings, f->name), "[truncated");
		any |= is_cut[i];
	}
	for (uint32_t i = 1; any && i < t->nodes.n; i++) {
		const struct tree_node *n = &t->nodes.v[i];
		if (is_cut[n->func])
			sum += t->is_inverted ? n->self : n->total;
	}
	free(is_cut);
	return value_clamp(sum);
}

static bool has_times(const struct profile *p)
{
	for (size_t i = 0; i < p->samples.n; i++)
		if (p->samples.time_ns[i])
			return true;
	return false;
}

/* Returns the word for rows of a type that does not count samples. Rows without times are sums. */
static const char *rows_word(const struct profile *p, const struct tree *t)
{
	if (!has_times(p))
		return "samples";
	if (strcmp(t->type_name, "wall") == 0)
		return "samples and waits";
	if (strcmp(t->type_name, "off-cpu") == 0 || strcmp(t->type_name, "sched-wait") == 0 ||
	    strcmp(t->type_name, "lock") == 0)
		return t->n_samples == 1 ? "wait" : "waits";
	return "samples";
}

void headline_counts(const struct profile *p, const struct tree *t, struct buf *b)
{
	const struct tree_node *root = &t->nodes.v[TREE_ROOT];
	size_t from = b->len;
	struct buf value = { 0 };
	value_fmt(&value, root->total, t->unit);
	esc_term(b, value.data, value.len, HEADLINE_MAX_TEXT);
	if (t->scale > 0 && t->scaled_unit) {
		buf_adds(b, " \xe2\x89\x88 ");
		value_fmt(b, value_clamp(root->total * t->scale), t->scaled_unit);
	}
	if (strcmp(t->unit, "samples") != 0 && t->n_samples) {
		part_begin(b, from);
		fmt_count(b, t->n_samples);
		buf_addf(b, " %s", rows_word(p, t));
	}
	if (p->meta.duration_ns > 0) {
		part_begin(b, from);
		fmt_duration(b, p->meta.duration_ns);
		buf_adds(b, " recorded");
	}
	part_lost(p, t, from, b);
	double truncated = value_percent(headline_truncated(t), root->total);
	if (truncated > 0) {
		part_begin(b, from);
		buf_addf(b, truncated < 0.1 ? "< 0.1 %% truncated" : "%.1f %% truncated",
			 truncated);
	}
	if (t->unfiltered_total && t->unfiltered_total != root->total) {
		part_begin(b, from);
		put_percent(b, value_percent(root->total, t->unfiltered_total));
		buf_adds(b, " of all after filters");
	}
	if (t->is_diff) {
		part_begin(b, from);
		buf_adds(b, "compared with ");
		buf_clear(&value);
		value_fmt(&value, root->other_total, t->unit);
		esc_term(b, value.data, value.len, HEADLINE_MAX_TEXT);
	}
	buf_done(&value);
}

void headline_origin(const struct profile *p, struct buf *b)
{
	size_t from = b->len;
	part_text(b, from, "", profile_str(p, p->meta.command));
	part_text(b, from, "", profile_str(p, p->meta.host));
	part_text(b, from, "Linux ", profile_str(p, p->meta.kernel));
	if (p->meta.cpus) {
		part_begin(b, from);
		buf_addf(b, "%u CPU%s", p->meta.cpus, p->meta.cpus == 1 ? "" : "s");
	}
	part_text(b, from, "", profile_str(p, p->meta.clock));
	time_t start = p->meta.start_wall_ns / 1000000000;
	struct tm tm;
	char text[64];
	if (start > 0 && gmtime_r(&start, &tm) &&
	    strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &tm) > 0)
		part_text(b, from, "", text);
}

void headline_start_json(struct json *j, int64_t wall_ns)
{
	time_t seconds = wall_ns / 1000000000;
	char text[40] = "";
	struct tm tm;
	if (wall_ns > 0 && gmtime_r(&seconds, &tm))
		strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &tm);
	json_key_text(j, "start", text);
}
