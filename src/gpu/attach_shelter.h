/* gpu/attach_shelter.h: code of a process in which a thread of it waits when its tracer is killed (gpu/attach_stop.h). */
#ifndef CRESSET_GPU_ATTACH_SHELTER_H
#define CRESSET_GPU_ATTACH_SHELTER_H

#include <stdint.h>

struct attach_shelter {
	uint64_t system_call, loop; /* "syscall; ret" and "pop %rsp; ret" */
};

#endif
