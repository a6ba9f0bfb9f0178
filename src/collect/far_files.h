/* collect/far_files.h: copies of files on file systems that may not answer (collect/far_device.h), made by another process (collect/far_worker.h).
 *
 * Nothing here waits. A device whose file brings nothing for FAR_STALL_NS is left alone for FAR_LEFT_ALONE_NS, with all that is asked for of it; other devices'
 * files are asked for again, from another process. */
#ifndef CRESSET_COLLECT_FAR_FILES_H
#define CRESSET_COLLECT_FAR_FILES_H

#include "collect/helper.h"
#include "collect/mapped_file.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#define FAR_STALL_NS      3000000000ull
#define FAR_LEFT_ALONE_NS 600000000000ull

struct far_files;
struct far_file {
	uint32_t serial;
	int fd;         /* the receiver's; -1: there is none */
	bool is_copy;   /* else it is the file */
	struct stat st; /* of the file: device, inode, size, time of change */
};

struct far_files *far_files_new(struct helper *helper); /* helper stays the caller's */
void far_files_free(struct far_files *f);               /* NULL is fine */

/* Asks for one; its number, or 0: its device is left alone, or too many are asked for. */
uint32_t far_files_ask(struct far_files *f, const struct mapped_file *file);
/* What has come, or will not come; false: nothing. Call it some times a second. */
bool far_files_take(struct far_files *f, struct far_file *out);
/* Waits for something to come, when there is time left for waiting: 1 % in the long run. */
void far_files_wait(struct far_files *f, uint32_t wait_ms);
/* Devices left alone now. */
uint32_t far_files_left_alone(const struct far_files *f);

#endif
