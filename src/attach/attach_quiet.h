/* attach/attach_quiet.h: whether the lock of a process's mappings is free, as seen from outside.
 *
 * A stopped thread that maps memory waits for that lock (mmap_lock) like any other thread, and
 * cannot be released before it has it. Another thread holds the lock for as long as it makes or
 * frees pages (MAP_POPULATE, munmap): seconds, for some GB. So before any thread is stopped
 *
 *     one word is read      by a child that shares our memory, as a read that waits for the lock
 *                           cannot be interrupted
 *     memory is watched     pages that are made and freed change the resident size, slowly where a
 *                           virtual machine gets its memory from the host only then
 *     threads are watched   one that is ready to run, but does not, may hold the lock; one may wait
 *                           for it, or be in a call like mmap
 *
 * in windows of 5 ms. A process with a thread that is ready to run, or that was busy, must be quiet
 * for 30 ms. */
#ifndef CRESSET_ATTACH_ATTACH_QUIET_H
#define CRESSET_ATTACH_ATTACH_QUIET_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct attach_quiet {
	uint32_t pid;
	uint64_t addr;           /* readable there */
	uint64_t resident_pages; /* at the last look */
	uint64_t busy_ns;        /* the last activity; 0: none */
	uint64_t calm_ns;        /* a look since then; 0: none */
	uint64_t calm_pages;     /* resident at that time */
	uint32_t busy;           /* windows with activity */
	pid_t reader;
	struct attach_reader *memory; /* of the reader */
	int fd;                       /* of the reader; -1: none */
	bool is_asked;                /* it has not responded yet */
};

/* Returns 0, or -errno: no reader can be started. */
int attach_quiet_open(struct attach_quiet *q, uint32_t pid, uint64_t addr);
/* A reader that cannot end stays behind until it can. */
void attach_quiet_close(struct attach_quiet *q);

/* Watches for some windows; false: busy, or not quiet for long enough: look again. */
bool attach_quiet_look(struct attach_quiet *q);
/* Returns whether hardly any page was made or freed since then; takes some microseconds. */
bool attach_quiet_still(const struct attach_quiet *q);

#endif
