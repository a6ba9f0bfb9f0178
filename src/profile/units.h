/* profile/units.h: values of one quantity in one unit. Programs count the same in nanoseconds or
 * microseconds, bytes or kB: types that differ only in this are one. Times are kept in nanoseconds,
 * memory in bytes, which loses nothing. Values without a unit are counts. Units of metrics stay as
 * they are. */
#ifndef CRESSET_PROFILE_UNITS_H
#define CRESSET_PROFILE_UNITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct profile;

/* A value of a unit times scale is in base: "nanoseconds", "bytes", "count". */
struct unit_base {
	const char *base; /* NULL: the unit is another one */
	int64_t scale;
};
struct unit_base unit_base_of(const char *unit);
/* Of a text that need not end in a NUL. */
struct unit_base unit_base_of_n(const char *unit, size_t len);

/* Converts the types of p, their series and samples. Types that become equal are one afterwards.
 * Ids of types and series change if anything was converted. */
void profile_unify_units(struct profile *p);

/* Converts types of merged files that share a name, so that no two look the same. A count of
 * samples with a period becomes the time that it stands for if there is a type of that time, and
 * they are_apart: no file has both, which may be of the same samples. Otherwise the count is called
 * "samples". If two types have the same names, the second one gets its unit as well
 * ("cpu-count"). */
void profile_unify_names(struct profile *p, bool are_apart);
/* Whether p has a count of samples and a time of one name. */
bool profile_has_counts_and_times(const struct profile *p);

/* Returns the number of samples of p with a value that does not fit, or with which the sum of their
 * type does not. Such values and sums are cut (profile/sum.h). */
uint64_t profile_too_large(const struct profile *p);

/* Returns a copy of the types, labels and series of a catalog with unified types, and in *factors
 * the factor of the values of each series; ids of series stay. Returns NULL if there is nothing to
 * convert. */
struct profile *catalog_unify_units(const struct profile *catalog, int64_t **factors);

#endif
