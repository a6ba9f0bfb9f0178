/* Reads and writes cache files of unwind tables. */
#include "unwind/table_cache.h"

#include "base/cache_dir.h"
#include "base/clock.h"
#include "base/hash.h"
#include "profile/frame.h"
#include "symbol/symbol.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define MAGIC "CRTABLE" /* with its NUL */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "headers are written as they are");
enum { TRIM_EVERY_BYTES = 32 << 20, SUMMED_FROM = 24, SUFFIX_BYTES = 24 };

struct table_file_id {
	uint64_t ino, size;
	int64_t mtime_s, mtime_ns, ctime_s, ctime_ns;
};
struct table_file_header {
	char magic[8];
	uint32_t version, builder;
	uint64_t sum;
	struct table_file_id id;
	uint32_t build_id_len;
	uint8_t build_id[CACHE_MAX_KEY];
	uint32_t n_rules, dir_chunk, first_page, n_pages, image_bytes;
};
_Static_assert(sizeof(struct table_file_header) == 160, "as in the file");
_Static_assert((int)CACHE_MAX_KEY >= (int)BUILD_ID_MAX, "a build id is a key");

/* Identifies a file. Its table may be saved. */
struct table_key {
	struct table_file_id id;
	uint8_t build_id[BUILD_ID_MAX];
	size_t build_id_len;
};

void table_cache_open(struct table_cache *c, const char *root)
{
	*c = (struct table_cache){ .dir = root ? cache_dir_open(root, "tables", NULL) : -1 };
}

void table_cache_close(struct table_cache *c)
{
	if (c->dir < 0)
		return;
	if (c->untrimmed_bytes)
		cache_dir_trim(c->dir, TABLE_CACHE_MAX_BYTES);
	close(c->dir);
	c->dir = -1;
}

/* --- files ------------------------------------------------------------------------------------ */

static bool has_settled(const struct stat *st)
{
	int64_t now_ns = (int64_t)clock_wall_ns();
	int64_t changed_ns = st->st_ctim.tv_sec * 1000000000ll + st->st_ctim.tv_nsec;

	return now_ns - changed_ns >= TABLE_CACHE_SETTLED_NS;
}

static bool keeps_times(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) == 0 && fs.f_type != TMPFS_MAGIC && fs.f_type != RAMFS_MAGIC &&
	       fs.f_type != HUGETLBFS_MAGIC && fs.f_type != FUSE_SUPER_MAGIC;
}

static bool identify(int fd, struct table_file_id *out)
{
	struct stat st;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || !has_settled(&st))
		return false;
	*out = (struct table_file_id){ st.st_ino,          st.st_size,        st.st_mtim.tv_sec,
				       st.st_mtim.tv_nsec, st.st_ctim.tv_sec, st.st_ctim.tv_nsec };
	return true;
}

/* Returns whether there is a key. */
static bool make_key(const struct table_cache *c, int fd, struct table_key *out)
{
	*out = (struct table_key){ 0 };
	if (c->dir < 0 || !keeps_times(fd) || !identify(fd, &out->id))
		return false;
	int len = elf_build_id(fd, out->build_id, sizeof out->build_id);

	out->build_id_len = len > 0 ? len : 0;
	return len >= 2; /* the cache's shortest key */
}

/* Names of files may collide: the header decides. */
static void file_suffix(const struct table_key *k, char suffix[SUFFIX_BYTES])
{
	snprintf(suffix, SUFFIX_BYTES, "-%016" PRIx64, hash_bytes(&k->id, sizeof k->id));
}

static bool is_for(const struct table_file_header *h, const struct table_key *k)
{
	return memcmp(&h->id, &k->id, sizeof k->id) == 0 && h->build_id_len == k->build_id_len &&
	       memcmp(h->build_id, k->build_id, k->build_id_len) == 0;
}

/* --- reading ---------------------------------------------------------------------------------- */

static bool is_of_this_version(const struct table_file_header *h)
{
	return h->version == TABLE_CACHE_VERSION && h->builder == TABLE_CACHE_BUILDER;
}

static bool is_sound(const struct table_file_header *h)
{
	uint64_t chunks = h->image_bytes / UNWIND_CHUNK;
	uint64_t dir_chunks =
		((uint64_t)h->n_pages + UNWIND_DIR_PER_CHUNK - 1) / UNWIND_DIR_PER_CHUNK;

	return h->image_bytes <= UNWIND_MAX_IMAGE && h->image_bytes % UNWIND_CHUNK == 0 &&
	       h->dir_chunk <= chunks && dir_chunks <= chunks - h->dir_chunk &&
	       h->n_rules <= (uint64_t)h->dir_chunk * UNWIND_RULES_PER_CHUNK;
}

static uint64_t sum_of(const struct table_file_header *h, const struct buf *image)
{
	return hash_mix(hash_bytes((const char *)h + SUMMED_FROM, sizeof *h - SUMMED_FROM),
			hash_bytes(image->data, image->len));
}

static bool read_all(int fd, void *data, size_t len)
{
	for (size_t done = 0; done < len;) {
		ssize_t n = read(fd, (char *)data + done, len - done);

		if (n == 0 || (n < 0 && errno != EINTR))
			return false;
		done += n > 0 ? n : 0;
	}
	return true;
}

static bool read_image(int fd, const struct table_file_header *h, struct buf *image)
{
	char more;

	buf_reserve(image, h->image_bytes);
	image->len = h->image_bytes;
	return read_all(fd, image->data, image->len) && read(fd, &more, 1) == 0 &&
	       sum_of(h, image) == h->sum;
}

/* Returns -EBADMSG if it is damaged, -ENOENT if it is of another version or file. */
static int read_table(int fd, const struct table_key *k, struct unwind_table *out)
{
	struct table_file_header h;
	struct buf image = { 0 };

	if (!read_all(fd, &h, sizeof h) || memcmp(h.magic, MAGIC, sizeof MAGIC) != 0)
		return -EBADMSG;
	if (!is_of_this_version(&h))
		return -ENOENT;
	if (!is_sound(&h) || !read_image(fd, &h, &image)) {
		buf_done(&image);
		return -EBADMSG;
	}
	if (!is_for(&h, k)) {
		buf_done(&image);
		return -ENOENT;
	}
	*out = (struct unwind_table){
		.image = image,
		.ref = { .dir_chunk = h.dir_chunk,
			 .first_page = h.first_page,
			 .n_pages = h.n_pages },
		.n_rules = h.n_rules,
	};
	return 0;
}

static int load(struct table_cache *c, const struct table_key *k, struct unwind_table *out)
{
	char suffix[SUFFIX_BYTES];

	file_suffix(k, suffix);
	int fd = cache_file_open(c->dir, k->build_id, k->build_id_len, suffix);
	if (fd < 0)
		return fd;
	int rc = read_table(fd, k, out);
	close(fd);
	c->stats.loaded += rc == 0;
	c->stats.damaged += rc == -EBADMSG;
	return rc;
}

/* --- writing ---------------------------------------------------------------------------------- */

static bool write_all(int fd, const void *data, size_t len)
{
	for (size_t done = 0; done < len;) {
		ssize_t n = write(fd, (const char *)data + done, len - done);

		if (n < 0 && errno != EINTR)
			return false;
		done += n > 0 ? n : 0;
	}
	return true;
}

static struct table_file_header header_of(const struct table_key *k, const struct unwind_table *t)
{
	struct table_file_header h = {
		.magic = MAGIC,
		.version = TABLE_CACHE_VERSION,
		.builder = TABLE_CACHE_BUILDER,
		.id = k->id,
		.build_id_len = k->build_id_len,
		.n_rules = t->n_rules,
		.dir_chunk = t->ref.dir_chunk,
		.first_page = t->ref.first_page,
		.n_pages = t->ref.n_pages,
		.image_bytes = t->image.len,
	};

	memcpy(h.build_id, k->build_id, k->build_id_len);
	h.sum = sum_of(&h, &t->image);
	return h;
}

/* A full disk is not an error: the table is not saved. */
static void save(struct table_cache *c, const struct table_key *k, const struct unwind_table *t)
{
	struct table_file_header h = header_of(k, t);
	struct cache_file f;
	char suffix[SUFFIX_BYTES];

	file_suffix(k, suffix);
	if (cache_file_create(c->dir, k->build_id, k->build_id_len, suffix, &f) < 0)
		return;
	if (!write_all(f.fd, &h, sizeof h) || !write_all(f.fd, t->image.data, t->image.len)) {
		cache_file_abort(&f);
		return;
	}
	if (cache_file_commit(&f, false))
		return;
	c->stats.saved++;
	c->untrimmed_bytes += sizeof h + t->image.len;
	if (c->untrimmed_bytes >= TRIM_EVERY_BYTES) {
		cache_dir_trim(c->dir, TABLE_CACHE_MAX_BYTES);
		c->untrimmed_bytes = 0;
	}
}

/* --- both ------------------------------------------------------------------------------------- */

static bool is_unchanged(int fd, const struct table_key *k)
{
	struct table_file_id now;

	return identify(fd, &now) && memcmp(&now, &k->id, sizeof now) == 0;
}

int table_cache_build(struct table_cache *c, int fd, struct unwind_table *out, struct err *err)
{
	struct table_key k;
	bool has_key = make_key(c, fd, &k);

	if (has_key && load(c, &k, out) == 0)
		return 0;
	int rc = unwind_table_build(fd, out, err);
	if (rc == 0 && has_key && is_unchanged(fd, &k))
		save(c, &k, out);
	return rc;
}
