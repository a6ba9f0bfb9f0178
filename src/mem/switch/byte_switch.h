/* mem/switch/byte_switch.h: switches on what a runtime does not record of itself, by one byte of a
 * variable in its process: no thread can see a part of that. A process does this. It switches all
 * of them off when this one ends, however it ends. */
#ifndef CRESSET_MEM_SWITCH_BYTE_SWITCH_H
#define CRESSET_MEM_SWITCH_BYTE_SWITCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Off, all of them are 0. */
enum byte_switch_variable {
	SWITCH_GO_HEAP,   /* runtime.MemProfileRate: 524288 bytes, as Go has it */
	SWITCH_GO_LOCKS,  /* runtime.mutexprofilerate: 1, every wait */
	SWITCH_JAVA_HEAP, /* a bool of HotSpot (runtime/hotspot_sampler.h): 1 */
	SWITCH_VARIABLES,
};

struct byte_switch {
	int fd; /* -1: not running */
	pid_t pid;
};
/* dev, ino: the file of the process. */
struct byte_switch_request {
	uint32_t pid;
	uint32_t variable; /* enum byte_switch_variable */
	uint64_t is_on;    /* 1: an earlier process has switched it on, and was killed */
	uint64_t dev, ino;
	uint64_t addr; /* of the variable in the process */
};
/* Returns 0, to be stopped, or -errno. */
int byte_switch_start(struct byte_switch *out);
/* Waits until all are off again, a second at most. One that is not running is fine. */
void byte_switch_stop(struct byte_switch *s);
/* Whether it was killed: then another one has to know the programs. */
bool byte_switch_is_gone(const struct byte_switch *s);
/* Returns 0 once it is requested, or -errno. A process with another program, or with a variable
 * that is not 0, stays unchanged, also at the end. */
int byte_switch_on(const struct byte_switch *s, const struct byte_switch_request *r);

#endif
