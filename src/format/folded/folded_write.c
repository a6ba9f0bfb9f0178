/* Writes the tree of one type, one line per stack. */
#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "base/vec.h"
#include "format/common/value.h"
#include "format/folded/folded.h"
#include "profile/sum.h"
#include "profile/tree/tree.h"

#include <errno.h>
#include <math.h>
#include <string.h>

struct folded_writer {
	const struct tree *tree;
	unsigned annotate; /* bits of enum annotate */
	struct out *out;
	double factor;               /* value * factor is written */
	uint8_t *states;             /* by node */
	struct buf names;            /* of all functions, as written … */
	struct folded_name *name_of; /* … by function */
	struct buf line;             /* the stack of the current node … */
	VEC(size_t) marks;           /* … and the end of each of its ancestors */
};

/* A range of folded_writer.names. */
struct folded_name {
	size_t at, len;
};

/* Returns the replacement of a character, or 0 if it may stay. */
static char folded_replacement(uint32_t c)
{
	if (c == ';')
		return ':';
	if (c == '\n' || c == '\r' || c == '\t')
		return ' ';
	if (c == 0xfeff) /* would be a byte order mark */
		return '?';
	return c < 0x20 || (c >= 0x7f && c < 0xa0) ? '?' : 0;
}

static void folded_add_name(struct buf *b, const char *s, size_t len)
{
	size_t n;
	for (size_t i = 0; i < len; i += n ? n : 1) {
		n = utf8_len(s + i, len - i);
		char replacement = n ? folded_replacement(utf8_char(s + i, n)) : '?';
		if (replacement)
			buf_addc(b, replacement);
		else
			buf_add(b, s + i, n);
	}
}

/* The key of a search for an equal function name. */
struct folded_key {
	const struct folded_writer *w;
	uint32_t func;
};

static bool folded_same_name(const void *ctx, uint32_t func)
{
	const struct folded_key *key = ctx;
	const struct folded_name *a = &key->w->name_of[func], *b = &key->w->name_of[key->func];
	return a->len == b->len &&
	       memcmp(key->w->names.data + a->at, key->w->names.data + b->at, a->len) == 0;
}

/* Writes the names of all functions. like[func] is the first function with the same name. Returns
 * false if all names differ. */
static bool folded_spell_all(struct folded_writer *w, uint32_t *like)
{
	const struct strtab *strings = &w->tree->strings;
	struct map index = { 0 };
	bool any = false;
	for (uint32_t func = 0; func < w->tree->funcs.n; func++) {
		const struct tree_func *f = &w->tree->funcs.v[func];
		struct folded_name *name = &w->name_of[func];
		struct folded_key key = { w, func };
		name->at = w->names.len; /* start of ";name_[k]" */
		buf_addc(&w->names, ';');
		folded_add_name(&w->names, strtab_get(strings, f->name),
				strtab_len(strings, f->name));
		buf_adds(&w->names, format_suffix(f->kind, w->annotate));
		name->len = w->names.len - name->at;
		uint64_t hash = hash_bytes(w->names.data + name->at, name->len);
		like[func] = map_intern(&index, hash, func, folded_same_name, &key);
		any |= like[func] != func;
	}
	map_done(&index);
	return any;
}

/* Merges functions with the same name: each stack occurs once in a folded file. */
static struct tree *folded_join(const struct tree *t, const uint32_t *like)
{
	struct tree *joined = tree_new();
	uint32_t *at = xcalloc(t->nodes.n, sizeof *at), *func = xcalloc(t->funcs.n, sizeof *func);
	tree_take_unit(joined, t);
	joined->is_diff = t->is_diff;
	joined->is_inverted = t->is_inverted;
	for (uint32_t i = 1; i < t->funcs.n; i++)
		func[i] = tree_func_copy(joined, t, like[i]);
	for (uint32_t i = 0; i < t->nodes.n; i++) {
		const struct tree_node *n = &t->nodes.v[i];
		if (i != TREE_ROOT)
			at[i] = tree_child(joined, at[n->parent], func[n->func]);
		struct tree_node *to = &joined->nodes.v[at[i]];
		to->self = sum_add(to->self, n->self);
		to->other_self = sum_add(to->other_self, n->other_self);
	}
	free(at);
	free(func);
	return joined;
}

static void folded_add_node(struct folded_writer *w, uint32_t id)
{
	const struct folded_name *name = &w->name_of[w->tree->nodes.v[id].func];
	bool first = w->line.len == 0;
	buf_add(&w->line, w->names.data + name->at + first, name->len - first);
	if (first && name->len > 1 && w->line.data[0] == '#') /* would start a comment */
		w->line.data[0] = '?';
}

static int64_t folded_scale(const struct folded_writer *w, int64_t value)
{
	return w->factor == 1 ? value : value_clamp(round((double)value * w->factor));
}

/* Returns the length of the stack in `line`, without a leaf that only repeats its suffix. */
static size_t folded_plain_len(const struct folded_writer *w, uint32_t id, const char *suffix)
{
	bool is_bare =
		*suffix && w->marks.n && w->marks.v[w->marks.n - 1] &&
		tree_func_is_marker(w->tree, w->tree->nodes.v[id].func, STATE_OFF_CPU_MARKER);
	return is_bare ? w->marks.v[w->marks.n - 1] : w->line.len;
}

static int folded_emit(struct folded_writer *w, uint32_t id, struct err *err)
{
	const struct tree_node *node = &w->tree->nodes.v[id];
	const char *suffix = format_state_suffix(w->states[id], w->annotate);
	const char *stack = id == TREE_ROOT ? "[empty]" : w->line.data;
	size_t len = id == TREE_ROOT ? strlen(stack) : folded_plain_len(w, id, suffix);
	char numbers[64];
	long long value = folded_scale(w, node->self), other = folded_scale(w, node->other_self);
	int n;
	if (value == 0 && other == 0)
		return 0;
	if (w->tree->is_diff)
		n = snprintf(numbers, sizeof numbers, "%s %lld %lld\n", suffix, other, value);
	else
		n = snprintf(numbers, sizeof numbers, "%s %lld\n", suffix, value);
	int rc = out_write(w->out, stack, len, err);
	return rc ? rc : out_write(w->out, numbers, n, err);
}

static bool folded_ends_in_number(const char *s, size_t len)
{
	struct folded_value value;
	size_t front;
	return folded_split(s, len, &front, &value);
}

/* Whether each line would end in two numbers, because names of leaves end in one. */
static bool folded_looks_like_diff(const struct folded_writer *w)
{
	const struct tree *t = w->tree;
	size_t n = 0;
	for (uint32_t i = 0; i < t->nodes.n; i++) {
		const struct tree_node *node = &t->nodes.v[i];
		const struct folded_name *name = &w->name_of[node->func];
		if (folded_scale(w, node->self) == 0)
			continue;
		if (i == TREE_ROOT || *format_state_suffix(w->states[i], w->annotate) ||
		    !folded_ends_in_number(w->names.data + name->at, name->len))
			return false;
		n++;
	}
	return n > 1 && !t->is_diff;
}

/* "worker 3" becomes "worker_3" if a reader would otherwise take all lines for those of a
 * difference. */
static void folded_tell_from_diff(struct folded_writer *w)
{
	if (!folded_looks_like_diff(w))
		return;
	for (uint32_t func = 1; func < w->tree->funcs.n; func++) {
		const struct folded_name *name = &w->name_of[func];
		char *text = w->names.data + name->at, *end = text + name->len;
		while (folded_ends_in_number(text, name->len)) {
			char *blank = memrchr(text, ' ', end - text);
			*blank = '_';
		}
	}
}

/* Walks depth first without recursion: stacks may be 65535 frames deep. */
static int folded_walk(struct folded_writer *w, struct err *err)
{
	const struct tree_node *nodes = w->tree->nodes.v;
	int rc = folded_emit(w, TREE_ROOT, err);
	uint32_t id = nodes[TREE_ROOT].first_child;
	while (rc == 0 && id != TREE_NONE) {
		vec_push(&w->marks, w->line.len);
		folded_add_node(w, id);
		rc = folded_emit(w, id, err);
		if (nodes[id].first_child != TREE_NONE) {
			id = nodes[id].first_child;
			continue;
		}
		while (id != TREE_ROOT && nodes[id].next == TREE_NONE) {
			w->line.len = w->marks.v[--w->marks.n];
			id = nodes[id].parent;
		}
		if (id == TREE_ROOT)
			break;
		w->line.len = w->marks.v[--w->marks.n];
		id = nodes[id].next;
	}
	return rc;
}

static int folded_unit_error(const struct tree *t, bool has_time, const char *unit, struct err *err)
{
	err_set(err, EINVAL, "values of type %s cannot be written in \"%s\"", t->type_name, unit);
	bool is_time = strcmp(value_unit(t->unit).base, "ns") == 0;
	return err_hint(err, "possible: %s%s", is_time ? "" : t->unit,
			!has_time ? ""
			: is_time ? "ns, us, ms, s"
				  : ", ns, us, ms, s");
}

/* Finds the factor that converts values to `unit`. If it is NULL the unit is microseconds for
 * times, but CPU time is not converted, as in other tools' collapsed stacks. */
static int folded_factor(const struct tree *t, const char *unit, double *factor, struct err *err)
{
	struct value_unit own = value_unit(t->unit);
	bool is_time = strcmp(own.base, "ns") == 0;
	double in_ns = is_time ? own.scale : 0; /* one value; 0: not a time */
	if (!is_time && t->scaled_unit && strcmp(value_unit(t->scaled_unit).base, "ns") == 0)
		in_ns = t->scale * value_unit(t->scaled_unit).scale;
	*factor = 1;
	if (!unit && (!is_time || strcmp(t->type_name, "cpu") == 0))
		return 0;
	if (unit && (strcmp(unit, t->unit) == 0 ||
		     (!is_time && strcmp(own.base, value_unit(unit).base) == 0 &&
		      own.scale == value_unit(unit).scale)))
		return 0;
	struct value_unit want = value_unit(unit ? unit : "us");
	if (strcmp(want.base, "ns") != 0 || in_ns == 0)
		return folded_unit_error(t, in_ns != 0, unit, err);
	*factor = in_ns / want.scale;
	return 0;
}

static void folded_spell_tree(struct folded_writer *w, const struct tree *t, uint32_t *like,
			      bool *any_alike)
{
	w->tree = t;
	w->name_of = xreallocarray(w->name_of, t->funcs.n, sizeof *w->name_of);
	buf_clear(&w->names);
	*any_alike = folded_spell_all(w, like);
}

int folded_write_tree(struct tree *t, const struct format_write_opts *opts, struct out *out,
		      struct err *err)
{
	struct folded_writer w = { .annotate = format_annotate(opts->annotate, t->type_name),
				   .out = out };
	struct tree *joined = NULL;
	uint32_t *like = xcalloc(t->funcs.n, sizeof *like);
	bool any_alike = false;
	int rc = folded_factor(t, opts->unit, &w.factor, err);
	if (rc == 0) {
		folded_spell_tree(&w, t, like, &any_alike);
		if (any_alike)
			joined = folded_join(t, like);
		if (joined)
			folded_spell_tree(&w, joined, like, &any_alike);
		tree_sort(joined ? joined : t, ORDER_NAME);
		w.states = tree_states(w.tree);
		folded_tell_from_diff(&w);
		rc = folded_walk(&w, err);
	}
	tree_free(joined);
	buf_done(&w.names);
	buf_done(&w.line);
	vec_done(&w.marks);
	free(w.name_of);
	free(w.states);
	free(like);
	return rc;
}

int folded_write(struct profile *p, const struct format_write_opts *opts, struct out *out,
		 struct err *err)
{
	struct tree_opts tree_opts = opts->tree;
	struct tree *tree = NULL;
	int rc = format_pick_type(p, opts->type, &tree_opts.type, err);
	if (rc == 0)
		rc = tree_build(p, &tree_opts, &tree, err);
	if (rc == 0)
		rc = folded_write_tree(tree, opts, out, err);
	tree_free(tree);
	return rc;
}
