/* agent/symbols_upload.h: symbol tables for a server that names frames itself (--symbols=server): each build id once.
 *
 * The sending process asks for a mapping's file as for names (agent/naming.h), and gives it here in place of naming_file. How a request gets to the
 * server, and that it is tried again, is the sender's business: where one fails nothing is remembered, and the file is to be given again. */
#ifndef CRESSET_AGENT_SYMBOLS_UPLOAD_H
#define CRESSET_AGENT_SYMBOLS_UPLOAD_H

#include "base/buf.h"
#include "base/err.h"
#include "base/hash.h"
#include "collect/elf_names.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	SYMBOLS_UPLOAD_MAX_KNOWN = 65536
}; /* build ids; then all are forgotten, and asked for anew */
/* Of debug information, for one file. */
#define SYMBOLS_UPLOAD_LINES_NS UINT64_C(2000000000)

struct symbols_target {
	/* Whether the server has it: 1, 0, or -errno with words. */
	int (*head)(void *ctx, const uint8_t *build_id, size_t len, struct err *err);
	/* 0: it is kept. -EEXIST: another one is; -EFBIG, -EPERM, -EINVAL: it never will be; another -errno: not now. */
	int (*put)(void *ctx, const uint8_t *build_id, size_t len, const struct buf *table,
		   struct err *err);
	void *ctx;
};

enum symbols_state {
	SYMBOLS_UNKNOWN, /* its file is wanted */
	SYMBOLS_THERE,   /* the server names its frames */
	SYMBOLS_NONE,    /* it does not: whoever has the file names them */
};

struct symbols_upload {
	struct symbols_target target;
	struct name_files *files; /* where debug files are looked for */
	pthread_mutex_t lock;     /* of known: another thread may ask for a state meanwhile */
	struct map known;         /* hash of a build id → enum symbols_state */
	uint64_t tables, bytes;   /* that were sent */
};

/* files is the caller's, and stays. */
void symbols_upload_init(struct symbols_upload *u, const struct symbols_target *target,
			 struct name_files *files);
void symbols_upload_done(struct symbols_upload *u);

/* Of a mapping; one without a build id is SYMBOLS_NONE. */
enum symbols_state symbols_upload_state(struct symbols_upload *u, const uint8_t *build_id,
					size_t len);
/* Its file, or -1 where there is none, which stays the caller's; path: as the process saw it. Only a file that has this build id is believed.
 * 0: the state is known now. -errno with words: not yet. */
int symbols_upload_file(struct symbols_upload *u, const uint8_t *build_id, size_t len, int fd,
			const char *path, struct err *err);

#endif
