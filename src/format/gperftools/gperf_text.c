#include "base/buf.h"
#include "base/err.h"
#include "base/input.h"
#include "base/vec.h"
#include "format/common/address_map.h"
#include "format/common/give.h"
#include "format/common/value.h"
#include "format/gperftools/gperftools.h"
#include "profile/frame.h"
#include "profile/series.h"
#include "profile/sink.h"
#include "profile/stack.h"
#include "profile/sum.h"

#include <errno.h>
#include <math.h>
#include <string.h>

enum { GPERF_VALUES = 4, GPERF_NAME = 64 };

enum gperf_kind { GPERF_NONE, GPERF_HEAP, GPERF_COUNT, GPERF_DELAY };

/* The first line. */
struct gperf_head {
	enum gperf_kind kind;
	bool is_scaled; /* rows are to be scaled by the period */
	bool has_alloc; /* rows have values beside those in use */
	int64_t period;
	struct give_text name; /* of a count or a delay */
};

/* --- texts ------------------------------------------------------------------------------------ */

struct gperf_scan {
	const char *s, *end;
};

static void gperf_blanks(struct gperf_scan *c)
{
	while (c->s < c->end && (*c->s == ' ' || *c->s == '\t'))
		c->s++;
}

static bool gperf_skip(struct gperf_scan *c, const char *text)
{
	size_t len = strlen(text);
	gperf_blanks(c);
	if ((size_t)(c->end - c->s) < len || memcmp(c->s, text, len) != 0)
		return false;
	c->s += len;
	return true;
}

static bool gperf_number(struct gperf_scan *c, int64_t *out)
{
	int64_t v = 0;
	gperf_blanks(c);
	const char *from = c->s;
	for (; c->s < c->end && *c->s >= '0' && *c->s <= '9'; c->s++)
		v = sum_add(sum_mul(v, 10), *c->s - '0');
	*out = v;
	return c->s > from;
}

/* Reads "0x12ab". */
static bool gperf_address(struct gperf_scan *c, uint64_t *out)
{
	static const char digits[] = "0123456789abcdef";
	uint64_t v = 0;
	if (!gperf_skip(c, "0x"))
		return false;
	const char *from = c->s, *found;
	for (; c->s < c->end && (found = memchr(digits, *c->s | 0x20, 16)) && *c->s >= '0'; c->s++)
		v = v << 4 | (found - digits);
	*out = v;
	return c->s > from;
}

static struct give_text gperf_word(struct gperf_scan *c)
{
	gperf_blanks(c);
	const char *from = c->s;
	while (c->s < c->end && *c->s != ' ' && *c->s != '\t')
		c->s++;
	return (struct give_text){ from, c->s - from };
}

static bool gperf_is(struct give_text t, const char *text)
{
	return t.len == strlen(text) && memcmp(t.s, text, t.len) == 0;
}

/* --- the first line --------------------------------------------------------------------------- */

/* Reads "N: BYTES [N: BYTES] @". */
static bool gperf_heap_values(struct gperf_scan *c, int64_t v[GPERF_VALUES])
{
	return gperf_number(c, &v[0]) && gperf_skip(c, ":") && gperf_number(c, &v[1]) &&
	       gperf_skip(c, "[") && gperf_number(c, &v[2]) && gperf_skip(c, ":") &&
	       gperf_number(c, &v[3]) && gperf_skip(c, "]") && gperf_skip(c, "@");
}

/* Reads "heap_v2/524288", "heapprofile", "growthz/1". Go writes twice its rate: "heap/8192". */
static void gperf_heap_kind(struct gperf_scan *c, struct gperf_head *h)
{
	struct give_text word = gperf_word(c);
	const char *slash = word.len ? memchr(word.s, '/', word.len) : NULL;
	struct give_text kind = { word.s, slash ? (size_t)(slash - word.s) : word.len };
	struct gperf_scan period = { slash ? slash + 1 : NULL, word.s + word.len };
	if (!slash || !gperf_number(&period, &h->period))
		h->period = 0;
	if (gperf_is(kind, "heap"))
		h->period /= 2;
	h->is_scaled = h->period > 1 && (gperf_is(kind, "heap") || gperf_is(kind, "heap_v2") ||
					 gperf_is(kind, "heapz_v2"));
}

static bool gperf_heap_head(struct gperf_scan c, struct gperf_head *h)
{
	int64_t v[GPERF_VALUES];
	if (!gperf_skip(&c, "heap profile:") || !gperf_heap_values(&c, v))
		return false;
	h->kind = GPERF_HEAP;
	h->has_alloc = (v[2] != v[0] && v[2]) || (v[3] != v[1] && v[3]);
	gperf_heap_kind(&c, h);
	return true;
}

/* Reads "goroutine profile: total 12". */
static bool gperf_count_head(struct gperf_scan c, struct gperf_head *h)
{
	int64_t total;
	h->name = gperf_word(&c);
	if (!h->name.len || h->name.len > GPERF_NAME || !gperf_skip(&c, "profile: total") ||
	    !gperf_number(&c, &total) || c.s != c.end)
		return false;
	h->kind = GPERF_COUNT;
	return true;
}

/* Reads "--- contention:", "--- mutex:", "--- contentionz 1 ---". */
static bool gperf_delay_head(struct gperf_scan c, struct gperf_head *h)
{
	if (!gperf_skip(&c, "---"))
		return false;
	h->name = gperf_word(&c);
	if (h->name.len && h->name.s[h->name.len - 1] == ':')
		h->name.len--;
	h->kind = GPERF_DELAY;
	return gperf_is(h->name, "contention") || gperf_is(h->name, "contentionz") ||
	       gperf_is(h->name, "mutex");
}

static bool gperf_head_read(const char *line, size_t len, struct gperf_head *out)
{
	struct gperf_scan c = { line, line + len };
	*out = (struct gperf_head){ 0 };
	return gperf_heap_head(c, out) || gperf_count_head(c, out) || gperf_delay_head(c, out);
}

/* --- rows ------------------------------------------------------------------------------------- */

/* Go names the frames of a row in lines below it; otherwise the maps at the end are needed. */
struct gperf_row {
	uint32_t first, n; /* in pcs or names */
	bool is_named;
	int64_t v[GPERF_VALUES];
};

struct gperf_text {
	struct sink *sink;
	struct gperf_head head;
	struct address_map map;
	VEC(struct gperf_row) rows;
	VEC(uint64_t) pcs;   /* of all rows, leaf first */
	VEC(uint32_t) names; /* frames of all named rows, leaf first */
	VEC(uint32_t) stack; /* root first */
	uint32_t series[GPERF_VALUES];
	struct give_sums sums;
	int64_t cycles_hz, period;
	bool in_maps;
	uint64_t skipped;
};

static bool gperf_values(const struct gperf_text *t, struct gperf_scan *c, int64_t v[GPERF_VALUES])
{
	if (t->head.kind == GPERF_HEAP)
		return gperf_heap_values(c, v);
	return gperf_number(c, &v[0]) && (t->head.kind == GPERF_COUNT || gperf_number(c, &v[1])) &&
	       gperf_skip(c, "@");
}

/* Adds up the last two rows if neither has a frame: such lines are much shorter than a row. */
static void gperf_join_empty(struct gperf_text *t)
{
	size_t n = t->rows.n;
	struct gperf_row *rows = t->rows.v;
	if (n < 2 || t->head.is_scaled || rows[n - 1].n || rows[n - 2].n)
		return;
	for (int i = 0; i < GPERF_VALUES; i++)
		rows[n - 2].v[i] = sum_add(rows[n - 2].v[i], rows[n - 1].v[i]);
	t->rows.n--;
}

static bool gperf_row_line(struct gperf_text *t, struct gperf_scan c)
{
	struct gperf_row row = { .first = t->pcs.n };
	uint64_t pc;
	if (!gperf_values(t, &c, row.v))
		return false;
	while (gperf_address(&c, &pc)) {
		if (row.n <= STACK_MAX_DEPTH && t->pcs.n < GPERF_MAX_FRAMES) {
			vec_push(&t->pcs, pc);
			row.n++;
		}
	}
	gperf_join_empty(t);
	vec_push(&t->rows, row);
	gperf_blanks(&c);
	return c.s == c.end;
}

/* "function+0x12": without the offset. */
static struct give_text gperf_function(struct give_text t)
{
	const char *plus = t.len ? memrchr(t.s, '+', t.len) : NULL;
	if (plus && plus > t.s && t.s + t.len - plus > 3 && memcmp(plus, "+0x", 3) == 0)
		t.len = plus - t.s;
	return t;
}

/* "/src/main.go:12": the file, and its line. */
static struct give_text gperf_source(struct gperf_scan c, uint32_t *line)
{
	const char *colon = c.s < c.end ? memrchr(c.s, ':', c.end - c.s) : NULL;
	struct gperf_scan digits = { colon ? colon + 1 : c.end, c.end };
	int64_t number = 0;
	if (!colon || !gperf_number(&digits, &number) || digits.s != c.end)
		return (struct give_text){ c.s, c.end - c.s };
	*line = number <= INT32_MAX ? number : 0;
	return (struct give_text){ c.s, colon - c.s };
}

/* "#	0x4b3f0b	main.allocBig+0x2b	/src/m.go:5"; names of methods have blanks. */
static void gperf_name_line(struct gperf_text *t, struct gperf_scan c)
{
	struct give_frame f = { .kind = FRAME_GO };
	uint64_t pc;
	if (!t->rows.n || !gperf_skip(&c, "#") || !gperf_address(&c, &pc))
		return;
	struct gperf_row *row = &t->rows.v[t->rows.n - 1];
	if (!row->is_named) {
		row->is_named = true;
		row->first = t->names.n;
		row->n = 0;
	}
	gperf_blanks(&c);
	const char *tab = c.s < c.end ? memchr(c.s, '\t', c.end - c.s) : NULL;
	f.name = gperf_function((struct give_text){ c.s, (tab ? tab : c.end) - c.s });
	c.s = tab ? tab : c.end;
	gperf_blanks(&c);
	f.file = gperf_source(c, &f.line);
	if (f.name.len && row->n <= STACK_MAX_DEPTH && t->names.n < GPERF_MAX_FRAMES) {
		vec_push(&t->names, give_frame(t->sink, &f));
		row->n++;
	}
}

static bool gperf_setting(struct gperf_scan c, const char *key, int64_t *out)
{
	int64_t v;
	if (!gperf_skip(&c, key) || !gperf_skip(&c, "=") || !gperf_number(&c, &v))
		return false;
	*out = v;
	return true;
}

static void gperf_line(struct gperf_text *t, const char *line, size_t len)
{
	struct gperf_scan c = { line, line + len };
	struct gperf_scan at = c;
	gperf_blanks(&at);
	if (at.s == at.end)
		return;
	if (gperf_skip(&at, "MAPPED_LIBRARIES:") || gperf_skip(&at, "--- Memory map: ---")) {
		t->in_maps = true;
	} else if (t->in_maps) {
		address_map_add_line(&t->map, line, len);
	} else if (*at.s == '#') {
		gperf_name_line(t, c);
	} else if (t->head.kind != GPERF_DELAY ||
		   (!gperf_setting(c, "cycles/second", &t->cycles_hz) &&
		    !gperf_setting(c, "sampling period", &t->period) && memchr(line, '@', len))) {
		t->skipped += !gperf_row_line(t, c);
	}
}

/* --- output ----------------------------------------------------------------------------------- */

static void gperf_heap_types(struct gperf_text *t)
{
	static const char *const names[GPERF_VALUES] = { "inuse_objects", "inuse_space",
							 "alloc_objects", "alloc_space" };
	/* The type that is shown is the last one, as in pprof. */
	static const uint8_t order[GPERF_VALUES] = { 2, 3, 0, 1 };
	for (int i = t->head.has_alloc ? 0 : 2; i < GPERF_VALUES; i++) {
		struct give_type type = { .name = "space",
					  .sample_type = names[order[i]],
					  .unit = order[i] % 2 ? "bytes" : "count",
					  .period_type = "space",
					  .period_unit = "bytes",
					  .period = t->head.period,
					  .aggregation = order[i] < 2 ? AGG_SNAPSHOT : AGG_SUM };
		t->series[order[i]] = give_series(t->sink, &type);
	}
}

static void gperf_delay_types(struct gperf_text *t)
{
	struct give_type type = { .name = "contentions",
				  .sample_type = "contentions",
				  .unit = "count",
				  .period_type = "contentions",
				  .period_unit = "count",
				  .period = t->period };
	t->series[1] = give_series(t->sink, &type);
	type.sample_type = "delay";
	type.unit = "nanoseconds";
	t->series[0] = give_series(t->sink, &type);
}

static void gperf_count_type(struct gperf_text *t, const char *name)
{
	struct give_type type = { .name = name, .sample_type = name, .unit = "count" };
	t->series[0] = give_series(t->sink, &type);
}

static void gperf_types(struct gperf_text *t, const char *name)
{
	struct profile_meta *meta = t->sink->ops->meta(t->sink);
	if (t->head.kind == GPERF_HEAP)
		gperf_heap_types(t);
	else if (t->head.kind == GPERF_DELAY)
		gperf_delay_types(t);
	else
		gperf_count_type(t, name);
	meta->default_type = meta->sample_types.v[meta->sample_types.n - 1];
}

/* What the sampler saw stands for more: it takes an allocation with the probability
 * 1 - exp(-size / period). */
static void gperf_unsample(int64_t period, int64_t *count, int64_t *bytes)
{
	if (!*count || !*bytes)
		return;
	double scale = 1 / (1 - exp(-((double)*bytes / (double)*count) / (double)period));
	*count = value_clamp(*count * scale);
	*bytes = value_clamp(*bytes * scale);
}

static void gperf_scale(const struct gperf_text *t, int64_t v[GPERF_VALUES])
{
	if (t->head.is_scaled) {
		gperf_unsample(t->head.period, &v[0], &v[1]);
		gperf_unsample(t->head.period, &v[2], &v[3]);
	} else if (t->head.kind == GPERF_DELAY) {
		double ns_per_cycle = t->cycles_hz > 0 ? 1e9 / t->cycles_hz : 1;
		v[0] = value_clamp((double)v[0] * t->period * ns_per_cycle);
		v[1] = sum_mul(v[1], t->period);
	}
}

static uint32_t gperf_stack(struct gperf_text *t, const struct gperf_row *row)
{
	vec_clear(&t->stack);
	for (uint32_t i = row->n; i-- > 0;) {
		size_t at = row->first + i;
		vec_push(&t->stack, row->is_named ? t->names.v[at]
						  : address_map_frame(&t->map, t->pcs.v[at] - 1));
	}
	return t->sink->ops->stack(t->sink, t->stack.v, t->stack.n);
}

static void gperf_give(struct gperf_text *t)
{
	bool is_heap = t->head.kind == GPERF_HEAP;
	int n = is_heap ? (t->head.has_alloc ? 4 : 2) : t->head.kind == GPERF_DELAY ? 2 : 1;
	for (size_t i = 0; i < t->rows.n; i++) {
		struct gperf_row *row = &t->rows.v[i];
		struct give_row out = { .stack = gperf_stack(t, row), GIVE_ROW_NO_IDS };
		gperf_scale(t, row->v);
		for (int k = 0; k < n; k++) {
			out.series = t->series[k];
			out.value = row->v[k];
			if (out.value)
				give_sums_add(&t->sums, &out);
		}
	}
	give_sums_end(&t->sums, t->sink);
	if (t->skipped)
		t->sink->ops->loss(t->sink, LOSS_INPUT_SKIPPED, t->skipped);
}

static int gperf_read_lines(struct gperf_text *t, struct input *in, struct err *err)
{
	const char *line;
	char name[GPERF_NAME + 1] = "";
	size_t len;
	bool cut;
	int rc;
	while ((rc = input_line(in, &line, &len, &cut, err)) > 0 && len == 0)
		;
	if (rc < 0)
		return rc;
	if (rc == 0 || !gperf_head_read(line, len, &t->head))
		return err_set(err, EBADMSG, "%s: not a text profile of gperftools or Go",
			       input_name(in));
	if (t->head.kind == GPERF_COUNT)
		memcpy(name, t->head.name.s, t->head.name.len);
	while ((rc = input_line(in, &line, &len, &cut, err)) > 0) {
		gperf_line(t, line, len);
		t->skipped += cut;
	}
	if (rc == 0) {
		gperf_types(t, name);
		gperf_give(t);
	}
	return rc;
}

static int gperf_text_read(struct input *in, struct sink *sink, struct err *err)
{
	struct gperf_text t = { .sink = sink, .map = { .sink = sink }, .period = 1 };
	int rc = gperf_read_lines(&t, in, err);
	address_map_done(&t.map);
	give_sums_done(&t.sums);
	vec_done(&t.rows);
	vec_done(&t.pcs);
	vec_done(&t.names);
	vec_done(&t.stack);
	return rc;
}

static int gperf_text_read_here(struct input *in, struct sink *sink, const struct format_here *here,
				struct err *err)
{
	(void)here;
	return gperf_text_read(in, sink, err);
}

static bool gperf_text_detect(const char *head, size_t len)
{
	struct cur c = cur_of(head, len);
	struct gperf_head h;
	const char *line;
	size_t line_len;
	while (cur_line(&c, &line, &line_len))
		if (line_len)
			return gperf_head_read(line, line_len, &h);
	return false;
}

const struct format format_gperf_text = {
	.name = "gperftools-text",
	.summary = "heap profiles of gperftools (HEAPPROFILE), and Go's profiles as text (debug=1)",
	.detect = gperf_text_detect,
	.read = gperf_text_read,
	.read_here = gperf_text_read_here,
};
