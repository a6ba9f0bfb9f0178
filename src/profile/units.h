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

/* Returns a copy of the types, labels and series of a catalog with unified types, and in *factors
 * the factor of the values of each series; ids of series stay. Returns NULL if there is nothing to
 * convert. */
struct profile *catalog_unify_units(const struct profile *catalog, int64_t **factors);

#endif
