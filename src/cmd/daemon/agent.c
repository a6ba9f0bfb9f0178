/* cresset agent: the always-on profiler for a host of a fleet: it sends its data to a server. */
#include "agent/spool_types.h"
#include "agent/up.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/log.h"
#include "base/str.h"
#include "cmd/cli/cmd.h"
#include "cmd/daemon/always.h"
#include "format/otlp/otlp.h"
#include "server/listen.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { TOKEN_MAX = 4096 };
enum symbols { SYMBOLS_HOST, SYMBOLS_SERVER };
static const char *const symbols_words[] = { "host", "server", NULL };

struct agent_cmd_opts {
	const char *server, *token_file, *ca_file, *spool;
	struct str_list labels;
	bool insecure;
	int symbols; /* enum symbols */
	struct always_opts always;
	uint64_t interval_ns, spool_bytes;
};

#define PART(title, member) .group = title, .offset = offsetof(struct agent_cmd_opts, member)
static const struct cmd_opt agent_options[] = {
	{ NULL, "server", "URL", "server URL: cresset serve or any OTLP/HTTP endpoint", OPT_STRING,
	  PART("Where to", server), .basic = true },
	{ NULL, "token-file", "FILE", "token file (default: $CRESSET_TOKEN)", OPT_STRING,
	  PART("Where to", token_file), .basic = true },
	{ NULL, "ca-file", "FILE", "trust only the CA certificates in this PEM file", OPT_STRING,
	  PART("Where to", ca_file), .basic = true },
	{ NULL, "insecure", NULL, "allow sending the token over plain HTTP", OPT_FLAG,
	  PART("Where to", insecure) },
	{ NULL, "label", "K=V", "label added to all data; host: name of this machine", OPT_STRINGS,
	  PART("Where to", labels), .basic = true },
	{ NULL, "symbols", "WHERE", "where to symbolize: host, or server (uploads symbol tables)",
	  OPT_ENUM, PART("Where to", symbols), .words = symbols_words, .def = "host" },
	ALWAYS_OPTIONS(agent_cmd_opts),
	{ NULL, "interval", "TIME", "interval between batches", OPT_DURATION,
	  PART("Cost and limits", interval_ns), .def = "10s", .min = 100000000,
	  .max = 3600000000000ull, .basic = true },
	{ NULL, "spool", "DIR", "spool directory for unsent batches, created if missing",
	  OPT_STRING, PART("Cost and limits", spool), .def = "/var/lib/cresset-agent",
	  .basic = true },
	ALWAYS_DIR_FORCE(agent_cmd_opts, "spool-force", "Cost and limits"),
	{ NULL, "spool-size", "SIZE", "maximum spool size; the oldest batches are dropped first",
	  OPT_SIZE, PART("Cost and limits", spool_bytes), .def = "256M", .min = SPOOL_MIN_BYTES,
	  .basic = true },
	ALWAYS_CONFIG(agent_cmd_opts),
	{ 0 },
};
static const struct cmd_opt agent_config_only[] = {
	ALWAYS_CONFIG_ONLY(agent_cmd_opts),
	{ 0 },
};

/* --- the server ------------------------------------------------------------------------------- */

static int check_url(struct cmd_line *line, const struct agent_cmd_opts *o, bool has_token)
{
	const char *url = o->server;

	if (!url)
		return cmd_usage(line, "--server URL is missing");
	if (!str_starts(url, "http://") && !str_starts(url, "https://"))
		return cmd_usage(line, "--server '%s' is not an address like https://HOST:PORT",
				 url);
	/* host is the part between "://" and the path, with its port. */
	const char *from = strstr(url, "://") + strlen("://");
	const char *host = arena_dup(&line->arena, from, strcspn(from, "/?#"));
	if (!*host || strchr(host, '@') || strpbrk(url, "?#"))
		return cmd_usage(line,
				 "--server '%s' must be https://HOST:PORT, optionally with a path",
				 url);
	if (has_token && !o->insecure && str_starts(url, "http://") &&
	    !listen_host_is_loopback(host))
		return cmd_usage(line,
				 "%s is not encrypted: the token could be intercepted; use "
				 "https://, or --insecure",
				 url);
	return CMD_OK;
}

/* Another process reads the file later: reports problems with it now. */
static int check_token(const struct agent_cmd_opts *o, struct err *err)
{
	char token[TOKEN_MAX];
	int rc = fs_read_line(o->token_file, token, sizeof token);

	if (!rc && !*token)
		rc = -ENODATA;
	explicit_bzero(token, sizeof token);
	return rc ? err_set(err, -rc, "cannot read a token from %s: %s", o->token_file,
			    rc == -ENODATA ? "it is empty" : strerror(-rc))
		  : 0;
}

/* --- the command ------------------------------------------------------------------------------ */

/* Returns -EINVAL with err set. */
static int add_labels(struct cmd_line *line, const struct str_list *labels, struct always *a,
		      struct err *err)
{
	for (size_t i = 0; i < labels->n; i++) {
		const char *text = labels->v[i], *equals = strchr(text, '=');

		if (!equals || equals == text)
			return err_set(err, EINVAL, "--label '%s' must be KEY=VALUE", text);
		const char *key = arena_dup(&line->arena, text, equals - text);
		if (!always_add_label(a, key, equals + 1))
			return err_set(err, EINVAL, "too many labels at --label '%s'", text);
	}
	return 0;
}

static int fill(void *ctx, struct cmd_line *line, const void *opts, struct up_opts *up,
		struct always **always)
{
	static const struct otlp_attribute resource[] = { { "os.type", "linux" } };
	const struct agent_cmd_opts *o = opts;
	const char *token = o->token_file ? NULL : getenv("CRESSET_TOKEN");
	struct err err = { 0 };
	int status = check_url(line, o, o->token_file || token);

	(void)ctx;
	if (status == CMD_OK && o->token_file && check_token(o, &err))
		status = cmd_fail(CMD_FAILED, &err);
	if (status == CMD_OK)
		status = always_check_machine(&o->always);
	if (status == CMD_OK)
		status = always_new(line, &o->always, always);
	if (status != CMD_OK)
		return status;
	if (add_labels(line, &o->labels, *always, &err)) {
		always_free(*always);
		return cmd_fail(CMD_USAGE, &err);
	}
	*up = (struct up_opts){
		.data_dir = o->spool,
		.interval_ns = o->interval_ns,
		.collect = always_collect(&o->always, *always),
		.target = { .url = o->server,
			    .ca_file = o->ca_file,
			    .token = token,
			    .token_file = o->token_file,
			    .names_there = o->symbols == SYMBOLS_SERVER,
			    .resource = resource,
			    .n_resource = 1,
			    .spool_bytes = o->spool_bytes },
	};
	always_attach(&o->always, *always, up->attach);
	return CMD_OK;
}

static void say(void *ctx)
{
	const struct agent_cmd_opts *o = ctx;

	log_info("recording this machine for %s", o->server);
}

static const struct always_key keys[] = {
	ALWAYS_KEYS,
	{ "label", UP_COLLECTOR },
	{ "interval", UP_COLLECTOR },
	{ "server", UP_KEEPER },
	{ "token-file", UP_KEEPER },
	{ "ca-file", UP_KEEPER },
	{ "symbols", UP_KEEPER },
	{ "spool-size", UP_KEEPER },
	{ 0 },
};

static int agent_command(struct cmd_line *line, const void *opts)
{
	struct always_run r = {
		.line = line,
		.typed = opts,
		.keys = keys,
		.dir = { .rule = { ((const struct agent_cmd_opts *)opts)->always.dir_force,
				   "spool-force" },
			 .process = "sending process" },
		.fill = fill,
		.say = say,
		.ctx = (void *)opts
	};

	return always_run(&r);
}

const struct cmd cmd_agent = {
	.name = "agent",
	.summary = "record this machine continuously, and send it to a server",
	.usage = "--server URL [OPTIONS]",
	.about = "Records the whole machine, as cresset up does, and sends it to a server: "
		"cresset serve, or any other that accepts OpenTelemetry profiles over HTTP. A "
		"privileged process collects; an unprivileged one symbolizes and sends. Batches "
		"that the server has not acknowledged are kept in a spool on disk, across "
		"restarts; when the spool is full the oldest batches are dropped and counted.\n"
		 "The token's file is read again when it changes, and on SIGHUP. SIGTERM and "
		 "Ctrl-C end it.",
	.examples = {
		"cresset agent --server https://prof.example --token-file token\tto a server",
		"cresset agent --server http://127.0.0.1:4318 --label env=test\tto a collector",
	},
	.options = agent_options,
	.config_only = agent_config_only,
	.opts_size = sizeof(struct agent_cmd_opts),
	.run = agent_command,
};
