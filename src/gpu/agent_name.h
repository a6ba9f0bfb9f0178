/* gpu/agent_name.h: programs that are kept for an agent of a name.
 *
 * A program's ring has one reader. CRESSET_AGENT=NAME in the program's environment, as it was when
 * the program began, keeps the ring for agents that run with the same: so a developer's recording
 * and the machine's own agent, or two tests, don't take it from each other. Programs without it are
 * read by agents without it. */
#ifndef CRESSET_GPU_AGENT_NAME_H
#define CRESSET_GPU_AGENT_NAME_H

#include <stdbool.h>
#include <sys/types.h>

#define AGENT_NAME_VARIABLE "CRESSET_AGENT"

/* Whether this agent may read the program's ring. A program whose environment cannot be read has no
 * name. */
bool agent_name_fits(pid_t pid);

#endif
