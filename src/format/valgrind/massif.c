#include "base/err.h"
#include "base/input.h"
#include "base/vec.h"
#include "format/valgrind/valgrind.h"
#include "profile/frame.h"
#include "profile/series.h"
#include "profile/sink.h"
#include "profile/sum.h"

#include <errno.h>
#include <string.h>

static bool massif_number(const char **s, const char *end, int64_t *out)
{
	int64_t v = 0;
	const char *from = *s;
	for (; *s < end && **s >= '0' && **s <= '9'; (*s)++)
		v = sum_add(sum_mul(v, 10), **s - '0');
	*out = v;
	return *s > from;
}

/* Returns the bracket that belongs to the last character, or NULL. */
static const char *valgrind_bracket(const char *s, size_t len)
{
	int depth = 0;
	for (const char *p = s + len; len && s[len - 1] == ')' && p-- > s;) {
		depth += (*p == ')') - (*p == '(');
		if (depth == 0)
			return p > s && p[-1] == ' ' ? p : NULL;
	}
	return NULL;
}

/* Sets the place of a frame from what is in its last brackets. */
static void valgrind_place(struct give_frame *f, const char *s, const char *end)
{
	static const char in[] = "in ";
	size_t n = strlen(in);
	if ((size_t)(end - s) > n && memcmp(s, in, n) == 0) {
		const char *slash = memrchr(s, '/', end - s);
		const char *from = slash ? slash + 1 : s + n;
		f->binary = (struct give_text){ from, end - from };
		return;
	}
	const char *colon = memrchr(s, ':', end - s), *digits = colon ? colon + 1 : end;
	int64_t line = 0;
	if (!colon || !massif_number(&digits, end, &line) || digits != end)
		colon = end;
	else if (line <= INT32_MAX)
		f->line = line;
	f->file = (struct give_text){ s, colon - s };
}

uint32_t valgrind_frame(struct sink *sink, const char *s, size_t len)
{
	struct give_frame f = { .kind = GIVE_GUESS };
	const char *end = s + len, *colon = len > 2 && s[1] == 'x' ? memchr(s, ':', len) : NULL;
	if (colon && end - colon > 2)
		s = colon + 2;
	const char *open = valgrind_bracket(s, end - s);
	f.name = (struct give_text){ s, (open ? open - 1 : end) - s };
	if (open)
		valgrind_place(&f, open + 1, end - 1);
	if (f.name.len == 3 && memcmp(f.name.s, "???", 3) == 0)
		f.name.len = 0;
	return give_frame(sink, &f);
}

/* --- massif ----------------------------------------------------------------------------------- */

struct massif_node {
	uint32_t frame;
	int64_t left;    /* bytes that no caller has accounted for yet */
	int64_t callers; /* lines that belong to it and were not read yet */
};
struct massif_row {
	uint32_t stack;
	int64_t bytes;
};

struct massif_rows {
	struct massif_row *v;
	size_t n, cap;
};

struct massif_reader {
	struct sink *sink;
	VEC(struct massif_node) path; /* open nodes; the first has no frame */
	VEC(uint32_t) frames;
	struct massif_rows rows;                     /* of the tree to be shown */
	struct massif_rows fresh;                    /* of the one being read */
	bool in_tree, is_massif, has_tree, has_node; /* has_node: the tree being read has one */
	bool is_peak, has_peak; /* the tree being read, and the one to be shown */
	int64_t heap, most;     /* of this snapshot; of all */
	uint64_t skipped;
};

/* Frames of the path from the outermost caller to the function that allocates. */
static void massif_close(struct massif_reader *m, size_t depth)
{
	while (m->path.n > depth) {
		int64_t left = m->path.v[m->path.n - 1].left;
		vec_clear(&m->frames);
		for (size_t i = m->path.n; i-- > 1;)
			vec_push(&m->frames, m->path.v[i].frame);
		if (left > 0) {
			uint32_t stack = m->sink->ops->stack(m->sink, m->frames.v, m->frames.n);
			vec_push(&m->fresh, (struct massif_row){ stack, left });
		}
		m->path.n--;
	}
}

/* "in 3 places, all below massif's threshold (1.00%)" */
static bool massif_is_rest(const char *s, const char *end)
{
	static const char in[] = "in ";
	return (size_t)(end - s) > strlen(in) && memcmp(s, in, strlen(in)) == 0;
}

static uint32_t massif_frame(struct massif_reader *m, const char *s, const char *end)
{
	static const struct give_frame rest = { .kind = FRAME_MARKER,
						.name = { "[below massif's threshold]", 26 } };
	return massif_is_rest(s, end) ? give_frame(m->sink, &rest)
				      : valgrind_frame(m->sink, s, end - s);
}

/* Reads "  n2: 300 0x12: f (a.c:1)". */
static bool massif_node(struct massif_reader *m, const char *line, size_t len)
{
	const char *s = line, *end = line + len;
	int64_t children, bytes;
	while (s < end && *s == ' ')
		s++;
	size_t depth = s - line;
	if (s == end || *s++ != 'n' || !massif_number(&s, end, &children) || end - s < 3 ||
	    *s++ != ':' || *s++ != ' ' || !massif_number(&s, end, &bytes) || s == end ||
	    *s++ != ' ')
		return false;
	if (depth > m->path.n || depth >= MASSIF_MAX_DEPTH)
		return depth >= MASSIF_MAX_DEPTH;
	massif_close(m, depth);
	m->has_node = true;
	if (depth) {
		struct massif_node *parent = &m->path.v[depth - 1];
		parent->left = sum_sub(parent->left, bytes);
		parent->callers--;
	}
	vec_push(&m->path, (struct massif_node){ depth ? massif_frame(m, s, end) : 0, bytes,
						 depth + 1 < MASSIF_MAX_DEPTH ? children : 0 });
	return true;
}

static void massif_end_tree(struct massif_reader *m)
{
	massif_close(m, 0);
	m->in_tree = false;
	m->skipped += !m->has_node; /* cut before it */
	if (!m->fresh.n)            /* nothing was allocated */
		return;
	vec_done(&m->rows);
	m->rows = m->fresh;
	m->fresh = (struct massif_rows){ 0 };
	m->has_tree = true;
	m->has_peak = m->is_peak;
}

static bool massif_value(const char *line, size_t len, const char *key, const char **value)
{
	size_t n = strlen(key);
	*value = line + n;
	return len >= n && memcmp(line, key, n) == 0;
}

static void massif_tree(struct massif_reader *m, const char *s, const char *end)
{
	bool is_peak = end - s == 4 && memcmp(s, "peak", 4) == 0;
	if ((end - s == 5 && memcmp(s, "empty", 5) == 0) || m->has_peak)
		return;
	vec_clear(&m->fresh);
	m->in_tree = true;
	m->has_node = false;
	m->is_peak = is_peak;
}

static void massif_line(struct massif_reader *m, const char *line, size_t len)
{
	struct profile_meta *meta = m->sink->ops->meta(m->sink);
	const char *end = line + len, *s;
	if (m->in_tree && (*line == ' ' || *line == 'n')) {
		m->skipped += !massif_node(m, line, len);
		return;
	}
	if (m->in_tree)
		massif_end_tree(m);
	if (massif_value(line, len, "cmd: ", &s)) {
		meta->command = m->sink->ops->string(m->sink, s, end - s);
	} else if (massif_value(line, len, "snapshot=", &s)) {
		m->is_massif = true;
	} else if (massif_value(line, len, "mem_heap_B=", &s) && massif_number(&s, end, &m->heap)) {
		m->most = m->heap > m->most ? m->heap : m->most;
	} else if (massif_value(line, len, "heap_tree=", &s)) {
		massif_tree(m, s, end);
	}
}

/* Whether lines of the last tree are missing at the end of the file. */
static bool massif_is_cut(const struct massif_reader *m)
{
	bool is_cut = false;
	for (size_t i = 0; m->in_tree && i < m->path.n; i++)
		is_cut |= m->path.v[i].callers > 0;
	return is_cut;
}

static void massif_give(struct massif_reader *m)
{
	const char *name = m->has_peak || !m->has_tree ? "peak_space" : "inuse_space";
	struct give_type type = {
		.name = name, .sample_type = name, .unit = "bytes", .aggregation = AGG_SNAPSHOT
	};
	struct give_sums sums = { 0 };
	struct give_row row = { .series = give_series(m->sink, &type), GIVE_ROW_NO_IDS };
	if (!m->has_tree)
		vec_push(&m->rows,
			 (struct massif_row){ m->sink->ops->stack(m->sink, NULL, 0), m->most });
	for (size_t i = 0; i < m->rows.n; i++) {
		row.stack = m->rows.v[i].stack;
		row.value = m->rows.v[i].bytes;
		give_sums_add(&sums, &row);
	}
	give_sums_end(&sums, m->sink);
	give_sums_done(&sums);
	if (m->skipped)
		m->sink->ops->loss(m->sink, LOSS_INPUT_SKIPPED, m->skipped);
}

static int massif_read(struct input *in, struct sink *sink, struct err *err)
{
	struct massif_reader m = { .sink = sink };
	const char *line;
	size_t len;
	bool cut;
	int rc;
	while ((rc = input_line(in, &line, &len, &cut, err)) > 0) {
		if (len)
			massif_line(&m, line, len);
		m.skipped += cut;
	}
	m.skipped += massif_is_cut(&m);
	if (m.in_tree)
		massif_end_tree(&m);
	if (rc == 0 && !m.is_massif)
		rc = err_set(err, EBADMSG, "%s: no snapshot of massif", input_name(in));
	if (rc == 0)
		massif_give(&m);
	vec_done(&m.path);
	vec_done(&m.frames);
	vec_done(&m.rows);
	vec_done(&m.fresh);
	return rc;
}

static bool massif_detect(const char *head, size_t len)
{
	static const char unit[] = "\ntime_unit: ", snapshot[] = "\nsnapshot=";
	return len > 6 && memcmp(head, "desc: ", 6) == 0 && memmem(head, len, unit, strlen(unit)) &&
	       memmem(head, len, snapshot, strlen(snapshot));
}

const struct format format_massif = {
	.name = "massif",
	.summary = "the heap at its peak, by valgrind's massif",
	.detect = massif_detect,
	.read = massif_read,
};
