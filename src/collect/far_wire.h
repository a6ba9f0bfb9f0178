/* collect/far_wire.h: what the collector (collect/far_files.h) and the process that touches far files (collect/far_worker.h) say to each other, by
 * base/stream.h.
 *
 *     collector → worker                         worker → collector
 *     FAR_OPEN  struct far_open_head, path       FAR_GOES_ON  u32 serial: there is progress
 *                                                FAR_FILE     struct far_file_head, and a descriptor of a copy, or none */
#ifndef CRESSET_COLLECT_FAR_WIRE_H
#define CRESSET_COLLECT_FAR_WIRE_H

#include "profile/frame.h"

#include <stdint.h>

enum far_message { FAR_OPEN = 1, FAR_GOES_ON, FAR_FILE };
enum {
	FAR_MAX_PATH = 4096,
	FAR_MAX_BYTES = 256 << 20, /* of a file; larger ones are not read */
};

struct far_open_head {
	uint32_t serial, pid;
	uint32_t maj, min;
	uint64_t ino, start, end, pgoff;
	uint8_t build_id[BUILD_ID_MAX];
	uint8_t build_id_len;
};
struct far_file_head {
	uint32_t serial;
	uint32_t is_copy; /* of one on a file system that may not answer; else it is the file */
	uint64_t dev, ino, size;
	int64_t mtime_ns;
};

#endif
