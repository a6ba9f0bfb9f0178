#include "format/bpftrace/bpftrace.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/input.h"
#include "base/json/json_read.h"
#include "base/vec.h"
#include "format/common/give.h"
#include "profile/frame.h"
#include "profile/series.h"
#include "profile/sink.h"
#include "profile/stack.h"
#include "profile/sum.h"

#include <errno.h>
#include <string.h>

enum { BPFTRACE_COMM = 15 };

/* A map of the file. Keys without a stack count as the empty one, but only in a map that has
 * others. */
struct bpftrace_map {
	/* In the sink. With its "@" a name like "s" is not taken for a unit. */
	uint32_t name, counted;
	int64_t without;
	bool has_stacks;
};

struct bpftrace_reader {
	struct sink *sink;
	VEC(struct bpftrace_map) maps;
	struct map by_name;
	struct give_sums sums;
	VEC(uint32_t) frames; /* of the current key, root first */
	struct buf key;       /* being read: its lines */
	struct buf others;    /* parts of it without stacks and comm */
	uint32_t map;         /* of the key, if is_open */
	bool is_open;
	bool is_cut; /* parts of the key are missing */
	uint64_t given, skipped;
	struct err *err;
};

/* --- a key ------------------------------------------------------------------------------------ */

static struct give_text bpftrace_trim(const char *s, const char *end)
{
	while (s < end && (*s == ' ' || *s == '\t'))
		s++;
	while (end > s && (end[-1] == ' ' || end[-1] == '\t'))
		end--;
	return (struct give_text){ s, end - s };
}

/* Splits "symbol+12", "7f12 symbol+12 (/bin/x)" and "0x7f12". */
static struct give_frame bpftrace_frame(struct give_text t)
{
	struct give_frame f = { .kind = GIVE_GUESS, .name = t };
	const char *end = t.s + t.len, *open = t.len ? memrchr(t.s, '(', t.len) : NULL;
	if (open && open > t.s && open[-1] == ' ' && end[-1] == ')') {
		const char *slash = memrchr(open + 1, '/', end - 1 - (open + 1));
		const char *from = slash ? slash + 1 : open + 1;
		f.binary = (struct give_text){ from, end - 1 - from };
		f.name = bpftrace_trim(t.s, open);
		const char *blank = memchr(f.name.s, ' ', f.name.len);
		if (blank)
			f.name = bpftrace_trim(blank, f.name.s + f.name.len);
	}
	const char *plus = f.name.len ? memrchr(f.name.s, '+', f.name.len) : NULL;
	const char *last = f.name.s + f.name.len;
	if (plus && plus > f.name.s && plus + 1 < last && plus[1] >= '0' && plus[1] <= '9')
		f.name.len = plus - f.name.s;
	return f;
}

static bool bpftrace_begins(struct give_text name, const char *const roots[], size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (name.len >= strlen(roots[i]) && !memcmp(name.s, roots[i], strlen(roots[i])))
			return true;
	return false;
}

/* Functions at the root of kernel stacks. */
static bool bpftrace_is_kernel(struct give_text name)
{
	static const char *const roots[] = {
		"entry_SYSCALL", "asm_",     "ret_from_fork",     "secondary_startup",
		"start_kernel",  "irqentry", "kthread",           "do_syscall",
		"el0",           "el1",      "cpu_startup_entry", "common_startup"
	};
	return bpftrace_begins(name, roots, sizeof roots / sizeof *roots) ||
	       (name.len == 18 && memcmp(name.s, "0xffff", 6) == 0);
}

/* Functions at the root of stacks of programs. */
static bool bpftrace_is_user(struct give_text name)
{
	static const char *const roots[] = { "_start+", "__libc_start_", "main+", "start_thread+",
					     "clone",   "__clone",       "0x" };
	return bpftrace_begins(name, roots, sizeof roots / sizeof *roots);
}

/* A stack of the key: its lines, leaf first. */
struct bpftrace_stack {
	const char *s, *end;
	bool is_kernel, is_user;
};

struct bpftrace_key {
	struct bpftrace_stack stacks[BPFTRACE_MAX_STACKS];
	int n_stacks;
	uint32_t comm; /* string of the sink; 0: none */
};

static bool bpftrace_is_comm(struct give_text t)
{
	bool is_text = false;
	for (size_t i = 0; i < t.len; i++)
		is_text |= (t.s[i] < '0' || t.s[i] > '9') && t.s[i] != '-';
	return is_text && t.len <= BPFTRACE_COMM;
}

/* The first text is the comm; other parts are added to r->others. */
static void bpftrace_labels(struct bpftrace_reader *r, struct bpftrace_key *k, const char *s,
			    const char *end)
{
	while (s < end) {
		const char *comma = memchr(s, ',', end - s);
		struct give_text t = bpftrace_trim(s, comma ? comma : end);
		if (!k->comm && bpftrace_is_comm(t)) {
			k->comm = r->sink->ops->string(r->sink, t.s, t.len);
		} else if (t.len) {
			buf_adds(&r->others, r->others.len ? ", " : "");
			buf_add(&r->others, t.s, t.len);
		}
		s = comma ? comma + 1 : end;
	}
}

static uint32_t bpftrace_label_set(struct bpftrace_reader *r, const struct bpftrace_key *k)
{
	struct label labels[2];
	uint32_t n = 0;
	if (k->comm)
		labels[n++] = (struct label){ .key = sink_string(r->sink, "comm"), .str = k->comm };
	if (r->others.len)
		labels[n++] = (struct label){ .key = sink_string(r->sink, "key"),
					      .str = r->sink->ops->string(r->sink, r->others.data,
									  r->others.len) };
	return r->sink->ops->labels(r->sink, labels, n);
}

/* Finds the root: the last line. */
static void bpftrace_end_stack(struct bpftrace_stack *stack)
{
	struct give_text all = { stack->s, stack->end - stack->s };
	const char *line = all.len > 1 ? memrchr(all.s, '\n', all.len - 1) : NULL;
	line = line ? line + 1 : all.s;
	struct give_text root = bpftrace_trim(line, stack->end - 1);
	stack->is_kernel = bpftrace_is_kernel(root);
	stack->is_user = !stack->is_kernel && bpftrace_is_user(root);
}

/* kstack(3) has no root: it is the one next to a program's, or the first of two such. */
static void bpftrace_find_kernel(struct bpftrace_key *k)
{
	struct bpftrace_stack *a = &k->stacks[0], *b = &k->stacks[1];
	if (k->n_stacks != 2 || a->is_kernel || b->is_kernel || (a->is_user && b->is_user))
		return;
	(a->is_user ? b : a)->is_kernel = true;
}

/* The first line and those that begin with a comma have parts other than stacks. Returns false if
 * the key has too many stacks. */
static bool bpftrace_split(struct bpftrace_reader *r, struct bpftrace_key *k)
{
	const char *s = r->key.data, *end = s + r->key.len;
	struct bpftrace_stack *open = NULL;
	buf_clear(&r->others);
	for (bool first = true; s < end; first = false) {
		const char *newline = memchr(s, '\n', end - s), *line_end = newline ? newline : end;
		if (first || *s == ',') {
			open = NULL;
			bpftrace_labels(r, k, s, line_end);
		} else if (bpftrace_trim(s, line_end).len) {
			if (!open && k->n_stacks < BPFTRACE_MAX_STACKS) {
				open = &k->stacks[k->n_stacks++];
				open->s = s;
			}
			if (open)
				open->end = newline ? newline + 1 : end;
			else
				return false;
		}
		s = line_end + 1;
	}
	for (int i = 0; i < k->n_stacks; i++)
		bpftrace_end_stack(&k->stacks[i]);
	bpftrace_find_kernel(k);
	return true;
}

static void bpftrace_push_stack(struct bpftrace_reader *r, const struct bpftrace_stack *stack)
{
	size_t first = r->frames.n;
	for (const char *s = stack->s; s < stack->end;) {
		const char *newline = memchr(s, '\n', stack->end - s);
		const char *end = newline ? newline : stack->end;
		struct give_frame f = bpftrace_frame(bpftrace_trim(s, end));
		if (stack->is_kernel)
			f.kind = FRAME_KERNEL;
		if (f.name.len && r->frames.n - first <= STACK_MAX_DEPTH)
			vec_push(&r->frames, give_frame(r->sink, &f));
		s = end + 1;
	}
	for (size_t a = first, b = r->frames.n; a + 1 < b; a++) {
		uint32_t leaf = r->frames.v[a];
		r->frames.v[a] = r->frames.v[--b];
		r->frames.v[b] = leaf;
	}
}

static uint32_t bpftrace_series(struct bpftrace_reader *r, uint32_t map, uint32_t labels)
{
	struct type type = { .name = r->maps.v[map].name,
			     .sample_type = r->maps.v[map].counted,
			     .unit = sink_string(r->sink, "count") };
	struct series series = { .type = r->sink->ops->type(r->sink, &type), .labels = labels };
	return r->sink->ops->series(r->sink, &series);
}

/* The key in r->key is complete. */
static void bpftrace_give(struct bpftrace_reader *r, uint32_t map, int64_t value)
{
	struct bpftrace_key k = { 0 };
	struct give_row row = { GIVE_ROW_NO_IDS, .value = value };
	if (r->is_cut) {
		r->skipped++;
		return;
	}
	if (!r->key.len || !memchr(r->key.data, '\n', r->key.len)) {
		r->maps.v[map].without = sum_add(r->maps.v[map].without, value);
		return;
	}
	if (!bpftrace_split(r, &k)) {
		r->skipped++;
		return;
	}
	vec_clear(&r->frames);
	for (int kernel = 0; kernel < 2; kernel++)
		for (int i = 0; i < k.n_stacks; i++)
			if (k.stacks[i].is_kernel == kernel)
				bpftrace_push_stack(r, &k.stacks[i]);
	row.series = bpftrace_series(r, map, bpftrace_label_set(r, &k));
	row.stack = r->sink->ops->stack(r->sink, r->frames.v, r->frames.n);
	r->maps.v[map].has_stacks = true;
	r->given++;
	give_sums_add(&r->sums, &row);
}

/* Returns UINT32_MAX if there are too many. */
static uint32_t bpftrace_map_of(struct bpftrace_reader *r, const char *name, size_t len)
{
	uint32_t id = len > 1 ? r->sink->ops->string(r->sink, name + 1, len - 1)
			      : sink_string(r->sink, "samples");
	uint32_t fresh = r->maps.n, *known = map_get(&r->by_name, id);
	if (known)
		return *known;
	if (fresh >= BPFTRACE_MAX_MAPS)
		return UINT32_MAX;
	map_put(&r->by_name, id, fresh);
	struct bpftrace_map added = { .name = id, .counted = id };
	if (len > 1)
		added.counted = r->sink->ops->string(r->sink, name, len);
	vec_push(&r->maps, added);
	return fresh;
}

/* --- text ------------------------------------------------------------------------------------- */

/* Reads "]: 49" at the end of a line; *end: of what is before it. */
static bool bpftrace_value(const char *line, size_t len, const char **end, int64_t *value)
{
	const char *close = len ? memrchr(line, ']', len) : NULL, *s = close ? close + 3 : NULL;
	int64_t v = 0;
	if (!close || s >= line + len || close[1] != ':' || close[2] != ' ')
		return false;
	bool negative = *s == '-';
	const char *digits = s += negative;
	for (; s < line + len && *s >= '0' && *s <= '9'; s++)
		v = sum_add(sum_mul(v, 10), *s - '0');
	*end = close;
	*value = negative ? -v : v;
	return s == line + len && s > digits;
}

static void bpftrace_new_key(struct bpftrace_reader *r)
{
	buf_clear(&r->key);
	r->is_cut = false;
}

static void bpftrace_add_line(struct bpftrace_reader *r, const char *s, size_t len)
{
	if (r->key.len + len < BPFTRACE_MAX_KEY)
		buf_add(&r->key, s, len);
	else
		r->is_cut = true;
}

/* Adds the rest of a line to the key, which may end there. */
static void bpftrace_key_line(struct bpftrace_reader *r, const char *s, size_t len)
{
	const char *end;
	int64_t value;
	bool is_end = bpftrace_value(s, len, &end, &value);
	bpftrace_add_line(r, s, is_end ? (size_t)(end - s) : len);
	if (is_end) {
		bpftrace_give(r, r->map, value);
		r->is_open = false;
	} else {
		bpftrace_add_line(r, "\n", 1);
	}
}

/* "@name[" begins a key; other lines are what the script printed. */
static void bpftrace_text_line(struct bpftrace_reader *r, const char *line, size_t len)
{
	const char *open = len && *line == '@' ? memchr(line, '[', len) : NULL;
	bool is_part = len && (*line == ' ' || *line == '\t' || *line == ',' || *line == ']');
	if (r->is_open && is_part) {
		bpftrace_key_line(r, line, len);
		return;
	}
	r->skipped += r->is_open; /* a histogram, an average, or cut */
	r->is_open = open != NULL;
	if (!open)
		return;
	r->map = bpftrace_map_of(r, line, open - line);
	r->is_open = r->map != UINT32_MAX;
	bpftrace_new_key(r);
	if (r->is_open)
		bpftrace_key_line(r, open + 1, line + len - (open + 1));
}

/* --- JSON ------------------------------------------------------------------------------------- */

/* The keys of a map: {"\nspin+52\n,known": 49}. */
static int bpftrace_json_map(struct bpftrace_reader *r, struct json_reader *j, uint32_t map)
{
	struct json_value key, v;
	int rc = json_enter(j, JSON_OBJECT, r->err);
	while (rc > 0 && (rc = json_key_next(j, &key, r->err)) > 0) {
		bpftrace_new_key(r);
		bpftrace_add_line(r, key.text, key.len);
		rc = json_scalar(j, &v, r->err);
		if (rc < 0)
			return rc;
		if (rc > 0 && v.token == JSON_NUMBER && v.is_integer && map != UINT32_MAX)
			bpftrace_give(r, map, v.integer);
		else
			r->skipped++;
		rc = 1;
	}
	return rc;
}

static int bpftrace_json_maps(struct bpftrace_reader *r, struct json_reader *j)
{
	struct json_value key;
	int rc = json_enter(j, JSON_OBJECT, r->err);
	while (rc > 0 && (rc = json_key_next(j, &key, r->err)) > 0) {
		rc = key.len && key.text[0] == '@'
			     ? bpftrace_json_map(r, j, bpftrace_map_of(r, key.text, key.len))
			     : json_skip(j, r->err);
		rc = rc < 0 ? rc : 1;
	}
	return rc;
}

static int bpftrace_json_text(struct bpftrace_reader *r, struct json_reader *j)
{
	struct json_value key, type;
	bool is_map = false;
	int rc = json_enter(j, JSON_OBJECT, r->err);
	while (rc > 0 && (rc = json_key_next(j, &key, r->err)) > 0) {
		if (json_is(&key, "type"))
			is_map = (rc = json_scalar(j, &type, r->err)) > 0 && json_is(&type, "map");
		else
			rc = is_map && json_is(&key, "data") ? bpftrace_json_maps(r, j)
							     : json_skip(j, r->err);
		rc = rc < 0 ? rc : 1;
	}
	return rc;
}

/* A map is one line, of any length. */
static int bpftrace_read_json(struct bpftrace_reader *r, struct input *in, struct err *err)
{
	struct json_reader *j = json_reader_new(in);
	int rc;
	while ((rc = json_next_text(j, err)) > 0)
		r->skipped += bpftrace_json_text(r, j) < 0;
	json_reader_free(j);
	return rc;
}

/* --- lines ------------------------------------------------------------------------------------ */

static void bpftrace_line(struct bpftrace_reader *r, const char *line, size_t len, bool cut)
{
	if (cut) {
		r->skipped++;
		r->is_open = false; /* without the line it is another key */
	} else {
		bpftrace_text_line(r, line, len);
	}
}

static void bpftrace_end(struct bpftrace_reader *r)
{
	uint32_t empty = r->sink->ops->stack(r->sink, NULL, 0);
	for (uint32_t i = 0; i < r->maps.n; i++) {
		struct bpftrace_map *m = &r->maps.v[i];
		struct give_row row = { .stack = empty, GIVE_ROW_NO_IDS, .value = m->without };
		if (!m->has_stacks || !m->without)
			continue;
		row.series = bpftrace_series(r, i, 0);
		give_sums_add(&r->sums, &row);
	}
	give_sums_end(&r->sums, r->sink);
	r->skipped += r->is_open;
	if (r->skipped)
		r->sink->ops->loss(r->sink, LOSS_INPUT_SKIPPED, r->skipped);
}

static int bpftrace_read_lines(struct bpftrace_reader *r, struct input *in, struct err *err)
{
	const char *line;
	size_t len;
	bool cut;
	int rc;
	while ((rc = input_line(in, &line, &len, &cut, err)) > 0)
		bpftrace_line(r, line, len, cut);
	return rc;
}

/* By the first line of a map: text of the script may come before it. */
static bool bpftrace_is_json(const char *head, size_t len)
{
	struct cur c = cur_of(head, len);
	const char *line;
	size_t line_len;
	while (cur_line(&c, &line, &line_len))
		if (line_len && (*line == '{' || *line == '@'))
			return *line == '{';
	return false;
}

static int bpftrace_read(struct input *in, struct sink *sink, struct err *err)
{
	struct bpftrace_reader r = { .sink = sink };
	const char *head;
	size_t len;
	int rc = input_peek(in, &head, &len, err);
	if (rc == 0)
		rc = bpftrace_is_json(head, len) ? bpftrace_read_json(&r, in, err)
						 : bpftrace_read_lines(&r, in, err);
	if (rc == 0 && !r.given)
		rc = err_set(err, EBADMSG, "%s: no map of bpftrace has a stack in its keys",
			     input_name(in));
	if (rc == 0)
		bpftrace_end(&r);
	vec_done(&r.maps);
	map_done(&r.by_name);
	give_sums_done(&r.sums);
	vec_done(&r.frames);
	buf_done(&r.key);
	buf_done(&r.others);
	return rc;
}

struct bpftrace_signs {
	bool type, data;
};

static bool bpftrace_sign(void *ctx, const struct json_value *key, const struct json_value *value,
			  int depth)
{
	static const char *const types[] = { "attached_probes", "map",  "printf",
					     "value",           "hist", "stats",
					     "lost_events",     "time" };
	struct bpftrace_signs *s = ctx;
	if (depth == 1 && json_is(key, "type") && value->token == JSON_STRING)
		for (size_t i = 0; i < sizeof types / sizeof *types; i++)
			s->type |= json_is(value, types[i]);
	s->data |= depth == 1 && json_is(key, "data");
	return depth == 1 && !(s->type && s->data);
}

/* A line "@name[" without an end, and a frame below it. */
static bool bpftrace_is_text(const char *head, size_t len)
{
	struct cur c = cur_of(head, len);
	const char *line;
	size_t line_len;
	bool open = false;
	while (cur_line(&c, &line, &line_len)) {
		if (open && line_len > 1 && (*line == ' ' || *line == '\t'))
			return true;
		const char *bracket = line_len && *line == '@' ? memchr(line, '[', line_len) : NULL;
		open = bracket && !memchr(bracket, ']', line + line_len - bracket);
	}
	return false;
}

static bool bpftrace_detect(const char *head, size_t len)
{
	struct bpftrace_signs s = { 0 };
	if (!len || memchr(head, '\0', len))
		return false;
	if (json_peek_keys(head, len, bpftrace_sign, &s) && s.type && s.data)
		return true;
	return bpftrace_is_text(head, len);
}

const struct format format_bpftrace = {
	.name = "bpftrace",
	.summary = "maps of bpftrace with stacks in their keys: text, or JSON",
	.detect = bpftrace_detect,
	.read = bpftrace_read,
};
