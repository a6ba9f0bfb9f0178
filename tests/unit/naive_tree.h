/* tests/unit/naive_tree.h: the content of a flame tree, computed the slow and obvious way: every sample's stack is spelled out as text, filtered line
 * by line, and equal texts are summed. Trees are compared by such texts. */
#ifndef CRESSET_TESTS_NAIVE_TREE_H
#define CRESSET_TESTS_NAIVE_TREE_H

#include "base/buf.h"
#include "base/vec.h"
#include "profile/frame.h"
#include "profile/names.h"
#include "profile/profile.h"
#include "profile/series.h"
#include "profile/sink.h"
#include "profile/stack.h"
#include "profile/tree/tree.h"

#include <check.h>
#include <regex.h>
#include <stdio.h>

/* Paths from the root with their self values; sorted, each path once, none with the value 0. */
struct spelled_path {
	char *path;
	int64_t value, other;
};
struct spelled {
	VEC(struct spelled_path) rows;
};

static inline int spelled_cmp(const void *a, const void *b)
{
	return strcmp(((const struct spelled_path *)a)->path,
		      ((const struct spelled_path *)b)->path);
}

static inline void spelled_done(struct spelled *s)
{
	for (size_t i = 0; i < s->rows.n; i++)
		free(s->rows.v[i].path);
	vec_done(&s->rows);
}

static inline void spelled_normal(struct spelled *s)
{
	size_t kept = 0;
	if (s->rows.n == 0)
		return;
	qsort(s->rows.v, s->rows.n, sizeof *s->rows.v, spelled_cmp);
	for (size_t i = 0; i < s->rows.n; i++) {
		struct spelled_path *row = &s->rows.v[i],
				    *last = kept ? &s->rows.v[kept - 1] : NULL;
		if (last && strcmp(last->path, row->path) == 0) {
			last->value += row->value;
			last->other += row->other;
			free(row->path);
		} else {
			s->rows.v[kept++] = *row;
		}
	}
	s->rows.n = kept;
	kept = 0;
	for (size_t i = 0; i < s->rows.n; i++)
		if (s->rows.v[i].value || s->rows.v[i].other)
			s->rows.v[kept++] = s->rows.v[i];
		else
			free(s->rows.v[i].path);
	s->rows.n = kept;
}

/* Check writes to a file at each assertion: in loops only a failure is one. */
static inline void assert_spelled_eq(const struct spelled *a, const struct spelled *b)
{
	for (size_t i = 0; i < a->rows.n && i < b->rows.n; i++) {
		const struct spelled_path *x = &a->rows.v[i], *y = &b->rows.v[i];
		if (strcmp(x->path, y->path) || x->value != y->value || x->other != y->other)
			ck_abort_msg("%s %lld, other %lld is not %s %lld, other %lld", x->path,
				     (long long)x->value, (long long)x->other, y->path,
				     (long long)y->value, (long long)y->other);
	}
	ck_assert_uint_eq(a->rows.n, b->rows.n);
}

/* --- the actual tree --- */

static inline void spell_node(struct buf *b, const struct tree *t, uint32_t node)
{
	if (node == TREE_ROOT)
		return;
	spell_node(b, t, t->nodes.v[node].parent);
	const struct tree_func *f = &t->funcs.v[t->nodes.v[node].func];
	buf_addf(b, ";%s|%s|%s|%s%s", strtab_get(&t->strings, f->name),
		 strtab_get(&t->strings, f->binary), strtab_get(&t->strings, f->file),
		 frame_kinds[f->kind].name, f->inlined ? "|inlined" : "");
}

static inline struct spelled spell_tree(const struct tree *t)
{
	struct spelled out = { 0 };
	for (uint32_t i = 0; i < t->nodes.n; i++) {
		struct buf path = { 0 };
		spell_node(&path, t, i);
		vec_push(&out.rows, (struct spelled_path){ buf_steal(&path), t->nodes.v[i].self,
							   t->nodes.v[i].other_self });
	}
	spelled_normal(&out);
	return out;
}

static inline bool node_is_sound(const struct tree *t, uint32_t id, size_t *linked)
{
	const struct tree_node *n = &t->nodes.v[id];
	int64_t total = n->self, other = n->other_self;
	for (uint32_t c = n->first_child; c != TREE_NONE; c = t->nodes.v[c].next) {
		if (c <= id || c >= t->nodes.n || t->nodes.v[c].parent != id)
			return false;
		total += t->nodes.v[c].total;
		other += t->nodes.v[c].other_total;
		++*linked;
	}
	return n->func < t->funcs.n && n->total == total && n->other_total == other;
}

/* Invariants of every tree: ids, lists, and totals that are sums of the subtrees. */
static inline void assert_tree_sound(const struct tree *t)
{
	size_t linked = 0;
	ck_assert_uint_eq(t->nodes.v[TREE_ROOT].parent, TREE_NONE);
	for (uint32_t i = 0; i < t->nodes.n; i++)
		if (!node_is_sound(t, i, &linked))
			ck_abort_msg("node %u of %zu", i, t->nodes.n);
	ck_assert_uint_eq(linked, t->nodes.n - 1);
}

/* --- the expected tree --- */

struct naive_line {
	const char *name, *binary, *file;
	uint8_t kind;
	bool inlined;
};
struct naive_stack {
	VEC(struct naive_line) lines; /* root first */
};
struct naive_result {
	struct spelled spelled;
	int64_t total, unfiltered_total;
	uint64_t n_samples;
};

/* The patterns of an option, one per line, compiled once; none = NULL was given. */
enum { NAIVE_LINES = 4 };
struct naive_pattern {
	int n;
	char field[NAIVE_LINES]; /* n, b, f or k */
	regex_t regex[NAIVE_LINES];
};
struct naive_patterns {
	struct naive_pattern focus, ignore, hide;
};

static inline struct naive_pattern naive_pattern(const char *text)
{
	struct naive_pattern p = { 0 };
	char copy[256], *save = NULL;
	snprintf(copy, sizeof copy, "%s", text ? text : "");
	for (char *line = strtok_r(copy, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		const char *colon = strchr(line, ':');
		ck_assert_int_lt(p.n, NAIVE_LINES);
		p.field[p.n] = colon ? *line : 'n';
		ck_assert_int_eq(regcomp(&p.regex[p.n++], colon ? colon + 1 : line,
					 REG_EXTENDED | REG_NOSUB),
				 0);
	}
	return p;
}

static inline void naive_pattern_done(struct naive_pattern *p)
{
	while (p->n)
		regfree(&p->regex[--p->n]);
}

static inline bool naive_match_one(const struct naive_pattern *p, int i, const struct naive_line *l)
{
	const char *subject = p->field[i] == 'b'   ? l->binary
			      : p->field[i] == 'f' ? l->file
			      : p->field[i] == 'k' ? frame_kinds[l->kind].name
						   : l->name;
	return regexec(&p->regex[i], subject, 0, NULL, 0) == 0;
}

static inline bool naive_match(const struct naive_pattern *p, const struct naive_line *l)
{
	for (int i = 0; i < p->n; i++)
		if (naive_match_one(p, i, l))
			return true;
	return false;
}

static inline bool naive_has(const struct naive_pattern *p, int i, const struct naive_stack *s)
{
	for (size_t k = 0; k < s->lines.n; k++)
		if (naive_match_one(p, i, &s->lines.v[k]))
			return true;
	return false;
}

static inline bool naive_passes(const struct naive_patterns *f, const struct naive_stack *s)
{
	for (int i = 0; i < f->focus.n; i++)
		if (!naive_has(&f->focus, i, s))
			return false;
	for (int i = 0; i < f->ignore.n; i++)
		if (naive_has(&f->ignore, i, s))
			return false;
	return true;
}

static inline void naive_stack_lines(struct profile *p, uint32_t stack, struct naive_stack *out)
{
	uint32_t frames[256], n = stack_depth(&p->stacks, stack);
	ck_assert(n <= 256);
	stack_frames(&p->stacks, stack, frames);
	for (uint32_t i = 0; i < n; i++) {
		struct shown_line lines[NAMES_MAX_INLINE];
		uint32_t n_lines = profile_frame_lines(p, frames[i], lines, NAMES_MAX_INLINE);
		for (uint32_t k = n_lines; k-- > 0;)
			vec_push(&out->lines,
				 (struct naive_line){
					 profile_str(p, lines[k].name),
					 profile_str(p, profile_frame_binary(p, frames[i])),
					 profile_str(p, lines[k].file),
					 p->frames.frames.v[frames[i]].kind, k + 1 < n_lines });
	}
}

static inline bool naive_drops(const struct tree_opts *o, const struct naive_pattern *hide,
			       const struct naive_line *l)
{
	bool gpu = strncmp(frame_kinds[l->kind].name, "gpu-", 4) == 0;
	if (naive_match(hide, l))
		return true;
	if (o->no_kernel && l->kind == FRAME_KERNEL)
		return true;
	return o->no_user && l->kind != FRAME_KERNEL && l->kind != FRAME_REST && !gpu;
}

static inline bool naive_repeats(const struct naive_line *a, const struct naive_line *b)
{
	return strcmp(a->name, b->name) == 0 && strcmp(a->binary, b->binary) == 0 &&
	       strcmp(a->file, b->file) == 0 && a->kind == b->kind;
}

/* Drops, collapses and inverts, in this order. */
static inline void naive_reshape(const struct tree_opts *o, const struct naive_pattern *hide,
				 struct naive_stack *s)
{
	size_t n = 0;
	for (size_t i = 0; i < s->lines.n; i++) {
		struct naive_line l = s->lines.v[i];
		if (naive_drops(o, hide, &l))
			continue;
		if (o->collapse_recursion && n && naive_repeats(&l, &s->lines.v[n - 1]))
			continue;
		s->lines.v[n++] = l;
	}
	s->lines.n = n;
	for (size_t i = 0; o->inverted && i < n / 2; i++) {
		struct naive_line l = s->lines.v[i];
		s->lines.v[i] = s->lines.v[n - 1 - i];
		s->lines.v[n - 1 - i] = l;
	}
}

static inline void naive_label(struct buf *b, const struct profile *p, size_t row, const char *key)
{
	uint32_t set = p->series.series.v[p->samples.series[row]].labels;
	const struct label *l = label_find(&p->series, set, strtab_find(&p->strings, key));
	for (const char *s = l ? profile_str(p, l->str) : "?"; *s; s++)
		buf_addc(b, *s == ' ' ? '_' : *s);
}

static inline void naive_id(struct buf *b, uint32_t id)
{
	if (id == SAMPLE_NO_ID)
		buf_addc(b, '?');
	else
		buf_addf(b, "%u", id);
}

static inline void naive_key(struct buf *b, const struct profile *p, size_t row, enum tree_by by)
{
	static const char *const label[BY_KEYS] = { [BY_COMM] = "comm",
						    [BY_PID] = "comm",
						    [BY_TID] = "comm",
						    [BY_PROCESS] = "process",
						    [BY_CONTAINER] = "container_id",
						    [BY_POD] = "pod",
						    [BY_NAMESPACE] = "namespace",
						    [BY_UNIT] = "unit",
						    [BY_USER] = "user",
						    [BY_EXECUTABLE] = "executable",
						    [BY_SERVICE] = "service.name" };
	buf_adds(b, by == BY_CPU ? ";cpu" : ";");
	if (label[by])
		naive_label(b, p, row, label[by]);
	if (by == BY_CPU)
		naive_id(b, p->samples.cpu[row]);
	if (by == BY_PID || by == BY_TID) {
		buf_addc(b, '-');
		naive_id(b, p->samples.pid[row]);
	}
	if (by == BY_TID) {
		buf_addc(b, '/');
		naive_id(b, p->samples.tid[row]);
	}
	buf_adds(b, "|||marker");
}

static inline char *naive_path(const struct profile *p, size_t row, const struct tree_opts *o,
			       const struct naive_stack *s)
{
	struct buf b = { 0 };
	uint32_t depth = 0, max = o->max_depth ? o->max_depth : UINT32_MAX;
	for (int i = 0; i < o->n_by && depth < max; i++) {
		if (o->by[i] == BY_NONE)
			continue;
		naive_key(&b, p, row, o->by[i]);
		depth++;
	}
	for (size_t i = 0; i < s->lines.n && depth < max; i++, depth++) {
		const struct naive_line *l = &s->lines.v[i];
		buf_addf(&b, ";%s|%s|%s|%s%s", l->name, l->binary, l->file,
			 frame_kinds[l->kind].name, l->inlined ? "|inlined" : "");
	}
	return buf_steal(&b);
}

static inline bool naive_in_time(int64_t t, const struct tree_opts *o)
{
	return (!o->time_from_ns || t >= o->time_from_ns) && (!o->time_to_ns || t < o->time_to_ns);
}

/* The part of a value in the range, nanosecond by nanosecond: each is the growth of c (time_range.h) in it. */
static inline int64_t naive_value_in_time(const struct profile *p, size_t row,
					  const struct tree_opts *o)
{
	int64_t t = p->samples.time_ns[row] - p->meta.start_mono_ns, sum = 0;
	int64_t value = p->samples.value[row], length = sample_length_ns(&p->samples, row);
	if (!length)
		return naive_in_time(t, o) ? value : 0;
	for (int64_t i = 0; i < length; i++)
		if (naive_in_time(t + i, o))
			sum += value * (i + 1) / length - value * i / length;
	return sum;
}

/* factor: the value of one count, by series; NULL = 1. */
static inline struct naive_result naive_build(struct profile *p, const struct tree_opts *o,
					      const int64_t *factor)
{
	struct naive_result r = { 0 };
	struct naive_patterns f = { naive_pattern(o->focus), naive_pattern(o->ignore),
				    naive_pattern(o->hide) };
	for (size_t row = 0; row < p->samples.n; row++) {
		uint32_t series = p->samples.series[row];
		int64_t each = factor ? factor[series] : 1;
		int64_t value = naive_value_in_time(p, row, o) * each;
		if (p->series.series.v[series].type != o->type)
			continue;
		r.unfiltered_total += p->samples.value[row] * each;
		struct naive_stack s = { 0 };
		naive_stack_lines(p, p->samples.stack[row], &s);
		if (value && naive_passes(&f, &s)) {
			naive_reshape(o, &f.hide, &s);
			r.total += value;
			r.n_samples++;
			vec_push(&r.spelled.rows,
				 (struct spelled_path){ naive_path(p, row, o, &s), value, 0 });
		}
		vec_done(&s.lines);
	}
	naive_pattern_done(&f.focus);
	naive_pattern_done(&f.ignore);
	naive_pattern_done(&f.hide);
	spelled_normal(&r.spelled);
	return r;
}

#endif
