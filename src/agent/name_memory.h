/* agent/name_memory.h: names of frames, kept from one dictionary for the next.
 *
 * Naming (naming.h) looks at code once, as who keeps names by address needs them once. A message that is sent stands for itself: its dictionary
 * has the names of all its frames. So what was named before is named again from here. */
#ifndef CRESSET_AGENT_NAME_MEMORY_H
#define CRESSET_AGENT_NAME_MEMORY_H

#include "base/hash.h"
#include "profile/profile.h"

#include <stdbool.h>
#include <stdint.h>

#define NAME_MEMORY_BYTES (4ull << 20)

struct name_memory {           /* zeroed = empty */
	struct profile *known; /* NULL: nothing is */
	struct map frames;     /* hash of mapping and offset → frame in known */
};

void name_memory_done(struct name_memory *m);
/* A dictionary ends. True when what was there before had to be forgotten: naming_forget. */
bool name_memory_add(struct name_memory *m, const struct profile *dict);
/* Names the frames of a dictionary from `first` on, where they are known. */
void name_memory_give(struct name_memory *m, struct profile *dict, uint32_t first);

#endif
