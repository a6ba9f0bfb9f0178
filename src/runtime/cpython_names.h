/* runtime/cpython_names.h: the code objects of a process that frames were seen of: read once each. */
#ifndef CRESSET_RUNTIME_CPYTHON_NAMES_H
#define CRESSET_RUNTIME_CPYTHON_NAMES_H

#include "base/hash.h"
#include "base/vec.h"
#include "runtime/cpython_code.h"

/* Of a process, of which a service may have hundreds. When either is reached, all are let go and read anew; whoever asks keeps the frames'
 * names, so that is seldom. */
enum { CPYTHON_MAX_KEPT = 1024, CPYTHON_MAX_KEPT_BYTES = 128 << 10 };

struct cpython_kept {
	uint64_t addr;
	uint32_t stamp;
	uint16_t version;
	struct cpython_code code;
};
struct cpython_names { /* zeroed = empty */
	VEC(struct cpython_kept) v;
	struct map by_code;
	size_t bytes;
};

void cpython_names_done(struct cpython_names *n);

/* NULL: not read yet. Until the next cpython_names_add. */
const struct cpython_kept *cpython_names_get(const struct cpython_names *n, uint64_t addr,
					     uint32_t stamp);
/* Takes the code. */
const struct cpython_kept *cpython_names_add(struct cpython_names *n, struct cpython_kept kept);

#endif
