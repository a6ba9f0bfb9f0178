/* profile/origins.h: where the names of a mapping's frames come from, for whoever wants better ones: ".symtab",
 * "debug file", ".dynsym" … (symbol/symbol.h), each with the number of frames it named; string 0 stands for frames that got no name.
 *
 * Only what was symbolized by us has them. They count distinct frames, not samples; of
 * merged profiles they are sums. */
#ifndef CRESSET_PROFILE_ORIGINS_H
#define CRESSET_PROFILE_ORIGINS_H

#include "base/hash.h"
#include "base/vec.h"

#include <stdint.h>

struct origin {
	uint32_t mapping;
	uint32_t name; /* string; 0: no name was found */
	uint64_t frames;
};
struct origin_table { /* zeroed = empty */
	VEC(struct origin) all;
	struct map index;
};

void origin_add(struct origin_table *t, uint32_t mapping, uint32_t name, uint64_t frames);
void origin_table_done(struct origin_table *t);

#endif
