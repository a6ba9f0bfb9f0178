/* profile/change/signed.h: profiles that are a difference already: some values are below zero.
 *
 * `go tool pprof -diff_base` and `cresset diff -o x.pb.gz` write such files: the samples of the
 * older side are negated and have the label pprof::base. Subtraction (`pprof -base`, heap profiles
 * of a range of time) leaves negative values without that label: what both sides had is lost then.
 *
 * In a tree the values below zero become the older side of a difference. Percentages are those of
 * go tool pprof: of the older side if it is marked, else of all values without their signs. */
#ifndef CRESSET_PROFILE_CHANGE_SIGNED_H
#define CRESSET_PROFILE_CHANGE_SIGNED_H

#include <stdbool.h>
#include <stdint.h>

struct err;
struct profile;
struct tree;
struct tree_opts;

#define BASE_LABEL "pprof::base" /* "true" on samples of the older side */

/* Values of one type that are below zero, and their sum. */
struct signed_part {
	uint64_t n, n_all; /* samples below zero, and all */
	int64_t sum;       /* in the type's unit */
	bool is_marked;    /* one of them has BASE_LABEL */
};
struct signed_part signed_part_of(const struct profile *p, uint32_t type);

/* Does the same as tree_build, but makes a difference (tree.n_negative, tree.whole) if values of
 * the type are below zero. */
int tree_build_signed(struct profile *p, const struct tree_opts *opts, struct tree **out,
		      struct err *err);

#endif
