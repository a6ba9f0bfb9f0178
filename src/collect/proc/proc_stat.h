/* collect/proc/proc_stat.h: reads /proc/PID/stat, status and exe (proc(5)). */
#ifndef CRESSET_COLLECT_PROC_PROC_STAT_H
#define CRESSET_COLLECT_PROC_PROC_STAT_H

#include "bpf/event.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct proc_stat {
	char name[EVENT_COMM_LEN]; /* of the main thread, truncated as in samples */
	char state;
	bool is_kernel_thread;
	uint32_t threads;
	uint64_t start_ticks; /* since boot, by CLOCK_BOOTTIME; 0: unknown */
};

/* -EBADMSG when the text is malformed; *out is untouched on failure. */
int proc_stat_parse(const char *text, size_t len, struct proc_stat *out);
int proc_stat_read(uint32_t pid, struct proc_stat *out);

/* Returns the wall clock's time in ns at which the process started, as the clocks are now, exact to
 * a tick (10 ms); 0 when it is gone. */
int64_t proc_start_wall_ns(uint32_t pid);

/* Returns whether any thread of the process still runs: a main thread that has ended shows as a
 * zombie until the others have ended as well. */
bool proc_is_alive(uint32_t pid);

/* The effective user, as numbered in this user namespace. Returns 0, or -errno when the process is
 * gone. */
int proc_uid(uint32_t pid, uint32_t *uid);
int proc_uid_parse(const char *text, size_t len, uint32_t *uid); /* of /proc/PID/status */

/* Returns the pid inside the process's own pid namespace; 0 when it is gone. */
uint32_t proc_ns_pid(uint32_t pid);

/* Whether a thread with this id, as numbered in that namespace, is one of the process. In another
 * namespace than the first at most PROC_MAX_THREADS of them are read. */
enum { PROC_MAX_THREADS = 4096 };
enum proc_thread { PROC_THREAD_NONE, PROC_THREAD_FOUND, PROC_THREAD_UNKNOWN /* it is gone */ };
enum proc_thread proc_find_thread(uint32_t pid, uint32_t ns_tid);

/* Sets *bytes to RssAnon. Returns 0, or -errno if the process is gone or has no
 * memory. */
int proc_rss_anon(uint32_t pid, uint64_t *bytes);

/* Calls fn for each process of /proc that runs a program, with the path of its file. Waits for no
 * other process. */
void proc_programs(void (*fn)(void *ctx, uint32_t pid, const char *path), void *ctx);

#endif
