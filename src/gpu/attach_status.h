/* gpu/attach_status.h: what /proc says of a process that one wants to attach to (proc(5)). Texts may be anything. */
#ifndef CRESSET_GPU_ATTACH_STATUS_H
#define CRESSET_GPU_ATTACH_STATUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct attach_status { /* of /proc/PID/status */
	char state;
	uint32_t tgid, ppid, tracer;
	bool has_memory;           /* threads of the kernel and zombies have none */
	int seccomp;               /* of this thread: 0 none, 1 strict, 2 filtered */
	bool has_shadow_stack;     /* returns are checked by the processor */
	uint64_t pending, blocked; /* signals that wait, for the thread or the process */
};
/* False when it lacks a state or a Tgid; *out is untouched then. */
bool attach_status_parse(const char *text, size_t len, struct attach_status *out);
/* tid 0: of the process. 0, or -errno. */
int attach_status_read(uint32_t pid, uint32_t tid, struct attach_status *out);

/* Whether the cgroup of a thread that is not stopped is frozen (a paused container): it could be stopped, but would go no step on. tid 0: the first thread. False where the kernel does not
 * tell us. */
bool attach_is_frozen(uint32_t pid, uint32_t tid);

struct attach_syscall { /* of /proc/PID/task/TID/syscall */
	int nr;         /* -1: it waits outside of any */
	uint64_t args[6], sp, pc;
};
/* False: it runs, or the text is malformed; *out is untouched then. */
bool attach_syscall_parse(const char *text, struct attach_syscall *out);
bool attach_syscall_read(uint32_t pid, uint32_t tid, struct attach_syscall *out);

/* When it started, in clock ticks after boot: field 22 of /proc/PID/stat. False: malformed. */
bool attach_start_parse(const char *text, size_t len, uint64_t *ticks);
/* When the process was started, in ticks after boot; 0: it is not there. */
uint64_t attach_start_of(uint32_t pid);
/* How long it has been running this program or another; UINT64_MAX: not known. */
uint64_t attach_age_ns(uint32_t pid);

/* What a link of /proc/PID points to; "" when it cannot be read. */
void attach_link(uint32_t pid, const char *name, char *text, size_t size);

#endif
