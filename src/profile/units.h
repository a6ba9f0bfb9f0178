/* profile/units.h: values of one quantity in one unit. Programs count the same in nanoseconds or
 * microseconds, bytes or kB: types that differ only in this are one. Times are retained in
 * nanoseconds, memory in bytes, which loses nothing. Units of metrics stay as they are. */
#ifndef CRESSET_PROFILE_UNITS_H
#define CRESSET_PROFILE_UNITS_H

#include <stdbool.h>
#include <stdint.h>

struct profile;

/* A value of a unit times scale is in base: "nanoseconds", "bytes". */
struct unit_base {
	const char *base; /* NULL: the unit is neither time nor memory */
	int64_t scale;
};
struct unit_base unit_base_of(const char *unit);

/* Converts the types of p, their series and samples. Types that become equal are one afterwards.
 * Ids of types and series change if anything was converted. */
void profile_unify_units(struct profile *p);

/* Returns a copy of the types, labels and series of a catalog with unified types, and in *factors
 * the factor of the values of each series; ids of series stay. Returns NULL if there is nothing to
 * convert. */
struct profile *catalog_unify_units(const struct profile *catalog, int64_t **factors);

#endif
