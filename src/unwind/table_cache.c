/* Reads and writes cache files of unwind tables. */
#include "unwind/table_cache.h"

#include "base/buf.h"
#include "base/cache_dir.h"
#include "base/file_identity.h"
#include "base/fs.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/thread.h"
#include "base/vec.h"
#include "profile/frame.h"
#include "symbol/symbol.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAGIC "CRTABLE" /* with its NUL */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "headers are written as they are");
enum { TRIM_EVERY_BYTES = 32 << 20, SUMMED_FROM = 24, SUFFIX_BYTES = 24 };
/* For the tables that are not saved yet at the end. */
enum { CLOSE_NS = 300000000 };

struct table_file_header {
	char magic[8];
	uint32_t version, builder;
	uint64_t sum;
	struct file_identity id;
	uint32_t build_id_len;
	uint8_t build_id[CACHE_MAX_KEY];
	uint32_t n_rules, dir_chunk, first_page, n_pages, image_bytes;
};
_Static_assert(sizeof(struct table_file_header) == 160, "as in the file");
_Static_assert((int)CACHE_MAX_KEY >= (int)BUILD_ID_MAX, "a build id is a key");

/* Identifies a file. Its table may be saved. */
struct table_key {
	struct file_identity id;
	uint8_t build_id[BUILD_ID_MAX];
	size_t build_id_len;
};

/* --- files ------------------------------------------------------------------------------------ */

/* Returns whether there is a key. */
static bool make_key(const struct table_cache *c, int fd, struct table_key *out)
{
	*out = (struct table_key){ 0 };
	if (c->dir < 0 || !file_identity_of(fd, &out->id))
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

/* --- the thread that saves -------------------------------------------------------------------- */

struct unsaved {
	struct table_key key;
	struct unwind_table table;
};
struct table_saver {
	int dir;                  /* its own: it may outlive the cache */
	uint64_t untrimmed_bytes; /* saved since the last look at the size of all */
	pthread_t thread;
	pthread_mutex_t lock; /* protects all below */
	pthread_cond_t wake, idle;
	VEC(struct unsaved) queue;
	uint64_t bytes; /* of all unsaved tables */
	uint64_t saved;
	/* is_late: the cache is closed already. The later of thread and cache frees it. */
	bool stop, is_late, is_done;
};

/* A full disk is not an error: the table is not saved. */
static bool save(struct table_saver *s, const struct table_key *k, const struct unwind_table *t)
{
	struct table_file_header h = header_of(k, t);
	struct cache_file f;
	char suffix[SUFFIX_BYTES];

	file_suffix(k, suffix);
	if (cache_file_create(s->dir, k->build_id, k->build_id_len, suffix, &f) < 0)
		return false;
	if (fs_write_fd(f.fd, &h, sizeof h) || fs_write_fd(f.fd, t->image.data, t->image.len)) {
		cache_file_abort(&f);
		return false;
	}
	if (cache_file_commit(&f, false))
		return false;
	s->untrimmed_bytes += sizeof h + t->image.len;
	if (s->untrimmed_bytes >= TRIM_EVERY_BYTES) {
		cache_dir_trim(s->dir, TABLE_CACHE_MAX_BYTES);
		s->untrimmed_bytes = 0;
	}
	return true;
}

static bool next_unsaved(struct table_saver *s, struct unsaved *out)
{
	pthread_mutex_lock(&s->lock);
	while (!s->queue.n && !s->stop)
		pthread_cond_wait(&s->wake, &s->lock);
	bool is_there = s->queue.n > 0;
	if (is_there)
		*out = s->queue.v[--s->queue.n];
	pthread_mutex_unlock(&s->lock);
	return is_there;
}

static bool is_late(struct table_saver *s)
{
	pthread_mutex_lock(&s->lock);
	bool is = s->is_late;
	pthread_mutex_unlock(&s->lock);
	return is;
}

static void saver_free(struct table_saver *s)
{
	close(s->dir);
	vec_done(&s->queue);
	pthread_mutex_destroy(&s->lock);
	pthread_cond_destroy(&s->wake);
	pthread_cond_destroy(&s->idle);
	free(s);
}

static void end_saving(struct table_saver *s)
{
	if (s->untrimmed_bytes && !is_late(s))
		cache_dir_trim(s->dir, TABLE_CACHE_MAX_BYTES);
	pthread_mutex_lock(&s->lock);
	s->is_done = true;
	bool is_mine = s->is_late;
	pthread_mutex_unlock(&s->lock);
	if (is_mine)
		saver_free(s);
}

static void *save_tables(void *arg)
{
	struct table_saver *s = arg;
	struct unsaved u;

	while (next_unsaved(s, &u)) {
		bool is_saved = save(s, &u.key, &u.table);
		uint64_t bytes = u.table.image.len;

		unwind_table_done(&u.table);
		pthread_mutex_lock(&s->lock);
		s->saved += is_saved;
		s->bytes -= bytes;
		if (!s->bytes)
			pthread_cond_broadcast(&s->idle);
		pthread_mutex_unlock(&s->lock);
	}
	end_saving(s);
	return NULL;
}

static struct table_saver *saver_new(int dir)
{
	int own = fcntl(dir, F_DUPFD_CLOEXEC, 0);

	if (own < 0)
		return NULL;
	struct table_saver *s = xcalloc(1, sizeof *s);

	s->dir = own;
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->wake, NULL);
	pthread_cond_init(&s->idle, NULL);
	if (thread_start(&s->thread, save_tables, s) == 0)
		return s;
	close(own);
	free(s);
	return NULL;
}

/* The thread is not waited for any longer. */
static void give_up(struct table_saver *s)
{
	pthread_mutex_lock(&s->lock);
	s->is_late = true;
	for (size_t i = 0; i < s->queue.n; i++)
		unwind_table_done(&s->queue.v[i].table);
	vec_clear(&s->queue);
	bool is_mine = s->is_done;
	pthread_mutex_unlock(&s->lock);
	if (is_mine)
		saver_free(s);
}

static void saver_end(struct table_saver *s)
{
	pthread_mutex_lock(&s->lock);
	s->stop = true;
	pthread_cond_signal(&s->wake);
	pthread_mutex_unlock(&s->lock);
	if (thread_join_within(s->thread, CLOSE_NS))
		saver_free(s);
	else
		give_up(s);
}

static struct unwind_table copy_of(const struct unwind_table *t)
{
	struct unwind_table copy = *t;

	copy.image = (struct buf){ 0 };
	buf_add(&copy.image, t->image.data, t->image.len);
	return copy;
}

static void save_later(struct table_cache *c, const struct table_key *k,
		       const struct unwind_table *t)
{
	if (!c->saver)
		c->saver = saver_new(c->dir);
	struct table_saver *s = c->saver;
	if (!s)
		return;
	pthread_mutex_lock(&s->lock);
	if (!s->bytes || s->bytes + t->image.len <= TABLE_CACHE_UNSAVED_BYTES) {
		vec_push(&s->queue, (struct unsaved){ *k, copy_of(t) });
		s->bytes += t->image.len;
		pthread_cond_signal(&s->wake);
	}
	pthread_mutex_unlock(&s->lock);
}

uint64_t table_cache_settle(struct table_cache *c)
{
	struct table_saver *s = c->saver;

	if (!s)
		return 0;
	pthread_mutex_lock(&s->lock);
	while (s->bytes)
		pthread_cond_wait(&s->idle, &s->lock);
	uint64_t saved = s->saved;
	pthread_mutex_unlock(&s->lock);
	return saved;
}

/* --- all -------------------------------------------------------------------------------------- */

void table_cache_open(struct table_cache *c, const char *root)
{
	*c = (struct table_cache){ .dir = root ? cache_dir_open(root, TABLE_CACHE, NULL) : -1 };
}

void table_cache_close(struct table_cache *c)
{
	if (c->saver)
		saver_end(c->saver);
	if (c->dir >= 0)
		close(c->dir);
	*c = (struct table_cache){ .dir = -1 };
}

int table_cache_build(struct table_cache *c, int fd, struct unwind_table *out, struct err *err)
{
	struct table_key k;
	bool has_key = make_key(c, fd, &k);

	if (has_key && load(c, &k, out) == 0)
		return 0;
	int rc = unwind_table_build(fd, out, err);
	if (rc == 0 && has_key && file_identity_is(fd, &k.id))
		save_later(c, &k, out);
	return rc;
}
