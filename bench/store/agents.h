/* bench/store/agents.h: messages as agents send them: of one machine and 10 s each, with all that their samples refer to. Ten agents watch the
 * same programs: 40 files, 6000 places in 3000 functions, 20 000 stacks of 30 frames, of which a message has some 2000 in 2500 samples. */
#ifndef CRESSET_BENCH_STORE_AGENTS_H
#define CRESSET_BENCH_STORE_AGENTS_H

#include "profile/profile.h"

#include <stdbool.h>
#include <stdint.h>

enum { AGENTS = 10, AGENT_SAMPLES = 2500, AGENT_MESSAGE_S = 10 };

/* A profile of its own, always the same one for a number; numbers go over agents first, then time. The caller frees it. */
struct profile *agent_message(uint32_t number);

/* Fills a new store in dir with messages, ten of them at once, as a server does that syncs them together, after `warm` rounds that are not counted.
 * keep: each agent adds to one profile, and takes out samples that were sent (struct store_dict); else each message is a profile of its own.
 * Prints "agents ROWS CLOCK CPU". */
void agents_run(const char *dir, uint64_t memory_bytes, bool keep, uint32_t warm, uint32_t n);

#endif
