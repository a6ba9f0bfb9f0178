/* server/tokens.h: access by a file of tokens.
 *
 *     ID SCOPES TENANT CREATED HASH NAME          one line each; '#' starts a comment
 *     5f3a0c1b92d4 write,read - 2026-11-22T03:10:00Z 9f86d0…08 agent of db7
 *
 * A token has 256 random bits, so storing its plain SHA-256 is enough: the slow hashes used for
 * passwords protect against guessing, and 256 bits cannot be guessed. The id is the start of
 * the hash. */
#ifndef CRESSET_SERVER_TOKENS_H
#define CRESSET_SERVER_TOKENS_H

#include "base/hash.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct err;

enum token_scope { TOKEN_READ = 1, TOKEN_WRITE = 2, TOKEN_ADMIN = 4 }; /* admin: all rights */
extern const char *const token_scope_words[];                          /* by bit; NULL-terminated */

enum {
	TOKENS_MAX = 4096, /* limit: tokens */
	TOKEN_HASH_BYTES = SHA256_BYTES,
	TOKEN_ID_CHARS = 12,
	TOKEN_TEXT_MAX = 64
};

struct token {
	char id[TOKEN_ID_CHARS + 1];
	unsigned scopes;                 /* of enum token_scope */
	char tenant[TOKEN_TEXT_MAX + 1]; /* "": none */
	char created[32];                /* RFC 3339 */
	char name[TOKEN_TEXT_MAX + 1];   /* "": none */
	uint8_t hash[TOKEN_HASH_BYTES];
};
struct tokens {
	struct token *v; /* a VEC: base/vec.h */
	size_t n, cap;
};

/* Returns -EINVAL with the line in err, or -ENOENT if no such file exists. */
int tokens_load(const char *path, struct tokens *out, struct err *err);
void tokens_done(struct tokens *t);

/* Returns NULL if no token matches. Takes the same time for any secret. */
const struct token *tokens_find(const struct tokens *t, const char *secret);

/* Adds a token to the file, and creates the file if needed: mode 0600, written next to it and
 * renamed. secret: the token, which is shown once. */
int token_create(const char *path, const struct token *wanted, struct buf *secret, struct err *err);
/* Returns -ENOENT if there is no token with this id. */
int token_revoke(const char *path, const char *id, struct err *err);

/* "a-z", digits, '-', '_': allowed in a directory's name. */
bool token_tenant_is_valid(const char *name);

#endif
