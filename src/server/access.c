#include "server/access.h"

#include "base/hash.h"
#include "base/str.h"

#include <errno.h>
#include <string.h>

static int open_tenants(struct server *s, const struct tokens *t, struct err *err)
{
	int rc = 0;
	for (size_t i = 0; i < t->n && rc == 0; i++)
		rc = tenants_add(s->tenants, t->v[i].tenant, err);
	return rc;
}

int access_load(struct server *s, struct err *err)
{
	struct tokens fresh = { 0 }, old;
	int rc = s->opts.tokens ? tokens_load(s->opts.tokens, &fresh, err) : 0;
	if (rc == 0)
		rc = open_tenants(s, &fresh, err);
	if (rc < 0) {
		tokens_done(&fresh);
		return rc;
	}
	pthread_mutex_lock(&s->access->lock);
	old = s->access->tokens;
	s->access->tokens = fresh;
	pthread_mutex_unlock(&s->access->lock);
	tokens_done(&old);
	return 0;
}

int access_count_tenants(const char *path, uint32_t *out, struct err *err)
{
	struct tokens t = { 0 };
	struct map seen = { 0 };
	uint32_t n = 0;
	int rc = tokens_load(path, &t, err);
	map_put(&seen, hash_bytes("", 0), 0);
	for (size_t i = 0; i < t.n; i++)
		map_put(&seen, hash_bytes(t.v[i].tenant, strlen(t.v[i].tenant)), 0);
	n = seen.n;
	map_done(&seen);
	tokens_done(&t);
	if (rc == 0)
		*out = n;
	return rc;
}

static unsigned unauthorized(struct request *r, struct err *err, const char *words)
{
	r->reply.challenge = "Bearer";
	err_set(err, EACCES, "%s", words);
	err_hint(err, "cresset token create makes a token: Authorization: Bearer TOKEN");
	return 401;
}

static bool has_scope(const struct token *t, enum route_scope scope)
{
	unsigned needed = scope == SCOPE_READ    ? TOKEN_READ
			  : scope == SCOPE_WRITE ? TOKEN_WRITE
						 : TOKEN_ADMIN;
	return t->scopes & (needed | TOKEN_ADMIN);
}

unsigned access_check(struct request *r, const char *authorization, struct err *err)
{
	static const char bearer[] = "Bearer ";
	struct access *a = r->server->access;
	struct token token = { 0 };
	if (!r->server->opts.tokens || r->route->scope == SCOPE_NONE)
		return 0;
	if (!authorization || strncasecmp(authorization, bearer, strlen(bearer)) != 0)
		return unauthorized(r, err, "a token is needed");
	pthread_mutex_lock(&a->lock);
	const struct token *found = tokens_find(&a->tokens, authorization + strlen(bearer));
	if (found) {
		token = *found;
		memcpy(r->token_id, found->id, sizeof found->id);
	}
	pthread_mutex_unlock(&a->lock);
	if (!found)
		return unauthorized(r, err, "this token is not known");
	connections_known(&r->server->connections, r->from);
	struct tenant *tenant = tenants_find(r->server->tenants, token.tenant);
	if (has_scope(&token, r->route->scope) && tenant) {
		r->tenant = tenant;
		return 0;
	}
	err_set(err, EACCES, "the token %s may not do this", token.id);
	return 403;
}
