/* server/symbols_files.h: the directory of symbol tables (server/symbols.h). */
#ifndef CRESSET_SERVER_SYMBOLS_FILES_H
#define CRESSET_SERVER_SYMBOLS_FILES_H

#include "profile/frame.h"

struct buf;
struct err;

struct symbols_file {
	uint8_t id[BUILD_ID_MAX];
	size_t id_len;
	uint64_t bytes;
	bool is_new;
	int64_t used_ns; /* Unix time; at most a day behind */
};

/* Returns a descriptor or -errno. */
int symbols_dir_open(const char *store_dir, struct err *err);
void symbols_dir_close(int dir);
/* Calls file for each complete table; removes partial ones. */
int symbols_dir_read(int dir, void (*file)(void *ctx, const struct symbols_file *f), void *ctx,
		     struct err *err);

/* The file is synced when this returns 0, and does not exist otherwise. */
int symbols_file_write(int dir, const struct symbols_file *f, const void *data, struct err *err);
int symbols_file_read(int dir, const struct symbols_file *f, struct buf *out);
void symbols_file_unlink(int dir, const struct symbols_file *f);
/* Marks it as no longer new. */
void symbols_file_commit(int dir, struct symbols_file *f);
void symbols_file_use(int dir, struct symbols_file *f, int64_t now_ns);

#endif
