/* profile/tree.h: the flame tree: stacks of functions with self and total values, derived from a
 * profile when asked.
 *
 * Node 0 is the root ("all"). Nodes are in an array; a child's id is greater than its parent's, so
 * totals are one pass backwards. A node is a function (name, kind, binary, file) under its parent;
 * inlined lines are nodes of their own. Addresses of the same function fall together. Siblings hang
 * in a list: after tree_total in order of first use; tree_sort orders them for output. */
#ifndef CRESSET_PROFILE_TREE_H
#define CRESSET_PROFILE_TREE_H

#include "base/err.h"
#include "base/hash.h"
#include "base/vec.h"
#include "profile/profile.h"

#include <stdbool.h>
#include <stdint.h>

enum { TREE_ROOT = 0, TREE_NONE = UINT32_MAX };
/* Of a name that goes out of the process. */
enum { TREE_TEXT_MAX = STRTAB_MAX_LEN / 3 - 3 }; /* as UTF-8, too, it fits into a table */
struct tree_path;

/* What nodes of equal meaning share: one row per function shown. Row 0 is the root's. */
struct tree_func {
	uint32_t name, binary, file; /* string ids of tree.strings */
	uint8_t kind;                /* enum frame_kind */
	bool inlined;
};
static inline bool tree_func_eq(const struct tree_func *a, const struct tree_func *b)
{
	return a->name == b->name && a->binary == b->binary && a->file == b->file &&
	       a->kind == b->kind && a->inlined == b->inlined;
}
static inline uint64_t tree_func_hash(const struct tree_func *f)
{
	return hash_mix((uint64_t)f->name << 32 | f->binary,
			(uint64_t)f->file << 32 | f->kind << 1 | f->inlined);
}
struct tree_node {
	uint32_t parent, first_child, next; /* TREE_NONE */
	uint32_t func;                      /* index in funcs; root: 0 */
	int64_t self, total;
	int64_t other_self, other_total; /* the older side of a difference, else 0 */
};
/* How many samples are behind a sum, and the sum of the squares of what each of them weighs, in the
 * tree's unit: profile/interval.h makes intervals of it. What one sample weighs:
 *
 * - Counts of samples: 1, or where periods differ the series' period. A row is value / weight
 *   samples, however many were added up into it.
 * - Values in the unit of a period (CPU time by a timer, bytes of a sampling heap profiler): the
 *   period, likewise. A period of 1 is no sampling, but for counts of events.
 * - Other values of rows that have times: each row is one sample and weighs its value; but where it is
 *   the sum of many short waits ("[off-CPU below 1ms]"), what the longest of them can be.
 * - Everything else (microseconds or bytes of a file that says neither period nor times): not
 *   known, since a row may be one sample or a million. Both numbers are then NaN. */
struct tree_spread {
	double n, squares;
};
static inline void tree_spread_add(struct tree_spread *to, struct tree_spread s)
{
	to->n += s.n;
	to->squares += s.squares;
}
struct tree_node_spread {
	struct tree_spread self, total;
};
struct tree {
	struct strtab strings;
	VEC(struct tree_func) funcs;
	VEC(struct tree_node) nodes;
	/* By node; empty but after tree_opts.with_spread. The other ones are of the older side, where both sides have them. */
	VEC(struct tree_node_spread) spreads;
	VEC(struct tree_node_spread) other_spreads;
	struct map func_index;
	struct map child_index; /* (parent, func) → child, for parents with many children only */
	/* What is counted ("cpu", "off-cpu", "alloc") and in what ("samples", "nanoseconds",
	 * "bytes"); text owned by strings. */
	const char *type_name, *unit;
	/* What a value is multiplied by to be in scaled_unit ("nanoseconds"); 0 and NULL where no
	 * period is known. */
	double scale;
	const char *scaled_unit;
	bool is_diff, is_inverted;
	/* Of a difference: what values of the older side are multiplied by to be compared with the
	 * newer's; 0: shares of each side's total are compared. */
	double other_factor;
	/* Before focus, ignore and the time range: percentages keep both bases. */
	int64_t unfiltered_total, other_unfiltered_total;
	uint64_t n_samples; /* rows that went in */
};

/* Root frames put in front of every stack, of kind FRAME_MARKER: "bash", "bash-12", "bash-12/13",
 * the process' name, "cpu3", the container's name (or id, where it has none), labels; "?" for what is unknown, "_" for spaces in names
 * of threads. Filters do not see them. */
enum tree_by {
	BY_NONE = 0,
	BY_COMM,
	BY_PID,
	BY_TID,
	BY_PROCESS,
	BY_CPU,
	BY_CONTAINER,
	BY_POD,
	BY_NAMESPACE,
	BY_UNIT,
	BY_USER,
	BY_EXECUTABLE,
	BY_SERVICE,
	BY_KEYS
};
/* By key; a list of choices that ends with BY_KEYS, or goes on with words of its own. */
#define TREE_BY_NAMES \
	[BY_NONE] = "none", [BY_COMM] = "comm", [BY_PID] = "pid", [BY_TID] = "tid", \
	[BY_PROCESS] = "process", [BY_CPU] = "cpu", [BY_CONTAINER] = "container", \
	[BY_POD] = "pod", [BY_NAMESPACE] = "namespace", [BY_UNIT] = "unit", [BY_USER] = "user", \
	[BY_EXECUTABLE] = "executable", [BY_SERVICE] = "service"
extern const char *const tree_by_names[BY_KEYS + 1]; /* then NULL */

enum { TREE_BY_MAX = 4 };
struct tree_opts {
	uint32_t type; /* of profile.series.types */
	enum tree_by by[TREE_BY_MAX];
	int n_by;
	/* Extended regular expressions, NULL = not asked, on a function's name unless prefixed
	 * "binary:", "file:" or "kind:"; several on a line each. Focus keeps only stacks with a matching frame for each of them, ignore only
	 * stacks without, hide drops the matching frames. Focus and ignore look at whole stacks,
	 * before anything is dropped. */
	const char *focus, *ignore, *hide;
	/* Since the start of the profile; to = 0: until the end. Of a sample that covers time the part inside
	 * counts (time_range.h). */
	int64_t time_from_ns, time_to_ns;
	bool inverted;           /* leaf at the root */
	bool collapse_recursion; /* a function directly calling itself is one node */
	bool no_kernel, no_user;
	/* Of the tree's total: what is worth less is added up below its parent as tree_prune_share does it, and takes no time and no memory.
	 * 0: everything is there. For tree_sums only; not together with inverted and with_spread. */
	double min_share;
	const struct tree_path *zoom; /* with min_share: as of tree_prune_share */
	bool with_spread;             /* not together with inverted and max_depth */
	uint32_t max_depth; /* of the tree, 0 = none; deeper frames fall into their ancestor */
};

/* Builds the tree of one type, totals included. The total is the sum of all values that pass focus,
 * ignore and the time range: a stack whose frames were all dropped gives its value to the root.
 * Where series of samples differ in period, values are in the period's unit, so that they add up. p
 * is changed only by interned strings; the tree does not refer to it. -EINVAL with the words in err
 * for a bad regular expression or type. */
int tree_build(struct profile *p, const struct tree_opts *opts, struct tree **out, struct err *err);

/* The same, and which sample went where, for what shows them one by one: those that went in, in no
 * special order. opts ask for neither inverted nor max_depth. samples must be zeroed or done. */
struct tree_sample {
	uint32_t row, node; /* of profile.samples, of the tree */
	int64_t value;      /* in the tree's unit */
};
struct tree_samples {
	VEC(struct tree_sample) rows;
};
int tree_build_samples(struct profile *p, const struct tree_opts *opts, struct tree **out,
		       struct tree_samples *samples, struct err *err);
void tree_free(struct tree *t);

/* A fresh tree with only its root, for tests and for what makes trees from elsewhere. */
struct tree *tree_new(void);
/* The child of parent with this function, added when new. func comes from tree_func_intern. */
uint32_t tree_func_intern(struct tree *t, const struct tree_func *f);
uint32_t tree_child(struct tree *t, uint32_t parent, uint32_t func);
/* The function of src in dst, added when new. */
uint32_t tree_func_copy(struct tree *dst, const struct tree *src, uint32_t func);
/* What values of an empty tree are of, and in (struct tree); texts are copied, scaled_unit may be NULL. */
void tree_set_unit(struct tree *t, const char *type_name, const char *unit, double scale,
		   const char *scaled_unit);
/* Type name, unit and scale of src for an empty dst. */
void tree_take_unit(struct tree *dst, const struct tree *src);
/* For what changes parent, first_child or next by hand: tree_child works again afterwards. */
void tree_reindex(struct tree *t);
/* Sums self values, and spreads, into totals, both sides. Call once after the last change. */
void tree_total(struct tree *t);

/* Adds src to dst node by node (equal functions fall together); totals are right afterwards, spreads
 * are gone, but those of a difference. An empty dst takes over the unit. Counts with different periods are both converted to the scaled
 * unit first. */
void tree_merge(struct tree *dst, const struct tree *src);
/* newer becomes newer − older: self/total keep the newer side, other_* the older one, spreads included. */
void tree_diff(struct tree *newer, const struct tree *older);
/* tree_build of both sides, then tree_diff. */
int tree_build_diff(struct profile *newer, const struct tree_opts *newer_opts,
		    struct profile *older, const struct tree_opts *older_opts, struct tree **out,
		    struct err *err);

/* Turns every stack round, leaf at the root, below the first `keep` levels (root frames stay in
 * front). */
void tree_invert(struct tree *t, uint32_t keep);

enum tree_order { ORDER_NAME, ORDER_TOTAL };
/* Orders siblings: by name (stable pictures) or by total, biggest first; what was left out comes last. */
void tree_sort(struct tree *t, enum tree_order order);

/* Subtrees whose total (on both sides of a difference) is below min_total become one FRAME_REST
 * leaf per parent that keeps their sum: "(n frames below x)". Returns how many nodes went. The tree
 * is compacted, ids change; the order of siblings stays. */
uint32_t tree_prune(struct tree *t, int64_t min_total);

/* The same, of what is worth less than this share of the whole, on both sides of a difference; below zoom's end, of what is worth less than
 * this share of the node there (profile/tree_path.h; NULL: the root). The nodes on the way to it stay. new_id: by node, where it
 * went, TREE_NONE: into a rest. It may be NULL. */
uint32_t tree_prune_share(struct tree *t, double share, const struct tree_path *zoom,
			  uint32_t *new_id);
/* What a node must be worth to be seen. */
int64_t tree_min_total(int64_t total, double min_share);

/* The function of such a leaf; n: 0 where it is not known how many they were; min_total: 0 where it is not the same everywhere. */
uint32_t tree_rest_func(struct tree *t, uint32_t n, int64_t min_total);

/* Nodes deeper than max_depth fall into their ancestor there. Compacted likewise. */
void tree_cut(struct tree *t, uint32_t max_depth);

uint32_t tree_depth(const struct tree *t); /* of the deepest node; root = 0 */

#endif
