/* collect/worker/far_files.h: copies of files on file systems that may not respond
 * (collect/worker/far_device.h), made by another process (collect/worker/helper.c).
 *
 * No call waits, except far_files_wait. If a file of a device makes no progress for FAR_STALL_NS,
 * the device is left alone for FAR_LEFT_ALONE_NS, with all its requests; other devices' files are
 * requested again, from another process. So are those of a process that died, three times. */
#ifndef CRESSET_COLLECT_WORKER_FAR_FILES_H
#define CRESSET_COLLECT_WORKER_FAR_FILES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

struct helper;
struct mapped_file;

#define FAR_STALL_NS      3000000000ull
#define FAR_LEFT_ALONE_NS 600000000000ull

struct far_files;
struct far_file {
	uint32_t serial;
	int fd;         /* the receiver's; -1: none */
	bool is_copy;   /* otherwise the file itself */
	struct stat st; /* of the file: device, inode, size, modification time */
};

struct far_files *far_files_new(struct helper *helper); /* helper stays the caller's */
void far_files_free(struct far_files *f);               /* NULL is fine */

/* Requests a file. Returns its number; 0: its device is left alone, or there are too many
 * requests. */
uint32_t far_files_ask(struct far_files *f, const struct mapped_file *file);
/* Takes a file that has come, or will not come; returns false if none exists. Call it some times
 * a second. */
bool far_files_take(struct far_files *f, struct far_file *out);
/* Waits for a file to come, if the budget for waiting allows: 1 % on average. */
void far_files_wait(struct far_files *f, uint32_t wait_ms);

#endif
