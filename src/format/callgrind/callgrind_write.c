/* Writes self costs and inclusive costs of calls of one type. The inclusive cost of a call is the
 * sum over the stacks with it as the outermost call of that function; recursive calls cost 0, so a
 * recursive function at the root shows 0. Control characters and invalid UTF-8 become '?'; entries
 * without a name are "???" or "[unknown]", the stack without frames is "[empty]". */
#include "base/buf.h"
#include "base/fs.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "base/vec.h"
#include "format/callgrind/callgrind.h"
#include "profile/profile.h"
#include "profile/sum.h"

#include <stdlib.h>
#include <string.h>

/* A function, by the identity it has in the file. Functions of the tree that differ only in kind or
 * in being inlined are the same here. */
struct callgrind_target {
	uint32_t object, file, name; /* strings of the writer */
	uint32_t on_path; /* number of its nodes from the root to the current node, inclusive */
};
/* The self cost of a function's code from one file, or the cost of a call made there. */
struct callgrind_entry {
	uint32_t function, file;
	uint32_t callee; /* UINT32_MAX: self cost */
	int64_t cost;
};

struct callgrind_writer {
	const struct tree *tree;
	const struct format_write_opts *opts;
	struct strtab strings;
	VEC(struct callgrind_target) functions;
	VEC(struct callgrind_entry) entries;
	struct map function_index, entry_index;
	uint32_t *of_func; /* tree function → function */
	uint32_t *owner;   /* node → function that its cost belongs to */
	uint8_t *told[3];  /* by string: its number is defined as … */
	struct buf text;
};
enum { TOLD_OBJECT, TOLD_FILE, TOLD_NAME };

/* --- names --- */

/* Stores a name for line-based readers: no control characters, valid UTF-8, not empty. */
static uint32_t callgrind_put(struct callgrind_writer *w, uint32_t string, const char *suffix,
			      const char *unknown)
{
	const char *s = strtab_get(&w->tree->strings, string);
	size_t len = strtab_len(&w->tree->strings, string), n;
	buf_clear(&w->text);
	for (size_t i = 0; i < len; i += n ? n : 1) {
		n = utf8_len(s + i, len - i);
		uint32_t c = n ? utf8_char(s + i, n) : 0;
		bool is_blank = w->text.len == 0 && c == ' ';
		if (n && c >= 0x20 && !(c >= 0x7f && c < 0xa0) && !is_blank)
			buf_add(&w->text, s + i, n);
		else if (!is_blank)
			buf_addc(&w->text, '?');
	}
	buf_adds(&w->text, suffix);
	while (w->text.len && w->text.data[w->text.len - 1] == ' ')
		w->text.len--;
	if (w->text.len == 0)
		buf_adds(&w->text, unknown);
	return strtab_putn(&w->strings, w->text.data, w->text.len);
}

struct callgrind_target_key {
	const struct callgrind_writer *w;
	const struct callgrind_target *target;
};

static bool callgrind_same_target(const void *ctx, uint32_t id)
{
	const struct callgrind_target_key *key = ctx;
	const struct callgrind_target *a = &key->w->functions.v[id], *b = key->target;
	return a->object == b->object && a->file == b->file && a->name == b->name;
}

static uint32_t callgrind_put_function(struct callgrind_writer *w, const struct tree_func *f,
				       bool is_root)
{
	const char *suffix = format_suffix(f->kind, w->opts->annotate);
	struct callgrind_target t = {
		.object = callgrind_put(w, f->binary, "", "???"),
		.file = callgrind_put(w, f->file, "", "???"),
		.name = is_root ? strtab_put(&w->strings, "[empty]")
				: callgrind_put(w, f->name, suffix, "[unknown]"),
	};
	struct callgrind_target_key key = { w, &t };
	uint64_t hash = hash_mix(hash_mix(t.object, t.file), t.name);
	uint32_t fresh = w->functions.n;
	uint32_t id = map_intern(&w->function_index, hash, fresh, callgrind_same_target, &key);
	if (id == fresh)
		vec_push(&w->functions, t);
	return id;
}

/* --- the graph --- */

struct callgrind_entry_key {
	const struct callgrind_writer *w;
	struct callgrind_entry entry;
};

static bool callgrind_same_entry(const void *ctx, uint32_t id)
{
	const struct callgrind_entry_key *key = ctx;
	const struct callgrind_entry *a = &key->w->entries.v[id], *b = &key->entry;
	return a->function == b->function && a->file == b->file && a->callee == b->callee;
}

static void callgrind_add(struct callgrind_writer *w, uint32_t function, uint32_t file,
			  uint32_t callee, int64_t cost)
{
	struct callgrind_entry_key key = { w, { function, file, callee, 0 } };
	uint64_t hash = hash_mix(hash_mix(function, file), callee);
	uint32_t fresh = w->entries.n;
	uint32_t id = map_intern(&w->entry_index, hash, fresh, callgrind_same_entry, &key);
	if (id == fresh)
		vec_push(&w->entries, key.entry);
	w->entries.v[id].cost = sum_add(w->entries.v[id].cost, cost);
}

static uint32_t callgrind_func_of(const struct callgrind_writer *w, uint32_t node)
{
	return w->of_func[w->tree->nodes.v[node].func];
}

/* Whether a node is what the reader makes of "fi=": code of another file inside its parent's
 * function. */
static bool callgrind_is_inlined(const struct callgrind_writer *w, uint32_t node)
{
	uint32_t parent = w->tree->nodes.v[node].parent;
	const struct callgrind_target *f = &w->functions.v[callgrind_func_of(w, node)];
	const struct callgrind_target *above = &w->functions.v[callgrind_func_of(w, parent)];
	return parent != TREE_ROOT && f->name == above->name && f->object == above->object &&
	       f->file != above->file;
}

static void callgrind_enter(struct callgrind_writer *w, uint32_t node)
{
	const struct tree_node *n = &w->tree->nodes.v[node];
	uint32_t func = callgrind_func_of(w, node);
	if (callgrind_is_inlined(w, node)) {
		w->owner[node] = w->owner[n->parent];
	} else {
		w->owner[node] = func;
		/* In recursion only the outermost call has a cost, so that the costs of all calls
		 * to a function add up to its total. */
		if (n->parent != TREE_ROOT)
			callgrind_add(w, w->owner[n->parent],
				      w->functions.v[callgrind_func_of(w, n->parent)].file, func,
				      w->functions.v[func].on_path ? 0 : n->total);
	}
	w->functions.v[w->owner[node]].on_path++;
	if (n->self)
		callgrind_add(w, w->owner[node], w->functions.v[func].file, UINT32_MAX, n->self);
}

static void callgrind_leave(struct callgrind_writer *w, uint32_t node)
{
	w->functions.v[w->owner[node]].on_path--;
}

/* Walks depth first without recursion: stacks may be 65535 frames deep. */
static void callgrind_walk(struct callgrind_writer *w)
{
	const struct tree_node *nodes = w->tree->nodes.v;
	uint32_t id = nodes[TREE_ROOT].first_child;
	if (nodes[TREE_ROOT].self)
		callgrind_add(w, w->of_func[0], w->functions.v[w->of_func[0]].file, UINT32_MAX,
			      nodes[TREE_ROOT].self);
	while (id != TREE_NONE && id != TREE_ROOT) {
		callgrind_enter(w, id);
		if (nodes[id].first_child != TREE_NONE) {
			id = nodes[id].first_child;
			continue;
		}
		for (; id != TREE_ROOT && nodes[id].next == TREE_NONE; id = nodes[id].parent)
			callgrind_leave(w, id);
		if (id != TREE_ROOT) {
			callgrind_leave(w, id);
			id = nodes[id].next;
		}
	}
}

/* Sorts by function, its own file first, and self cost before calls. */
static int callgrind_entry_cmp(const void *a, const void *b, void *ctx)
{
	const struct callgrind_entry *x = a, *y = b;
	const struct callgrind_writer *w = ctx;
	if (x->function != y->function)
		return x->function < y->function ? -1 : 1;
	if (x->file != y->file) {
		uint32_t own = w->functions.v[x->function].file;
		return x->file == own ? -1 : y->file == own ? 1 : x->file < y->file ? -1 : 1;
	}
	/* UINT32_MAX + 1 is 0 */
	return x->callee + 1 < y->callee + 1 ? -1 : x->callee + 1 > y->callee + 1;
}

/* --- text --- */

/* Writes "fn=(7) name" the first time, then "fn=(7)". */
static void callgrind_spec(struct callgrind_writer *w, const char *spec, int kind, uint32_t string)
{
	buf_addf(&w->text, "%s=(%u)", spec, string);
	if (!w->told[kind][string]) {
		w->told[kind][string] = 1;
		buf_addc(&w->text, ' ');
		buf_add(&w->text, strtab_get(&w->strings, string), strtab_len(&w->strings, string));
	}
	buf_addc(&w->text, '\n');
}

static void callgrind_entry_text(struct callgrind_writer *w, const struct callgrind_entry *e,
				 const struct callgrind_entry *before)
{
	const struct callgrind_target *f = &w->functions.v[e->function];
	if (!before || before->function != e->function) {
		buf_addc(&w->text, '\n');
		callgrind_spec(w, "ob", TOLD_OBJECT, f->object);
		callgrind_spec(w, "fl", TOLD_FILE, f->file);
		callgrind_spec(w, "fn", TOLD_NAME, f->name);
	}
	if (e->file != (before && before->function == e->function ? before->file : f->file))
		callgrind_spec(w, "fi", TOLD_FILE, e->file);
	if (e->callee != UINT32_MAX) {
		const struct callgrind_target *callee = &w->functions.v[e->callee];
		callgrind_spec(w, "cob", TOLD_OBJECT, callee->object);
		callgrind_spec(w, "cfi", TOLD_FILE, callee->file);
		callgrind_spec(w, "cfn", TOLD_NAME, callee->name);
		buf_adds(&w->text, "calls=1 0\n");
	}
	buf_addf(&w->text, "0 %lld\n", (long long)e->cost);
}

static void callgrind_add_word(struct buf *b, const char *text)
{
	for (const char *c = text; *c; c++) {
		bool is_digit = *c >= '0' && *c <= '9';
		bool is_letter = (*c | 0x20) >= 'a' && (*c | 0x20) <= 'z';
		buf_addc(b, is_digit || is_letter ? *c : '_');
	}
	if (!*text)
		buf_addc(b, '_');
}

/* Writes the event's name. A tree that counts without a unit uses the type's name. */
static void callgrind_event_text(struct callgrind_writer *w, const struct profile *p,
				 const struct type *type)
{
	const char *name = profile_str(p, type->sample_type);
	const char *unit = w->tree->unit;
	struct buf word = { 0 };
	callgrind_add_word(&word, name);
	if (strcmp(unit, name) == 0)
		unit = profile_str(p, type->unit);
	buf_adds(&w->text, "# callgrind format\nversion: 1\ncreator: cresset " CRESSET_VERSION
			   "\npositions: line\n");
	buf_addf(&w->text, "event: %s : %s (", buf_cstr(&word), buf_cstr(&word));
	callgrind_add_word(&w->text, unit);
	buf_addf(&w->text, ")\nevents: %s\n", buf_cstr(&word));
	buf_done(&word);
}

static int callgrind_put_all(struct callgrind_writer *w, const struct profile *p, struct out *out,
			     struct err *err)
{
	const struct type *type = &p->series.types.v[w->opts->tree.type];
	long long total = w->tree->nodes.v[TREE_ROOT].total;
	for (int i = 0; i < 3; i++)
		w->told[i] = xcalloc(w->strings.all.n + 1, 1);
	buf_clear(&w->text);
	callgrind_event_text(w, p, type);
	buf_addf(&w->text, "summary: %lld\n", total);
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < w->entries.n; i++) {
		const struct callgrind_entry *e = &w->entries.v[i];
		callgrind_entry_text(w, e, i ? e - 1 : NULL);
		rc = out_write(out, w->text.data, w->text.len, err);
		buf_clear(&w->text);
	}
	buf_addf(&w->text, "\ntotals: %lld\n", total);
	return rc ? rc : out_write(out, w->text.data, w->text.len, err);
}

static void callgrind_writer_done(struct callgrind_writer *w)
{
	strtab_done(&w->strings);
	vec_done(&w->functions);
	vec_done(&w->entries);
	map_done(&w->function_index);
	map_done(&w->entry_index);
	buf_done(&w->text);
	free(w->of_func);
	free(w->owner);
	for (int i = 0; i < 3; i++)
		free(w->told[i]);
}

int callgrind_write(struct profile *p, const struct format_write_opts *opts, struct out *out,
		    struct err *err)
{
	struct format_write_opts own = *opts;
	struct tree *tree = NULL;
	int rc = format_pick_type(p, opts->type, &own.tree.type, err);
	if (rc == 0)
		rc = tree_build(p, &own.tree, &tree, err);
	if (rc)
		return rc;
	struct callgrind_writer w = { .tree = tree, .opts = &own };
	tree_sort(tree, ORDER_NAME);
	strtab_init(&w.strings);
	w.of_func = xcalloc(tree->funcs.n, sizeof *w.of_func);
	w.owner = xcalloc(tree->nodes.n, sizeof *w.owner);
	for (size_t i = 0; i < tree->funcs.n; i++)
		w.of_func[i] = callgrind_put_function(&w, &tree->funcs.v[i], i == 0);
	callgrind_walk(&w);
	if (w.entries.n)
		qsort_r(w.entries.v, w.entries.n, sizeof *w.entries.v, callgrind_entry_cmp, &w);
	rc = callgrind_put_all(&w, p, out, err);
	callgrind_writer_done(&w);
	tree_free(tree);
	return rc;
}
