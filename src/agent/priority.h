/* agent/priority.h: processes that run with a low priority, and must end in time nevertheless.
 *
 * On a busy machine a process with a nice value of 19 gets less than a hundredth of a CPU if a
 * few others run: too little to write its last data in two seconds. */
#ifndef CRESSET_AGENT_PRIORITY_H
#define CRESSET_AGENT_PRIORITY_H

#include <sys/types.h>

/* Gives all threads of a process a nice value of 0, except those with a lower one. Without
 * CAP_SYS_NICE nothing changes. */
void priority_raise(pid_t pid);

#endif
