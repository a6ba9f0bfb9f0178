/* attach/attach_status.h: reads /proc of a process to attach to (proc(5)). Texts may be
 * anything. */
#ifndef CRESSET_ATTACH_ATTACH_STATUS_H
#define CRESSET_ATTACH_ATTACH_STATUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct attach_status { /* of /proc/PID/status */
	char state;
	uint32_t tgid, ppid, tracer;
	bool has_memory;           /* kernel threads and zombies have none */
	int seccomp;               /* of this thread: 0 none, 1 strict, 2 filtered */
	bool has_shadow_stack;     /* the CPU checks returns */
	uint64_t pending, blocked; /* pending signals, of the thread or the process */
};
/* Returns false when it lacks a state or a Tgid; *out is then untouched. */
bool attach_status_parse(const char *text, size_t len, struct attach_status *out);
/* tid 0: the process. Returns 0, or -errno. */
int attach_status_read(uint32_t pid, uint32_t tid, struct attach_status *out);

/* Returns whether the process, or that thread of it, has ended: its memory is gone, even if its
 * parent has not taken its status yet. tid 0: the first thread. */
bool attach_has_ended(uint32_t pid, uint32_t tid);

/* Returns whether the cgroup of a thread that is not stopped is frozen (a paused container): it
 * could be stopped, but could not run. tid 0: the first thread. Returns false if the kernel does
 * not report it. */
bool attach_is_frozen(uint32_t pid, uint32_t tid);

struct attach_syscall { /* of /proc/PID/task/TID/syscall */
	int nr;         /* -1: it waits outside any system call */
	uint64_t args[6], sp, pc;
};
/* Returns false if it runs, or the text is malformed; *out is then untouched. */
bool attach_syscall_parse(const char *text, struct attach_syscall *out);
bool attach_syscall_read(uint32_t pid, uint32_t tid, struct attach_syscall *out);

/* Parses its start time, in clock ticks after boot: field 22 of /proc/PID/stat. Returns false if
 * malformed. */
bool attach_start_parse(const char *text, size_t len, uint64_t *ticks);
/* Returns when the process started, in ticks after boot; 0: it does not exist. */
uint64_t attach_start_of(uint32_t pid);
/* Returns the age of the process, whatever program it ran; UINT64_MAX: unknown. */
uint64_t attach_age_ns(uint32_t pid);

/* Reads a link of /proc/PID; "" when it cannot be read. */
void attach_link(uint32_t pid, const char *name, char *text, size_t size);

#endif
