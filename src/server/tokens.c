/* Parses the file of tokens, and checks tokens by their hash. */
#include "server/tokens.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/parse.h"
#include "base/vec.h"
#include "query/time.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define TOKEN_PREFIX "cresset_"
enum { SECRET_BYTES = 32, MAX_FILE = 4 << 20, FIELDS = 6 };

const char *const token_scope_words[] = { "read", "write", "admin", NULL };

/* --- hashes ----------------------------------------------------------------------------------- */

static void put_hex(struct buf *b, const uint8_t *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		buf_addf(b, "%02x", bytes[i]);
}

/* --- reading ---------------------------------------------------------------------------------- */

bool token_tenant_is_valid(const char *name)
{
	size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-_");
	return n && n <= TOKEN_TEXT_MAX && !name[n];
}

static bool take_scopes(char *text, unsigned *out)
{
	*out = 0;
	for (char *word; (word = strsep(&text, ","));) {
		int i = 0;
		while (token_scope_words[i] && strcmp(token_scope_words[i], word) != 0)
			i++;
		if (!token_scope_words[i])
			return false;
		*out |= 1u << i;
	}
	return true;
}

static bool take_text(const char *text, char *to, size_t size)
{
	bool is_none = strcmp(text, "-") == 0;
	if (strlen(text) >= size)
		return false;
	strncpy(to, is_none ? "" : text, size);
	return true;
}

static bool read_line(char *line, struct token *t)
{
	char *fields[FIELDS];
	for (int i = 0; i < FIELDS; i++) {
		fields[i] = i < FIELDS - 1 ? strsep(&line, " ") : line;
		if (!fields[i])
			return false;
	}
	*t = (struct token){ 0 };
	return take_text(fields[0], t->id, sizeof t->id) && take_scopes(fields[1], &t->scopes) &&
	       take_text(fields[2], t->tenant, sizeof t->tenant) &&
	       (!*t->tenant || token_tenant_is_valid(t->tenant)) &&
	       take_text(fields[3], t->created, sizeof t->created) &&
	       parse_hex(fields[4], strlen(fields[4]), t->hash, sizeof t->hash) == sizeof t->hash &&
	       take_text(fields[5], t->name, sizeof t->name);
}

static int read_lines(const char *path, struct buf *text, struct tokens *out, struct err *err)
{
	char *at = buf_cstr(text);
	size_t number = 0;
	for (char *line; (line = strsep(&at, "\n"));) {
		struct token t;
		number++;
		if (!*line || *line == '#')
			continue;
		if (out->n == TOKENS_MAX || !read_line(line, &t))
			return err_set(err, EINVAL, "%s, line %zu: %s", path, number,
				       out->n == TOKENS_MAX ? "too many tokens" : "not a token");
		vec_push(out, t);
	}
	return 0;
}

int tokens_load(const char *path, struct tokens *out, struct err *err)
{
	struct tokens t = { 0 };
	struct buf text = { 0 };
	int rc = fs_read_at(AT_FDCWD, path, MAX_FILE, &text, err);
	if (rc == 0)
		rc = read_lines(path, &text, &t, err);
	buf_done(&text);
	if (rc < 0)
		tokens_done(&t);
	else
		*out = t;
	return rc;
}

void tokens_done(struct tokens *t)
{
	vec_done(t);
}

/* --- asking ----------------------------------------------------------------------------------- */

static bool same_hash(const uint8_t *a, const uint8_t *b)
{
	volatile uint8_t differ = 0;
	for (int i = 0; i < TOKEN_HASH_BYTES; i++)
		differ = differ | (a[i] ^ b[i]);
	return !differ;
}

const struct token *tokens_find(const struct tokens *t, const char *secret)
{
	uint8_t wanted[TOKEN_HASH_BYTES];
	const struct token *found = NULL;
	sha256(secret, strlen(secret), wanted);
	for (size_t i = 0; i < t->n; i++)
		if (same_hash(t->v[i].hash, wanted))
			found = &t->v[i];
	return found;
}

/* --- writing ---------------------------------------------------------------------------------- */

static void put_token(struct buf *b, const struct token *t)
{
	const char *comma = "";
	buf_addf(b, "%s ", t->id);
	for (int i = 0; token_scope_words[i]; i++)
		if (t->scopes & 1u << i) {
			buf_addf(b, "%s%s", comma, token_scope_words[i]);
			comma = ",";
		}
	buf_addf(b, " %s %s ", *t->tenant ? t->tenant : "-", t->created);
	put_hex(b, t->hash, sizeof t->hash);
	buf_addf(b, " %s\n", *t->name ? t->name : "-");
}

static int write_file(const char *path, const struct tokens *t, struct err *err)
{
	struct out out;
	struct buf b = { 0 };
	buf_adds(&b, "# Tokens of cresset: written by cresset token, which shows each once.\n");
	for (size_t i = 0; i < t->n; i++)
		put_token(&b, &t->v[i]);
	int rc = out_open(&out, path, err);
	if (rc == 0 && fchmod(out.fd, 0600) < 0)
		rc = err_set(err, errno, "%s: %s", path, strerror(errno));
	if (rc == 0)
		rc = out_write(&out, b.data, b.len, err);
	if (rc == 0)
		rc = out_flush(&out, err);
	if (rc == 0 && fsync(out.fd) < 0 && errno != EINVAL)
		rc = err_set(err, errno, "%s: %s", path, strerror(errno));
	buf_done(&b);
	if (rc < 0) {
		out_abort(&out);
		return rc;
	}
	rc = out_commit(&out, err);
	return rc ? rc : fs_sync_dir_of(path, err);
}

static int make_secret(struct token *t, struct buf *secret, struct err *err)
{
	uint8_t random[SECRET_BYTES];
	struct buf id = { 0 };
	if (getrandom(random, sizeof random, 0) != sizeof random)
		return err_set(err, EIO, "cannot read random numbers");
	buf_adds(secret, TOKEN_PREFIX);
	put_hex(secret, random, sizeof random);
	sha256(secret->data, secret->len, t->hash);
	put_hex(&id, t->hash, TOKEN_ID_CHARS / 2);
	strncpy(t->id, buf_cstr(&id), sizeof t->id - 1);
	buf_done(&id);
	return 0;
}

int token_create(const char *path, const struct token *wanted, struct buf *secret, struct err *err)
{
	struct tokens all = { 0 };
	struct token t = *wanted;
	struct buf created = { 0 };
	int rc = tokens_load(path, &all, err);
	if (rc == -ENOENT)
		rc = 0;
	if (rc == 0 && all.n == TOKENS_MAX)
		rc = err_set(err, E2BIG, "%s already has %d tokens, the maximum", path, TOKENS_MAX);
	if (rc == 0)
		rc = make_secret(&t, secret, err);
	time_text(&created, (int64_t)(clock_wall_ns() / 1000000000 * 1000000000));
	strncpy(t.created, buf_cstr(&created), sizeof t.created - 1);
	buf_done(&created);
	vec_push(&all, t);
	if (rc == 0)
		rc = write_file(path, &all, err);
	tokens_done(&all);
	return rc;
}

int token_revoke(const char *path, const char *id, struct err *err)
{
	struct tokens all = { 0 };
	size_t kept = 0;
	int rc = tokens_load(path, &all, err);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < all.n; i++)
		if (strcmp(all.v[i].id, id) != 0)
			all.v[kept++] = all.v[i];
	if (kept == all.n)
		rc = err_set(err, ENOENT, "%s has no token '%s'", path, id);
	all.n = kept;
	if (rc == 0)
		rc = write_file(path, &all, err);
	tokens_done(&all);
	return rc;
}
