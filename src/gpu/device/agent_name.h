/* gpu/device/agent_name.h: programs reserved for an agent by name.
 *
 * A program's ring has one reader. CRESSET_AGENT=NAME in the program's initial environment reserves
 * the ring for agents that run with the same name, so that a developer's recording and the
 * machine's own agent, or two tests, do not take it from each other. Agents without the variable
 * read programs without it. */
#ifndef CRESSET_GPU_DEVICE_AGENT_NAME_H
#define CRESSET_GPU_DEVICE_AGENT_NAME_H

#include <stdbool.h>
#include <sys/types.h>

#define AGENT_NAME_VARIABLE "CRESSET_AGENT"

/* Whether this agent may read the program's ring. A program whose environment is unreadable has no
 * name. */
bool agent_name_fits(pid_t pid);

#endif
