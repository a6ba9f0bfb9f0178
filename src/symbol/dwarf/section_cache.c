/* Reads and writes cache files of debug sections. */
#include "symbol/dwarf/section_cache.h"

#include "base/fs.h"
#include "base/hash.h"
#include "symbol/elf/elf_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC "CRPLAIN" /* with its NUL */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "headers are written as they are");
enum { SUMMED_FROM = 24, SUFFIX_BYTES = 24 };

struct section_header {
	char magic[8];
	uint32_t version, build_id_len;
	uint64_t sum;
	struct file_identity file;
	uint8_t build_id[CACHE_MAX_KEY];
	struct section_place place;
};
_Static_assert(sizeof(struct section_header) == 160, "as in the file");

static struct section_header header_of(const struct section_cache *c,
				       const struct section_place *place)
{
	struct section_header h = {
		.magic = MAGIC,
		.version = SECTION_CACHE_VERSION,
		.build_id_len = c->build_id_len,
		.file = c->file,
		.place = *place,
	};

	memcpy(h.build_id, c->build_id, c->build_id_len);
	return h;
}

static uint64_t sum_of(const struct section_header *h, const void *content)
{
	return hash_mix(hash_bytes((const char *)h + SUMMED_FROM, sizeof *h - SUMMED_FROM),
			hash_bytes(content, h->place.bytes));
}

/* Names of files may collide: the header decides. */
static void file_suffix(const struct section_header *h, char suffix[SUFFIX_BYTES])
{
	snprintf(suffix, SUFFIX_BYTES, "-%016" PRIx64,
		 hash_mix(hash_bytes(&h->file, sizeof h->file),
			  hash_bytes(&h->place, sizeof h->place)));
}

static bool is_stored(const struct section_cache *c, const struct section_place *place)
{
	return c->build_id_len && place->bytes >= SECTION_CACHE_MIN &&
	       place->bytes <= SECTION_CACHE_SECTION_BYTES;
}

void section_cache_open(struct section_cache *c, int dir, const struct elf_file *f)
{
	*c = (struct section_cache){ .dir = dir };
	if (dir < 0)
		return;
	size_t len = f->fd >= 0 && file_identity_of(f->fd, &c->file)
			     ? elf_file_build_id(f, c->build_id, sizeof c->build_id)
			     : 0;
	if (len < 2) { /* the cache's shortest key */
		close(dir);
		return;
	}
	c->build_id_len = len;
}

void section_cache_close(struct section_cache *c)
{
	if (c->build_id_len)
		close(c->dir);
	*c = (struct section_cache){ 0 };
}

/* --- reading ---------------------------------------------------------------------------------- */

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

static bool read_section(int fd, const struct section_header *want, void *to)
{
	struct section_header h;
	struct stat st;

	if (fstat(fd, &st) || (uint64_t)st.st_size != sizeof h + want->place.bytes ||
	    !read_all(fd, &h, sizeof h))
		return false;
	uint64_t sum = h.sum;
	h.sum = 0;
	return memcmp(&h, want, sizeof h) == 0 && read_all(fd, to, want->place.bytes) &&
	       sum_of(&h, to) == sum;
}

bool section_cache_load(const struct section_cache *c, const struct section_place *place, void *to)
{
	struct section_header want;
	char suffix[SUFFIX_BYTES];

	if (!is_stored(c, place))
		return false;
	want = header_of(c, place);
	file_suffix(&want, suffix);
	int fd = cache_file_open(c->dir, c->build_id, c->build_id_len, suffix);
	if (fd < 0)
		return false;
	bool ok = read_section(fd, &want, to);
	close(fd);
	return ok;
}

/* --- writing ---------------------------------------------------------------------------------- */

void section_cache_save(const struct section_cache *c, const struct section_place *place, int fd,
			const void *content)
{
	struct section_header h;
	struct cache_file f;
	char suffix[SUFFIX_BYTES];

	if (!is_stored(c, place) || !file_identity_is(fd, &c->file))
		return;
	h = header_of(c, place);
	h.sum = sum_of(&h, content);
	file_suffix(&h, suffix);
	if (cache_file_create(c->dir, c->build_id, c->build_id_len, suffix, &f) < 0)
		return;
	if (fs_write_fd(f.fd, &h, sizeof h) || fs_write_fd(f.fd, content, place->bytes))
		cache_file_abort(&f);
	else
		cache_file_commit(&f, false);
}
