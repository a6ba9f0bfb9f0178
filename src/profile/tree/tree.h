/* profile/tree/tree.h: the flame tree: stacks of functions with self and total values, built from a
 * profile on demand.
 *
 * Node 0 is the root ("all"). Nodes are in an array; a child's id is greater than its parent's, so
 * one pass backwards computes totals. A node is a function (name, kind, binary, file) below its
 * parent; inlined lines are separate nodes. Addresses of the same function share a node. Siblings
 * form a list: after tree_total in order of first use; tree_sort orders them for output. */
#ifndef CRESSET_PROFILE_TREE_TREE_H
#define CRESSET_PROFILE_TREE_TREE_H

#include "base/hash.h"
#include "base/vec.h"
#include "profile/strtab.h"

#include <stdbool.h>
#include <stdint.h>

struct err;
struct profile;

enum { TREE_ROOT = 0, TREE_NONE = UINT32_MAX };
/* Limit of a name in output. */
enum { TREE_TEXT_MAX = STRTAB_MAX_LEN / 3 - 3 }; /* also fits into a table as UTF-8 */
struct tree_path;

/* A function shown by one or more nodes. Row 0 is the root's. */
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
/* The number of samples in a sum, and the sum of the squares of their weights, in the tree's unit:
 * profile/change/interval.h computes intervals from them. The weight of one sample is:
 *
 * - Counts of samples: 1, or the series' period if periods differ. A row is value / weight
 *   samples, however many were added up in it.
 * - Values in the unit of a period (CPU time by a timer, bytes of a sampling heap profiler): the
 *   period. A period of 1 means no sampling, except for counts of events.
 * - Other values of rows with times: each row is one sample and weighs its value; but if
 *   it is the sum of many short waits ("[off-CPU below 1ms]"), the upper limit of one of them.
 * - Everything else (microseconds or bytes of a file with neither period nor times): unknown,
 *   since a row may be one sample or a million. Both numbers are then NaN. */
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
	/* By node; empty except with tree_opts.with_spread. other_spreads is the older side's, if
	 * both sides have them. */
	VEC(struct tree_node_spread) spreads;
	VEC(struct tree_node_spread) other_spreads;
	struct map func_index;
	struct map child_index; /* (parent, func) → child, for parents with many children only */
	/* The quantity ("cpu", "off-cpu", "alloc") and its unit ("samples", "nanoseconds",
	 * "bytes"); owned by strings. */
	const char *type_name, *unit;
	uint8_t unmarked; /* enum thread_state of stacks without a marker */
	/* The factor from a value to scaled_unit ("nanoseconds"); 0 and NULL if no period is
	 * known. */
	double scale;
	const char *scaled_unit;
	bool is_diff, is_inverted;
	/* In a difference: the factor for values of the older side before they are compared with
	 * the newer's; 0: shares of each side's total are compared. */
	double other_factor;
	/* If the profile was a difference already (profile/change/signed.h): its samples below
	 * zero, what percentages of both sides are of, and whether the file marks its older side.
	 * 0 otherwise. */
	uint64_t n_negative;
	int64_t whole;
	bool is_marked;
	/* Totals before focus, ignore and the time range, as a second base for percentages. */
	int64_t unfiltered_total, other_unfiltered_total;
	uint64_t n_samples; /* rows that were added */
};

/* Root frames added to every stack, of kind FRAME_MARKER: "bash", "bash-12", "bash-12/13", the
 * process' name, "cpu3", the container's name (or id, if it lacks one), labels; "?" if unknown, "_"
 * for spaces in names of threads. Filters do not see them. */
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
/* Names by key, for lists of choices that end with BY_KEYS or add further words. */
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
	/* Extended regular expressions, one per line, NULL = none; matched against a function's
	 * name unless prefixed "binary:", "file:" or "kind:". focus retains only stacks with a
	 * matching frame for each of them, ignore only stacks without a match; hide drops the
	 * matching frames. focus and ignore see whole stacks, before frames are dropped. */
	const char *focus, *ignore, *hide;
	/* Since the start of the profile; to = 0: until the end. If a sample covers time, the part
	 * in the range counts (time_range.h). */
	int64_t time_from_ns, time_to_ns;
	bool inverted;           /* leaf at the root */
	bool collapse_recursion; /* a function directly calling itself is one node */
	bool no_kernel, no_user;
	/* Share of the tree's total. Smaller nodes are added up below their parent as by
	 * tree_prune_share, but take no time and no memory. 0: keep all nodes. For tree_sums only;
	 * not together with inverted or with_spread. */
	double min_share;
	const struct tree_path *zoom; /* with min_share: as for tree_prune_share */
	bool with_spread;             /* not together with inverted or max_depth */
	uint32_t max_depth; /* of the tree, 0 = none; deeper frames count in their ancestor */
	bool is_strict;     /* for differences: as in tree_diff */
	bool merges_builds; /* tree_merge_builds; not for tree_build_samples */
	int8_t sign; /* 1: only values above zero; -1: only those below, without their sign */
};

/* Builds the tree of one type, including totals. The total is the sum of all values that pass
 * focus, ignore and the time range: the value of a stack whose frames were all dropped goes to the
 * root. If series of samples have different periods, values are in the period's unit, so they add
 * up. p only gets new interned strings; the tree does not refer to it. Returns -EINVAL with err
 * set for a bad regular expression or type. */
int tree_build(struct profile *p, const struct tree_opts *opts, struct tree **out, struct err *err);

/* Does the same, and records the node of each sample that was added, in no particular order, for
 * output of single samples. inverted and max_depth of opts must not be set. samples must be zeroed
 * or freed. */
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

/* Returns a tree with only its root, for tests and for trees from other sources. */
struct tree *tree_new(void);
/* tree_child returns the child of parent with this function, added when new. func comes from
 * tree_func_intern. */
uint32_t tree_func_intern(struct tree *t, const struct tree_func *f);
uint32_t tree_child(struct tree *t, uint32_t parent, uint32_t func);
/* Returns the child of parent with this function, or TREE_NONE. */
uint32_t tree_find_child(const struct tree *t, uint32_t parent, uint32_t func);
/* Returns the id in dst of a function of src, added when new. */
uint32_t tree_func_copy(struct tree *dst, const struct tree *src, uint32_t func);
/* Sets the type and unit of an empty tree (struct tree), and `unmarked` by the type's name; strings
 * are copied, scaled_unit may be NULL. */
void tree_set_unit(struct tree *t, const char *type_name, const char *unit, double scale,
		   const char *scaled_unit);
/* Copies type name, unit and scale of src to an empty dst. */
void tree_take_unit(struct tree *dst, const struct tree *src);
/* Call after changing parent, first_child or next directly: tree_child works again afterwards. */
void tree_reindex(struct tree *t);
/* Sums self values, and spreads, into totals, both sides. Call once after the last change. */
void tree_total(struct tree *t);

/* Adds src to dst node by node (equal functions are merged). Totals are valid afterwards; spreads
 * are dropped, except those of a difference. An empty dst takes the unit of src. Counts with
 * different periods are both converted to the scaled unit first. */
void tree_merge(struct tree *dst, const struct tree *src);
/* newer becomes newer − older: self/total keep the newer side, other_* the older one, spreads
 * included. Functions that are the same (profile/tree/tree_match.h) have the newer side's names;
 * one that only one side inlined is one node, and so are a function and its clone that it calls.
 * is_strict: only equal functions are the same. */
void tree_diff(struct tree *newer, const struct tree *older, bool is_strict);
/* For a tree of several builds: functions that are the same (profile/tree/tree_match.h) become one,
 * as in tree_diff. Ids change. */
void tree_merge_builds(struct tree *t);
/* Calls tree_build for both sides, then tree_diff with newer_opts->is_strict. */
int tree_build_diff(struct profile *newer, const struct tree_opts *newer_opts,
		    struct profile *older, const struct tree_opts *older_opts, struct tree **out,
		    struct err *err);

/* Inverts every stack, leaf at the root, below the first `keep` levels (root frames stay at the
 * root). */
void tree_invert(struct tree *t, uint32_t keep);

enum tree_order { ORDER_NAME, ORDER_TOTAL };
/* Orders siblings by name (for stable graphs) or by total, largest first; FRAME_REST leaves come
 * last. */
void tree_sort(struct tree *t, enum tree_order order);

/* Replaces subtrees whose total (on both sides of a difference) is below min_total by one
 * FRAME_REST leaf per parent with their sum: "(n frames below x)". Returns the number of nodes
 * removed. The tree is compacted, so ids change; the order of siblings stays. */
uint32_t tree_prune(struct tree *t, int64_t min_total);

/* Does the same for nodes below this share of the whole, on both sides of a difference; below
 * zoom's end (profile/tree/tree_path.h; NULL: the root), for nodes below this share of the node
 * there. The nodes on the path to it stay. new_id (may be NULL): by node, its new id, or TREE_NONE
 * if it was removed. */
uint32_t tree_prune_share(struct tree *t, double share, const struct tree_path *zoom,
			  uint32_t *new_id);
/* Returns the smallest total of a node that is retained. */
int64_t tree_min_total(int64_t total, double min_share);

/* Returns the function of such a leaf. n: number of nodes removed, 0: unknown; min_total: 0 if it
 * varies. */
uint32_t tree_rest_func(struct tree *t, uint32_t n, int64_t min_total);

/* Merges nodes deeper than max_depth into their ancestor there. The tree is compacted, so ids
 * change. */
void tree_cut(struct tree *t, uint32_t max_depth);

/* Returns a new tree, for the caller to free, of binaries instead of functions: which file called
 * which. Consecutive frames in one binary are one node. A frame without a binary is shown by its
 * kind ("[jit]"); markers are retained. t needs its totals and is not changed. Spreads are left
 * out. */
struct tree *tree_by_binary(const struct tree *t);

/* Returns what percentages of the newer or the older side are of. */
static inline int64_t tree_whole(const struct tree *t, bool is_older)
{
	const struct tree_node *root = &t->nodes.v[TREE_ROOT];
	return t->whole ? t->whole : is_older ? root->other_total : root->total;
}

uint32_t tree_depth(const struct tree *t); /* of the deepest node; root = 0 */

/* --- tree_state.c ---
 *
 * The state of threads in the samples that end at each node of a tree. */

/* Returns an array by node, for the caller to free: enum thread_state of its self value, from the
 * marker nearest to the leaf, else from the tree's type. */
uint8_t *tree_states(const struct tree *t);

/* If a node's thread worked in the node itself but waited in its callees, moves the work to a new
 * child "[on-CPU]": in a graph the node has the colour of neither. For trees of `wall` that are
 * neither inverted nor differences. */
void tree_show_on_cpu(struct tree *t);

/* Whether the function is this marker. */
bool tree_func_is_marker(const struct tree *t, uint32_t func, const char *marker);

#endif
