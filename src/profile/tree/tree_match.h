/* profile/tree/tree_match.h: which functions of two trees are the same, though another build has
 * other paths, versions and clones.
 *
 * Functions are equal if name, kind, file and binary are. The others are grouped by their kind, and
 * by name and binary as they are in every build (profile/identity.h). Members of a group are told
 * apart by their source files, where names alone do not identify a function:
 *
 * - files are the same if they differ only in versions of directories;
 * - a file that only the older side has is the file of the same name that only the newer side has,
 *   if no directory that both sides have would be renamed (the longest common path wins);
 * - if each side has one file only, the function was moved, unless both files are on both sides, or
 *   a name is of one file only (Python, JavaScript);
 * - a side without files matches all files;
 * - generated code without a file has that of the path in its name, if there is one.
 *
 * In one tree of several builds (tree_merge_builds) there are no sides: directories are the same if
 * at least two functions, and half of those in one of them, are in both under the same path.
 *
 * Functions that are found on both sides as they are stay apart, unless a member of their group is
 * on one side only: then they are one.
 *
 * Addresses without a name ("app+0x1234") differ between builds. If most of a binary's are not
 * equal, they are one function, MATCH_NO_NAMES. If one side lacks many names that the other has,
 * functions that only that other side has are part of it. Functions called "[unknown]" count as
 * addresses. */
#ifndef CRESSET_PROFILE_TREE_TREE_MATCH_H
#define CRESSET_PROFILE_TREE_TREE_MATCH_H

#include "profile/tree/tree.h"

#define NO_NAMES "[no names]" /* the name of functions that cannot be distinguished */

enum match_how {
	MATCH_EXACT,    /* equal, or on one side only */
	MATCH_LOOSE,    /* the same, but not equal */
	MATCH_NO_NAMES, /* a binary's functions that cannot be distinguished */
};
extern const char *const match_how_names[]; /* "exact", "loose", "no-names" */

struct tree_match {
	struct tree *names; /* a table of the functions of both sides, none inlined; no nodes */
	/* By function of each tree: the function of names that stands for it. */
	uint32_t *newer, *older;
	uint32_t n;         /* functions of names; the following are by function of names */
	uint8_t *how;       /* enum match_how, of the ones that stand for others */
	uint32_t *of_older; /* what the older side calls it: a function of names; or TREE_NONE */
	bool is_exact;      /* nothing but MATCH_EXACT */
};

/* is_strict: only equal functions are the same. */
void tree_match_init(struct tree_match *m, const struct tree *newer, const struct tree *older,
		     bool is_strict);
/* The same within one tree; older and of_older are NULL. */
void tree_match_within(struct tree_match *m, const struct tree *t);
void tree_match_done(struct tree_match *m);

#endif
