/* agent/priority.h: processes that must end in time on a busy machine.
 *
 * A process with a nice value of 19 gets less than a hundredth of a CPU if a few others run: too
 * little to write its last data in two seconds. With one of 0 it can be too little if many run. */
#ifndef CRESSET_AGENT_PRIORITY_H
#define CRESSET_AGENT_PRIORITY_H

#include <sys/types.h>

enum { PRIORITY_NICE = -10 };

/* Gives all threads of a process and of its descendants, for three generations, this nice value,
 * except those with a lower one. Without CAP_SYS_NICE nothing changes. */
void priority_raise(pid_t pid);

#endif
