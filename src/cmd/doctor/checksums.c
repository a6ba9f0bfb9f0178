/* Parses a SHA256SUMS file and hashes each listed file below the directory. */
#include "cmd/doctor/checksums.h"

#include "base/err.h"
#include "base/fs.h"
#include "base/hash.h"
#include "base/parse.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HASH_DIGITS = 2 * SHA256_BYTES, NAME_AT = HASH_DIGITS + 2, PIECE = 64 << 10 };

/* --- files ------------------------------------------------------------------------------------ */

/* Opening a device can have effects, so the type is known before and verified after that. */
int regular_file_open(int dirfd, const char *path)
{
	struct stat st;
	if (fstatat(dirfd, path, &st, 0) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		return fd;
	close(fd);
	return -EINVAL;
}

/* Reads as many bytes as the file has now, so that one that grows has an end. */
static int file_hash(int fd, uint64_t size, uint8_t hash[SHA256_BYTES])
{
	struct sha256 s;
	char data[PIECE];
	ssize_t n = 1;
	sha256_init(&s);
	while (size > 0 && n != 0) {
		n = read(fd, data, size < sizeof data ? size : sizeof data);
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0) {
			sha256_add(&s, data, n);
			size -= n;
		}
	}
	sha256_end(&s, hash);
	return 0;
}

static bool is_this_program(const struct stat *st)
{
	struct stat own;
	return stat("/proc/self/exe", &own) == 0 && own.st_dev == st->st_dev &&
	       own.st_ino == st->st_ino;
}

static int file_compare(struct checksums *c, int fd, const uint8_t want[SHA256_BYTES])
{
	uint8_t hash[SHA256_BYTES];
	struct stat st;
	if (fstat(fd, &st) < 0)
		return -errno;
	c->has_program |= is_this_program(&st);
	int rc = file_hash(fd, st.st_size, hash);
	return rc < 0 ? rc : memcmp(hash, want, sizeof hash) != 0;
}

static enum checksum_state state_of_error(int code)
{
	return code == ENOENT || code == ENOTDIR ? CHECKSUM_MISSING
	       : code == EINVAL                  ? CHECKSUM_NOT_A_FILE
						 : CHECKSUM_NOT_READABLE;
}

static void file_verify(struct checksums *c, int dir, struct checksum_file *f,
			const uint8_t want[SHA256_BYTES])
{
	int fd = regular_file_open(dir, f->name);
	int rc = fd < 0 ? fd : file_compare(c, fd, want);
	f->state = rc < 0 ? state_of_error(-rc) : rc ? CHECKSUM_CHANGED : CHECKSUM_SAME;
	f->error = f->state == CHECKSUM_NOT_READABLE ? -rc : 0;
	if (fd >= 0)
		close(fd);
}

/* --- the list --------------------------------------------------------------------------------- */

/* Whether a name stays below the directory that is levels_up above the list's, wherever it passes:
 * as text, so links are not resolved. */
static bool stays_inside(const char *name, unsigned levels_up)
{
	long depth = levels_up;
	if (*name == '/')
		return false;
	while (*name && depth >= 0) {
		size_t len = strcspn(name, "/");
		if (len == 2 && memcmp(name, "..", 2) == 0)
			depth--;
		else if (len > 0 && !(len == 1 && *name == '.'))
			depth++;
		name += len + (name[len] == '/');
	}
	return depth >= 0;
}

/* The name is terminated in place: what follows it is the line's end. */
static bool line_parse(char *line, size_t len, uint8_t hash[SHA256_BYTES], const char **name)
{
	if (len <= NAME_AT || len - NAME_AT >= PATH_MAX || memchr(line, '\0', len) ||
	    parse_hex(line, HASH_DIGITS, hash, SHA256_BYTES) != SHA256_BYTES ||
	    line[HASH_DIGITS] != ' ' || !strchr(" *", line[HASH_DIGITS + 1]))
		return false;
	line[len] = '\0';
	*name = line + NAME_AT;
	return true;
}

static void list_verify(struct checksums *c, int dir, unsigned levels_up)
{
	struct cur lines = cur_of(c->text.data, c->text.len);
	const char *line;
	size_t len;
	for (size_t number = 1; cur_line(&lines, &line, &len); number++) {
		struct checksum_file f = { .state = CHECKSUM_OUTSIDE };
		uint8_t hash[SHA256_BYTES];
		if (!line_parse(c->text.data + (line - c->text.data), len, hash, &f.name)) {
			c->first_bad = c->bad_lines++ ? c->first_bad : number;
			continue;
		}
		if (stays_inside(f.name, levels_up))
			file_verify(c, dir, &f, hash);
		c->wrong += f.state != CHECKSUM_SAME;
		vec_push(&c->files, f);
	}
}

static int list_read(int dir, struct buf *text, struct err *err)
{
	int fd = regular_file_open(dir, CHECKSUMS_NAME);
	if (fd < 0)
		return err_set(err, -fd, CHECKSUMS_NAME " cannot be read: %s",
			       fd == -EINVAL ? "not a regular file" : strerror(-fd));
	int rc = fs_read_fd(fd, CHECKSUMS_BYTES, text, err);
	close(fd);
	if (rc < 0)
		return err_prefix(err, CHECKSUMS_NAME);
	buf_cstr(text); /* room to terminate the last name */
	return 0;
}

int checksums_verify(const char *dir, unsigned levels_up, struct checksums *c, struct err *err)
{
	*c = (struct checksums){ 0 };
	int fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return err_set(err, errno == ENOTDIR ? ENOENT : errno, "cannot open %s: %s", dir,
			       strerror(errno));
	int rc = list_read(fd, &c->text, err);
	if (rc == 0)
		list_verify(c, fd, levels_up);
	else
		checksums_done(c);
	close(fd);
	return rc;
}

void checksums_done(struct checksums *c)
{
	vec_done(&c->files);
	buf_done(&c->text);
}
