/* Access by tokens, or by the user of a local connection. */
#include "server/server_state.h"

#include "base/err.h"
#include "base/hash.h"
#include "server/connections.h"
#include "server/peer.h"
#include "server/request.h"
#include "server/server.h"
#include "server/tenant.h"
#include "server/tokens.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

int access_load(struct server *s, struct err *err)
{
	struct tokens fresh = { 0 }, old;
	int rc = s->opts.tokens ? tokens_load(s->opts.tokens, &fresh, err) : 0;
	for (size_t i = 0; i < fresh.n && rc == 0; i++)
		rc = tenants_add(s->tenants, fresh.v[i].tenant, err);
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

/* --- users of this machine -------------------------------------------------------------------- */

int64_t access_user(struct request *r)
{
	struct connection *c = r->from;
	uid_t uid;
	if (r->server->opts.tokens)
		return -1;
	if (!c->has_user)
		c->user = peers_user(&r->server->peers, c->fd, &uid) == 0 ? (int64_t)uid : -1;
	c->has_user = true;
	return c->user;
}

/* The server's own user may add, too: on many machines the agent's sender process is that user. */
static unsigned rights_of(const struct server_users *users, int64_t user)
{
	unsigned rights = user == (int64_t)getuid() ? SERVER_ADDS : 0;
	if (user == 0 || user == (int64_t)users->starter)
		return SERVER_READS | SERVER_ADDS | SERVER_DELETES;
	for (size_t i = 0; i < users->n_others; i++)
		if (user == (int64_t)users->others[i].uid)
			rights |= users->others[i].rights;
	return rights;
}

static unsigned refuse_user(struct request *r, int64_t user, unsigned needed, struct err *err)
{
	static const char *const verbs[] = {
		[SERVER_READS] = "read", [SERVER_ADDS] = "add to", [SERVER_DELETES] = "delete"
	};
	counter_add(&r->server->counters.refused[REFUSED_USER], 1);
	if (user < 0) {
		err_set(err, EACCES, "cannot identify the local user of this connection");
		err_hint(err, "connect from a program on this machine that holds its connection "
			      "open, or start the server with --tokens FILE");
		return 403;
	}
	err_set(err, EACCES, "user %lld may not %s these profiles", (long long)user, verbs[needed]);
	if (needed == SERVER_DELETES)
		err_hint(err, "only root and the user who started the server may: use sudo");
	else
		err_hint(err,
			 "root and members of the group cresset may: use sudo, or join it:\n"
			 "sudo groupadd -f cresset && sudo usermod -aG cresset \"$(id -un %lld)\"\n"
			 "then start the server again; or start it with --tokens FILE",
			 (long long)user);
	return 403;
}

static unsigned check_user(struct request *r, struct err *err)
{
	static const unsigned needs[] = { [SCOPE_READ] = SERVER_READS,
					  [SCOPE_WRITE] = SERVER_ADDS,
					  [SCOPE_ADMIN] = SERVER_DELETES };
	bool is_page = r->route->takes & TAKES_PAGE; /* the refusal states how to get access */
	unsigned needed = is_page ? SERVER_READS : needs[r->route->scope];
	int64_t user = needed ? access_user(r) : 0;
	unsigned rights = user >= 0 ? rights_of(r->server->opts.users, user) : 0;
	return !needed || rights & needed ? 0 : refuse_user(r, user, needed, err);
}

/* --- tokens ----------------------------------------------------------------------------------- */

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
	if (!r->server->opts.tokens)
		return check_user(r, err);
	if (r->route->scope == SCOPE_NONE)
		return 0;
	if (!authorization || strncasecmp(authorization, bearer, strlen(bearer)) != 0)
		return unauthorized(r, err, "a token is required");
	pthread_mutex_lock(&a->lock);
	const struct token *found = tokens_find(&a->tokens, authorization + strlen(bearer));
	if (found) {
		token = *found;
		memcpy(r->token_id, found->id, sizeof found->id);
	}
	pthread_mutex_unlock(&a->lock);
	if (!found)
		return unauthorized(r, err, "unknown token");
	connections_known(&r->server->connections, r->from);
	struct tenant *tenant = tenants_find(r->server->tenants, token.tenant);
	if (has_scope(&token, r->route->scope) && tenant) {
		r->tenant = tenant;
		return 0;
	}
	err_set(err, EACCES, "the token %s lacks the permission", token.id);
	return 403;
}
