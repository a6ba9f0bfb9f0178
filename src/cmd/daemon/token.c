/* cresset token: manages access to a server. */
#include "base/buf.h"
#include "base/err.h"
#include "base/json/json.h"
#include "cmd/cli/cmd.h"
#include "server/tokens.h"

#include <errno.h>
#include <string.h>

struct token_opts {
	const char *tokens, *tenant, *name;
	struct choice_list scopes;
};

#define PART(title, member) .group = title, .offset = offsetof(struct token_opts, member)
static const struct cmd_opt token_options[] = {
	{ NULL, "tokens", "FILE", "token file, created by create", OPT_STRING,
	  PART("Tokens", tokens), .basic = true },
	{ NULL, "scope", "WORD,...", "permissions: read, write, admin", OPT_CHOICES,
	  PART("Tokens", scopes), .words = token_scope_words, .def = "read", .basic = true },
	{ NULL, "tenant", "NAME", "tenant, with a separate data directory: a-z, 0-9, - and _",
	  OPT_STRING, PART("Tokens", tenant), .basic = true },
	{ NULL, "name", "TEXT", "description shown by list", OPT_STRING, PART("Tokens", name),
	  .basic = true },
	{ 0 },
};

static int status_of(int rc)
{
	return rc == -EINVAL                   ? CMD_BAD_INPUT
	       : rc == -ENOSYS                 ? CMD_UNSUPPORTED
	       : rc == -ENOENT || rc == -E2BIG ? CMD_FAILED
					       : CMD_NO_OUTPUT;
}

/* --- create ----------------------------------------------------------------------------------- */

static int settle(const struct cmd_line *line, const struct token_opts *o, struct token *t)
{
	const char *name = o->name ? o->name : "", *tenant = o->tenant ? o->tenant : "";
	if (*tenant && !token_tenant_is_valid(tenant))
		return cmd_usage(line, "option --tenant: '%s' is not made of a-z, 0-9, - and _",
				 tenant);
	if (strlen(name) > TOKEN_TEXT_MAX || strpbrk(name, "\n\r"))
		return cmd_usage(line, "option --name: more than one line, or %d bytes",
				 TOKEN_TEXT_MAX);
	strncpy(t->tenant, tenant, sizeof t->tenant - 1);
	strncpy(t->name, name, sizeof t->name - 1);
	for (int i = 0; i < o->scopes.n; i++)
		t->scopes |= 1u << o->scopes.v[i];
	return CMD_OK;
}

static int create(const struct cmd_line *line, const struct token_opts *o)
{
	struct token t = { 0 };
	struct buf secret = { 0 };
	struct err err = { 0 };
	int status = settle(line, o, &t);
	if (status != CMD_OK)
		return status;
	int rc = token_create(o->tokens, &t, &secret, &err);
	if (rc < 0) {
		buf_done(&secret);
		return cmd_fail(status_of(rc), &err);
	}
	buf_addc(&secret, '\n');
	return cmd_print(&secret);
}

/* --- list ------------------------------------------------------------------------------------- */

static void list_json(const struct tokens *all, struct buf *b)
{
	struct json j = json_to(b);
	json_arr(&j);
	for (size_t i = 0; i < all->n; i++) {
		const struct token *t = &all->v[i];
		json_obj(&j);
		json_key_str(&j, "id", t->id);
		json_key(&j, "scopes");
		json_arr(&j);
		for (int k = 0; token_scope_words[k]; k++)
			if (t->scopes & 1u << k)
				json_str(&j, token_scope_words[k]);
		json_end(&j);
		json_key_text(&j, "tenant", t->tenant);
		json_key_str(&j, "created", t->created);
		json_key_text(&j, "name", t->name);
		json_end(&j);
	}
	json_end(&j);
	buf_addc(b, '\n');
}

static void list_text(const struct tokens *all, struct buf *b)
{
	for (size_t i = 0; i < all->n; i++) {
		const struct token *t = &all->v[i];
		const char *comma = "";
		buf_addf(b, "%s  %s  ", t->id, t->created);
		for (int scope = 0; token_scope_words[scope]; scope++)
			if (t->scopes & 1u << scope) {
				buf_addf(b, "%s%s", comma, token_scope_words[scope]);
				comma = ",";
			}
		buf_addf(b, "  %s  %s\n", *t->tenant ? t->tenant : "-", *t->name ? t->name : "-");
	}
}

static int list(const struct cmd_line *line, const struct token_opts *o)
{
	struct tokens all = { 0 };
	struct buf b = { 0 };
	struct err err = { 0 };
	int rc = tokens_load(o->tokens, &all, &err);
	if (rc < 0)
		return cmd_fail(rc == -EINVAL ? CMD_BAD_INPUT : CMD_FAILED, &err);
	if (line->globals.json)
		list_json(&all, &b);
	else
		list_text(&all, &b);
	tokens_done(&all);
	return cmd_print(&b);
}

/* --- the command ------------------------------------------------------------------------------ */

static int token_run(struct cmd_line *line, const void *opts)
{
	const struct token_opts *o = opts;
	const char *what = line->args.v[0];
	bool revokes = strcmp(what, "revoke") == 0;
	struct err err = { 0 };
	if (!o->tokens)
		return cmd_usage(line, "--tokens FILE is missing");
	if ((line->args.n == 2) != revokes)
		return cmd_usage(line, revokes ? "the id of a token is missing"
					       : "only revoke takes the id of a token");
	if (strcmp(what, "create") == 0)
		return create(line, o);
	if (strcmp(what, "list") == 0)
		return list(line, o);
	if (!revokes)
		return cmd_usage(line, "'%s' is not one of create, list and revoke", what);
	int rc = token_revoke(o->tokens, line->args.v[1], &err);
	return rc < 0 ? cmd_fail(status_of(rc), &err) : CMD_OK;
}

const struct cmd cmd_token = {
	.name = "token",
	.summary = "manage the access tokens of a server",
	.usage = "create | list | revoke ID --tokens FILE [OPTIONS]",
	.about = "Edits the file that cresset serve --tokens reads. create prints a new token "
		"once: the file has only its SHA-256. list shows all tokens, revoke deletes "
		"one. A running server reads the file again on SIGHUP.\n"
		 "read allows queries, write allows uploads, admin allows both and deletion. A "
		 "token with a tenant gives access to that tenant's data only.",
	.examples = {
		"cresset token create --tokens t --scope write --name db7\tprints it once",
		"cresset token list --tokens t\tall tokens",
	},
	.options = token_options,
	.opts_size = sizeof(struct token_opts),
	.min_args = 1,
	.max_args = 2,
	.arg_name = "create, list or revoke",
	.has_json = true,
	.run = token_run,
};
