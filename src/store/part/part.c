/* Opens and closes partitions. */
#include "store/part/part.h"

#include "base/mem.h"
#include "store/part/part_file.h"
#include "store/sqlite/db.h"

#include <string.h>
#include <sys/stat.h>

/* --- opening ---------------------------------------------------------------------------------- */

/* p/2026-11-21.db → p/2026-11-21.det.db */
static char *detail_path(const char *path)
{
	size_t len = strlen(path);
	size_t stem = len > 3 && strcmp(path + len - 3, ".db") == 0 ? len - 3 : len;

	return xasprintf("%.*s.det.db", (int)stem, path);
}

int part_open(const char *path, int64_t day_ns, const struct part_opts *opts, struct part **out,
	      struct err *err)
{
	struct part *p = xcalloc(1, sizeof *p);
	struct err local;

	err = err ? err : &local;
	p->opts = *opts;
	p->opts.read_only |= opts->foreign;
	p->path = xstrdup(path);
	p->detail_path = detail_path(path);
	p->coder = block_coder_new();
	int rc = part_files_open(p, day_ns, err);
	if (rc) {
		part_close(p);
		return rc;
	}
	*out = p;
	return 0;
}

void part_close(struct part *p)
{
	if (!p)
		return;
	part_read_end(p);
	struct err left; /* what fails stays until the day is sealed */
	if (p->detail)
		part_clean_detail(p, &left);
	part_dict_done(p);
	db_close(p->detail);
	db_close(p->day);
	block_coder_free(p->coder);
	block_blobs_done(&p->encoded.blobs);
	block_sums_done(&p->sums);
	map_done(&p->bad);
	vec_done(&p->superseded);
	free(p->path);
	free(p->detail_path);
	free(p);
}

/* --- information ------------------------------------------------------------------------------ */

static uint64_t file_bytes(const char *path)
{
	char *journal = xasprintf("%s-wal", path);
	struct stat file, wal;
	uint64_t bytes = stat(path, &file) == 0 ? (uint64_t)file.st_size : 0;

	if (stat(journal, &wal) == 0)
		bytes += (uint64_t)wal.st_size;
	free(journal);
	return bytes;
}

void part_get_info(struct part *p, struct part_info *out)
{
	const struct part_state *s = &p->state;

	*out = (struct part_info){
		.from_ns = s->day_ns,
		.inbox_sequence = s->inbox,
		.rows = s->rows,
		.blocks = s->blocks,
		.points = s->points,
		.metric_blocks = s->metrics,
		.bad_blocks = p->bad.n + p->missing + p->missing_metrics + p->detail_damaged,
		.bytes = file_bytes(p->path),
		.detail_bytes = p->detail ? file_bytes(p->detail_path) : 0,
		.sealed = s->sealed,
		.has_detail = p->detail,
	};
}

/* --- dropping the detail ---------------------------------------------------------------------- */

int part_drop_detail(struct part *p, struct err *err)
{
	db_close(p->detail);
	p->detail = NULL;
	vec_clear(&p->superseded);
	return db_files_unlink(p->detail_path, err);
}
