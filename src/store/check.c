/* Verifies each kind of file by its checksums, and the modes of all files. */
#include "store/check.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "store/catalog/catalog.h"
#include "store/day/batch_rows.h"
#include "store/day/inbox.h"
#include "store/day/store_state.h"
#include "store/names/names_db.h"
#include "store/part/part.h"
#include "store/sqlite/db.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- modes of files --------------------------------------------------------------------------- */

enum { FILE_MODE = 0640, DIR_MODE = 0750, OTHERS = 07 };

static bool is_ours(const char *name)
{
	return strstr(name, ".db") || strcmp(name, "lock") == 0 || strcmp(name, "readers") == 0;
}

/* Takes rights away, and gives none. A link, or a file with a second name, may be anybody's. */
static bool mend(int dir, const char *name, const struct stat *st, mode_t most)
{
	struct stat now;
	int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	bool is_same = fd >= 0 && fstat(fd, &now) == 0 && now.st_ino == st->st_ino &&
		       now.st_dev == st->st_dev && (S_ISDIR(now.st_mode) || now.st_nlink == 1);
	bool is_mended = is_same && fchmod(fd, st->st_mode & most) == 0;

	if (fd >= 0)
		close(fd);
	return is_mended;
}

static void look_at(int dir, const char *name, uid_t owner, struct store_modes *out)
{
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode) ||
	    !(st.st_mode & 0777 & ~FILE_MODE))
		return;
	if (st.st_uid == owner && mend(dir, name, &st, FILE_MODE))
		out->mended++;
	else
		out->left++;
}

static void look_into(int at, const char *name, uid_t owner, struct store_modes *out)
{
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
	bool is_room = strcmp(name, ".") != 0; /* the directory itself is its owner's to close */
	const struct dirent *e;
	struct stat st;

	while (d && (e = readdir(d)))
		if (is_ours(e->d_name))
			look_at(dirfd(d), e->d_name, owner, out);
	if (d && is_room && fstat(fd, &st) == 0 && st.st_uid == owner && st.st_mode & OTHERS)
		mend(at, name, &st, DIR_MODE);
	if (d)
		closedir(d);
	else if (fd >= 0)
		close(fd);
}

static void check_modes(const char *dir, struct store_modes *out)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct stat st;

	*out = (struct store_modes){ 0 };
	if (fd < 0)
		return;
	if (fstat(fd, &st) == 0) {
		out->is_open = st.st_mode & OTHERS;
		look_into(fd, ".", st.st_uid, out);
		look_into(fd, "p", st.st_uid, out);
		look_into(fd, "hot", st.st_uid, out);
	}
	close(fd);
}

/* --- single files ----------------------------------------------------------------------------- */

static int count_batch(void *ctx, uint64_t seq, int64_t received_ns, const struct cur *row,
		       struct err *err)
{
	struct logged_batch b = { 0 };
	struct store_check *c = ctx;

	(void)seq, (void)err;
	c->batches++;
	c->bad_batches += !row || !logged_batch_decode(*row, received_ns, &b);
	logged_batch_done(&b);
	return 0;
}

static int check_inbox(const char *path, struct store_check *c, struct err *err)
{
	struct inbox *in;
	int rc = inbox_open(path, true, NULL, &in, err);

	if (rc)
		return rc;
	rc = inbox_verify(in, err);
	if (!rc)
		rc = inbox_replay(in, count_batch, c, err);
	inbox_close(in);
	if (!rc && c->bad_batches)
		rc = err_set(err, EBADMSG, "%s: %llu of %llu batches are damaged", path,
			     (unsigned long long)c->bad_batches, (unsigned long long)c->batches);
	return rc;
}

static int check_catalog(const char *path, struct store_check *c, struct err *err)
{
	const struct catalog_opts how = { .read_only = true };
	struct catalog *catalog;
	int rc = catalog_open(path, &how, &catalog, err);

	if (rc)
		return rc;
	rc = catalog_verify(catalog, err);
	c->series = catalog_count(catalog);
	catalog_kept_of(catalog, (int64_t)clock_wall_ns(), &c->kept);
	catalog_close(catalog);
	return rc;
}

static int check_names(const char *path, struct store_check *c, struct err *err)
{
	const struct names_db_opts how = { .read_only = true };
	struct names_db *names;
	int rc = names_db_open(path, &how, &names, err);

	(void)c;
	if (rc)
		return rc;
	rc = names_db_verify(names, err);
	names_db_close(names);
	return rc;
}

static void check_one(struct store_check *c, const char *dir, const char *name,
		      int (*check)(const char *path, struct store_check *c, struct err *err))
{
	char *path = xasprintf("%s/%s", dir, name);
	struct store_file_check f = { .name = xstrdup(name), .bytes = db_files_bytes(path) };

	check(path, c, &f.problem);
	vec_push(&c->files, f);
	free(path);
}

/* --- partitions ------------------------------------------------------------------------------- */

static int check_part(const char *path, struct store_file_check *f)
{
	const struct part_opts how = { .read_only = true };
	struct part_info info;
	struct part *p;
	int rc = part_open(path, f->day_ns, &how, &p, &f->problem);

	if (rc)
		return rc;
	rc = part_verify(p, &f->problem);
	part_get_info(p, &info);
	f->sealed = info.sealed;
	f->has_detail = info.has_detail;
	f->blocks = info.blocks;
	f->rows = info.rows;
	f->bad_blocks = info.bad_blocks;
	part_close(p);
	return rc;
}

/* Skips a file deleted in the meantime (-ENOENT). */
static void add_part(struct store_check *c, const char *dir, const char *name, int64_t day_ns)
{
	char *path = xasprintf("%s/p/%s", dir, name), *detail = store_detail_path(path);
	struct store_file_check f = { .name = xasprintf("p/%s", name),
				      .is_part = true,
				      .day_ns = day_ns,
				      .bytes = db_files_bytes(path) + db_files_bytes(detail) };

	if (check_part(path, &f) == -ENOENT)
		free(f.name);
	else
		vec_push(&c->files, f);
	free(detail);
	free(path);
}

static int by_day(const void *a, const void *b)
{
	const struct store_file_check *x = a, *y = b;

	if (x->is_part != y->is_part)
		return x->is_part - y->is_part;
	if (x->day_ns != y->day_ns)
		return x->day_ns < y->day_ns ? -1 : 1;
	return strcmp(x->name, y->name);
}

static void check_parts(struct store_check *c, const char *dir)
{
	char *path = xasprintf("%s/p", dir);
	DIR *d = opendir(path);
	struct dirent *entry;
	uint32_t piece;
	int64_t day_ns;

	while (d && (entry = readdir(d)))
		if (store_part_name(entry->d_name, &day_ns, &piece))
			add_part(c, dir, entry->d_name, day_ns);
	if (d)
		closedir(d);
	free(path);
	qsort(c->files.v, c->files.n, sizeof *c->files.v, by_day);
}

/* Counts the rows that opening the store would skip. If it does not open, the check of some file
 * states why. */
static void check_replay(struct store_check *c, const char *dir)
{
	const struct store_opts how = { .read_only = true };
	struct store_stats stats;
	struct store *s;

	if (store_open(dir, &how, &s, NULL))
		return;
	store_get_stats(s, &stats);
	c->lost_rows = stats.bad_rows;
	store_abandon(s);
}

/* --- all -------------------------------------------------------------------------------------- */

static void add_up(struct store_check *c)
{
	const struct store_file_check *before = NULL;

	for (size_t i = 0; i < c->files.n; i++) {
		const struct store_file_check *f = &c->files.v[i];
		c->bytes += f->bytes;
		c->rows += f->rows;
		c->blocks += f->blocks;
		c->bad_blocks += f->bad_blocks;
		c->unsound += f->problem.code != 0;
		if (!f->is_part)
			continue;
		c->days += !before || before->day_ns != f->day_ns;
		c->from_ns = before ? c->from_ns : f->day_ns;
		c->to_ns = f->day_ns + STORE_DAY_NS;
		before = f;
	}
}

static bool is_store(const char *dir)
{
	char *meta = xasprintf("%s/meta.db", dir), *inbox = xasprintf("%s/inbox.db", dir);
	bool is = db_files_bytes(meta) || db_files_bytes(inbox);

	free(meta);
	free(inbox);
	return is;
}

int store_check(const char *dir, struct store_check *out, struct err *err)
{
	struct store_check c = { .kept.from_ns = INT64_MIN };

	if (!is_store(dir))
		return err_set(err, ENOENT, "%s: no store", dir);
	check_modes(dir, &c.modes);
	check_one(&c, dir, "inbox.db", check_inbox);
	check_one(&c, dir, "meta.db", check_catalog);
	check_one(&c, dir, "names.db", check_names);
	check_parts(&c, dir);
	check_replay(&c, dir);
	add_up(&c);
	*out = c;
	return 0;
}

void store_check_done(struct store_check *c)
{
	for (size_t i = 0; i < c->files.n; i++)
		free(c->files.v[i].name);
	vec_done(&c->files);
}
