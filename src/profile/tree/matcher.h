/* profile/tree/matcher.h: the state of tree_match.c while it finds the functions that are the same,
 * and its parts: match_files.c tells functions of one name apart, match_nameless.c those without
 * names. Used only by these. */
#ifndef CRESSET_PROFILE_TREE_MATCHER_H
#define CRESSET_PROFILE_TREE_MATCHER_H

#include "base/buf.h"
#include "base/hash.h"
#include "base/vec.h"
#include "profile/tree/tree.h"

struct tree_match;

enum { NEWER = 1, OLDER = 2, BOTH = NEWER | OLDER };

/* Functions with the same kind, name and binary in every build. */
struct match_group {
	uint32_t name, binary; /* strings, without what a build adds */
	uint8_t kind;
	uint8_t language; /* enum frame_kind; of a member with a source file */
	bool has_lone;    /* a member is on one side only */
	uint32_t first;   /* member; the others follow in matcher.next */
	uint32_t n;
};
/* Functions of a binary that have no names. */
struct nameless {
	uint32_t binary; /* string, as in groups */
	uint32_t func;   /* one of them */
	/* By side: self values without names, those that are equal on both sides, and all. */
	double sum[2], equal[2], all[2];
	uint32_t n, n_equal;
	bool has_unknown; /* functions with one word as their name */
	bool is_folded;
	uint8_t lacking; /* the side that lacks names; 0: none, or both */
	uint32_t fold;   /* the function that stands for them */
};
struct matcher {
	struct tree_match *m;
	struct tree *names;
	const struct tree *trees[2]; /* newer, older */
	/* By function of names. */
	uint8_t *sides;
	uint32_t *files; /* its source file: that of the tree, or in the name of generated code */
	uint32_t *same;  /* the function that stands for it */
	uint32_t *next;  /* in its group; TREE_NONE */
	uint32_t *group_of; /* TREE_NONE: in none */
	bool *is_address;
	VEC(struct match_group) groups;
	struct map group_index;
	struct map binary_keys, file_keys; /* string → string without what a build adds */
	/* Hash of a file's path or directory, of its name → sides that have it. */
	struct map paths, bases;
	struct map bundles; /* file without hash and side → file, or TREE_NONE: several */
	bool has_dirs, has_bundles, is_within;
	struct map dir_funcs; /* is_within: hash of a directory → functions below it */
	struct map renames;   /* hash of two directories → functions of both, under one path */
	VEC(struct nameless) nameless;
	struct map nameless_index; /* binary → index */
	struct buf text;
};

/* Strings without what a build adds. */
uint32_t matcher_binary(struct matcher *x, uint32_t binary);
uint32_t matcher_file(struct matcher *x, uint32_t file);

/* --- match_files.c ---
 *
 * Members of a group, and which of them are the same by their source files. */

/* Members first … first + n - 1 have the same `part`: the file's string, or the package's major
 * version. */
struct match_class {
	uint32_t part, first, n;
	uint32_t set; /* the first class of those that are the same */
	uint8_t sides;
};
struct match_member {
	uint32_t part, func;
};
struct classes {
	VEC(struct match_member) members;
	VEC(struct match_class) v;
};

/* Fills *c, each class being a set of its own. */
void classes_make(struct matcher *x, const struct match_group *g, struct classes *c);
void classes_done(struct classes *c);

/* Joins the classes that are the same on both sides; or in one tree of several builds, for which
 * renamed directories are voted on first. */
void classes_join_sides(struct matcher *x, const struct match_group *g, struct classes *c);
void classes_join_within(struct matcher *x, const struct match_group *g, struct classes *c);
void vote_renames(struct matcher *x);

/* --- match_nameless.c --- */

/* Makes the functions without names of a binary one, where builds differ. */
void match_nameless(struct matcher *x);

#endif
