/* Makes symbol tables from files of mappings, and passes them to the thread of symbols_thread.c. */
#include "agent/symbols_upload.h"

#include "base/buf.h"
#include "collect/process/elf_names.h"
#include "symbol/symbol_table.h"

#include <errno.h>
#include <string.h>

void symbols_upload_init(struct symbols_upload *u, const struct symbols_target *target,
			 struct name_files *files)
{
	*u = (struct symbols_upload){ .target = *target, .files = files };
	pthread_mutex_init(&u->lock, NULL);
}

void symbols_upload_done(struct symbols_upload *u)
{
	map_done(&u->known);
	pthread_mutex_destroy(&u->lock);
}

enum symbols_state symbols_upload_state(struct symbols_upload *u, const uint8_t *build_id,
					size_t len)
{
	enum symbols_state state = SYMBOLS_UNKNOWN;

	if (len == 0)
		return SYMBOLS_NONE;
	pthread_mutex_lock(&u->lock);
	const uint32_t *known = map_get(&u->known, hash_bytes(build_id, len));
	if (known)
		state = (enum symbols_state) * known;
	pthread_mutex_unlock(&u->lock);
	return state;
}

static int remember(struct symbols_upload *u, const uint8_t *build_id, size_t len,
		    enum symbols_state state)
{
	pthread_mutex_lock(&u->lock);
	if (u->known.n >= SYMBOLS_UPLOAD_MAX_KNOWN)
		map_clear(&u->known);
	map_put(&u->known, hash_bytes(build_id, len), state);
	pthread_mutex_unlock(&u->lock);
	return 0;
}

static bool file_has_id(int fd, const uint8_t *build_id, size_t len)
{
	uint8_t id[SYMBOL_TABLE_ID_BYTES];

	return fd >= 0 && elf_build_id(fd, id, sizeof id) == (int)len &&
	       memcmp(id, build_id, len) == 0;
}

static int make(struct symbols_upload *u, const uint8_t *build_id, size_t len, int fd,
		const char *path, struct buf *table)
{
	struct elf_names names;
	bool can_locate = elf_names_init(&names, u->files, fd, path, 0) == 0;
	struct symbol_table_opts opts = { .build_id = build_id,
					  .build_id_len = len,
					  .lines_ns = SYMBOLS_UPLOAD_LINES_NS };

	if (can_locate) {
		opts.locate = elf_names_locate;
		opts.ctx = &names;
	}
	int rc = symbol_table_make(fd, &opts, table, NULL);
	if (can_locate)
		elf_names_close(&names);
	return rc;
}

/* Uploads a table. The result is final if the server refuses it permanently or already has one from
 * another sender. */
static int send(struct symbols_upload *u, const uint8_t *build_id, size_t len,
		const struct buf *table, struct err *err)
{
	int rc = u->target.put(u->target.ctx, build_id, len, table, err);

	if (rc == -EFBIG || rc == -EPERM || rc == -EINVAL)
		return remember(u, build_id, len, SYMBOLS_NONE);
	if (rc && rc != -EEXIST)
		return rc;
	u->tables += rc == 0;
	u->bytes += rc == 0 ? table->len : 0;
	return remember(u, build_id, len, SYMBOLS_THERE);
}

int symbols_upload_file(struct symbols_upload *u, const uint8_t *build_id, size_t len, int fd,
			const char *path, struct err *err)
{
	struct buf table = { 0 };
	int rc;

	if (symbols_upload_state(u, build_id, len) != SYMBOLS_UNKNOWN)
		return 0;
	rc = u->target.head(u->target.ctx, build_id, len, err);
	if (rc == -EPERM || rc == -EINVAL) /* this server retains none */
		return remember(u, build_id, len, SYMBOLS_NONE);
	if (rc < 0)
		return rc;
	if (rc)
		return remember(u, build_id, len, SYMBOLS_THERE);
	if (!file_has_id(fd, build_id, len) || make(u, build_id, len, fd, path, &table))
		rc = remember(u, build_id, len, SYMBOLS_NONE);
	else
		rc = send(u, build_id, len, &table, err);
	buf_done(&table);
	return rc;
}
